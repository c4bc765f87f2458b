//! The tools of a task: those of the servers, and a few of our own. If there are too many for
//! the model's window, it gets a tool that finds tools.

pub mod find;
pub mod plan;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_client::config::Trust;
use mcp_client::content::{self, render};
use mcp_client::host::BoxFuture;
use mcp_client::registry::{RegisteredTool, Registry, ToolAction};
use mcp_client::session::CallOptions;
use mcp_client::{Client, Error, ProgressSink};
use serde_json::{Value, json};
use usage_metrics::catalogue::{ToolCategory, ToolOutcome};

use crate::approval_gate::ApprovalGate;
use crate::attachment::{Attacher, Attachment, MediaKind};
use crate::conversation::{Call, MAX_ARGUMENT_BYTES};
use crate::nearest::nearest;
use crate::person::ApprovalAnswer;
use crate::sanitizer::Sanitizer;
use crate::server_instructions;
use crate::untrusted::is_unsafe;

const MAX_RESULT_BYTES: usize = 400 * 1024;
/// The key of the cost in results of the member service's tools.
const CHARGE: &str = "agent/charge_micros";
const PRICE: &str = "agent/price_micros";

pub trait OwnTool: fmt::Debug + Send + Sync {
    fn definition(&self) -> Definition;

    fn category(&self) -> ToolCategory;

    /// Runs it: returns the result for the model, or an error text.
    fn call(&self, arguments: Value) -> BoxFuture<Result<String, String>>;
}

/// A tool definition for a model.
#[derive(Debug, Clone)]
pub struct Definition {
    pub name: Arc<str>,
    pub description: Arc<str>,
    pub parameters: Arc<Value>,
    /// Its approximate cost in every request.
    pub tokens: u32,
}

#[derive(Debug, Clone)]
pub struct CallOutcome {
    pub how: ToolOutcome,
    pub text: String,
    pub attachments: Vec<Attachment>,
    pub took: Duration,
    pub charge_micros: Option<i64>,
    /// `None` if none was required.
    pub approval: Option<ApprovalAnswer>,
    pub category: ToolCategory,
}

#[derive(Debug, Default)]
pub struct ToolboxOptions {
    pub own: Vec<Arc<dyn OwnTool>>,
    /// The servers whose calls can run in parallel.
    pub parallel: BTreeSet<String>,
    /// Maximum tokens of all definitions before tools have to be searched.
    pub max_tokens: u32,
    /// No tools are offered.
    pub is_closed: bool,
    /// The kinds of attachments that the model accepts.
    pub accepts: BTreeSet<MediaKind>,
}

#[derive(Debug)]
pub struct Toolbox {
    client: Client,
    gate: ApprovalGate,
    shown: Sanitizer,
    attacher: Arc<Attacher>,
    options: ToolboxOptions,
    found: Mutex<BTreeSet<Arc<str>>>,
}

impl Toolbox {
    pub fn new(
        client: Client,
        gate: ApprovalGate,
        shown: Sanitizer,
        attacher: Arc<Attacher>,
        options: ToolboxOptions,
    ) -> Self {
        Self { client, gate, shown, attacher, options, found: Mutex::default() }
    }

    /// The attachments of a result, prompt or resource for the model. The text notes what was
    /// scaled or omitted.
    pub async fn attached(
        &self,
        all: &[content::Attachment],
        text: &mut String,
    ) -> Vec<Attachment> {
        self.attacher.attach_all(all, &self.options.accepts, text).await
    }

    pub fn offered(&self) -> Vec<Definition> {
        if self.options.is_closed {
            return Vec::new();
        }
        let registry = self.client.registry();
        let own = self.options.own.iter();
        let mut offered: Vec<Definition> = own.map(|own| own.definition()).collect();
        if self.must_find(&registry) {
            offered.push(find::definition(&registry));
            let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            offered.extend(found.iter().filter_map(|name| registry.lookup(name)).map(of));
        } else {
            offered.extend(registry.entries().map(of));
        }
        offered
    }

    pub(crate) fn instructions(&self) -> Option<String> {
        if self.options.is_closed {
            None
        } else {
            server_instructions::text(&self.client.instructions())
        }
    }

    pub fn registry(&self) -> Arc<Registry> {
        self.client.registry()
    }

    fn must_find(&self, registry: &Registry) -> bool {
        let all: u32 = registry.entries().map(|entry| entry.tokens).sum();
        all > self.options.max_tokens
    }

    pub fn server(&self, tool: &str) -> Option<Arc<str>> {
        self.client.registry().lookup(tool).map(|entry| Arc::clone(&entry.server))
    }

    /// Whether a call can run in parallel: its server allows it, or it only reads. Calls of
    /// servers that do not allow it wait for each other, but not for other servers.
    pub(crate) fn is_parallel(&self, call: &Call) -> bool {
        let registry = self.client.registry();
        registry.lookup(&call.name).is_some_and(|entry| {
            self.options.parallel.contains(&*entry.server)
                || match &entry.action {
                    ToolAction::Tool(tool) => tool.read_only() && entry.trust == Trust::Full,
                    _ => true,
                }
        })
    }

    /// Runs a call. Failures become the result for the model.
    pub(crate) async fn run(&self, call: &Call, progress: Option<ProgressSink>) -> CallOutcome {
        let begun = Instant::now();
        let mut outcome = self.outcome(call, progress).await;
        outcome.took = begun.elapsed();
        let most = outcome.text.floor_char_boundary(MAX_RESULT_BYTES);
        if most < outcome.text.len() {
            let gone = outcome.text.len() - most;
            outcome.text.truncate(most);
            outcome.text.push_str(&format!("\n[{gone} more bytes of this result omitted]"));
        }
        outcome
    }

    async fn outcome(&self, call: &Call, progress: Option<ProgressSink>) -> CallOutcome {
        let arguments = match arguments(&call.arguments) {
            Ok(arguments) => arguments,
            Err(why) => return blocked(why),
        };
        if self.options.is_closed {
            return blocked("not run: no tools are available".to_owned());
        }
        if let Some(own) = self.options.own.iter().find(|own| *own.definition().name == call.name) {
            let (how, text) = match own.call(arguments).await {
                Ok(text) => (ToolOutcome::Success, text),
                Err(text) => (ToolOutcome::Failed, format!("error: {text}")),
            };
            return CallOutcome { how, text, category: own.category(), ..blocked(String::new()) };
        }
        let registry = self.client.registry();
        if call.name == find::NAME && self.must_find(&registry) {
            return self.find(&registry, &arguments);
        }
        let Some(entry) = registry.lookup(&call.name) else {
            let text = unknown(&call.name, &registry, &self.options.own);
            return CallOutcome { category: ToolCategory::Unknown, ..blocked(text) };
        };
        let approval = match self.gate.decide(entry, &arguments).await {
            Ok(approval) => approval,
            Err(error) => return blocked(error.to_string()),
        };
        if let Some(refusal) = approval.filter(|answer| !answer.is_yes()) {
            let text = match refusal {
                ApprovalAnswer::Absent => "not run: approval is required, but no user is present",
                _ => "not run: the user declined the call",
            };
            return CallOutcome { approval, ..blocked(text.to_owned()) };
        }
        let approved = Some(entry.digest());
        let options = CallOptions { progress, approved, ..CallOptions::default() };
        let result = self.client.call(&call.name, arguments, options).await;
        CallOutcome { approval, ..self.call_outcome(result).await }
    }

    async fn call_outcome(&self, result: Result<content::ToolOutcome, Error>) -> CallOutcome {
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(error) => {
                let how = match &error {
                    Error::CallTimeout { .. } | Error::CallTooLong { .. } => ToolOutcome::TimedOut,
                    Error::NotApproved { .. } => ToolOutcome::Blocked,
                    _ => ToolOutcome::Failed,
                };
                let text = self.shown.whole(&format!("error: {error}"));
                return CallOutcome { how, text, ..blocked(String::new()) };
            }
        };
        // A job that was started is charged later: its price counts as spent.
        let cost = |meta: &Value| meta.get(CHARGE).or_else(|| meta.get(PRICE))?.as_i64();
        let charge = outcome.meta.as_ref().and_then(cost);
        let rendered = render(&outcome);
        let how = if outcome.is_error { ToolOutcome::Failed } else { ToolOutcome::Success };
        let mut text =
            if rendered.text.is_empty() { "[nothing]".to_owned() } else { rendered.text };
        let attachments = self.attached(&rendered.attachments, &mut text).await;
        CallOutcome { how, text, attachments, charge_micros: charge, ..blocked(String::new()) }
    }

    /// Finds tools, which are offered to the model from now on.
    fn find(&self, registry: &Registry, arguments: &Value) -> CallOutcome {
        let category = ToolCategory::Other;
        let Some(query) = arguments.get("query").and_then(Value::as_str) else {
            return CallOutcome { category, ..blocked("`query` is missing".to_owned()) };
        };
        let found = find::search(registry, query);
        let text = find::told(&found, query);
        let names = found.iter().map(|entry| Arc::clone(&entry.name));
        self.found.lock().unwrap_or_else(PoisonError::into_inner).extend(names);
        CallOutcome { how: ToolOutcome::Success, text, category, ..blocked(String::new()) }
    }
}

fn of(entry: &RegisteredTool) -> Definition {
    Definition {
        name: Arc::clone(&entry.name),
        description: Arc::clone(&entry.description),
        parameters: Arc::clone(&entry.schema),
        tokens: entry.tokens,
    }
}

fn blocked(text: String) -> CallOutcome {
    CallOutcome {
        how: ToolOutcome::Blocked,
        text,
        attachments: Vec::new(),
        took: Duration::ZERO,
        charge_micros: None,
        approval: None,
        category: ToolCategory::Mcp,
    }
}

fn arguments(text: &str) -> Result<Value, String> {
    if text.len() > MAX_ARGUMENT_BYTES {
        return Err(format!(
            "not run: the arguments have {} bytes; the limit is {MAX_ARGUMENT_BYTES}",
            text.len()
        ));
    }
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) if value.is_object() => Ok(value),
        Ok(_) => Err("not run: the arguments must be a JSON object".to_owned()),
        Err(error) => Err(format!("not run: the arguments are invalid JSON: {error}")),
    }
}

/// The error for an unknown tool. It is never replaced by a similar one.
fn unknown(name: &str, registry: &Registry, own: &[Arc<dyn OwnTool>]) -> String {
    let shown: String = name.chars().take(100).filter(|c| !is_unsafe(*c)).collect();
    let own: Vec<Arc<str>> = own.iter().map(|own| own.definition().name).collect();
    let known = registry.entries().map(|entry| &*entry.name).chain(own.iter().map(|name| &**name));
    match nearest(&shown, known) {
        Some(near) => format!("not run: unknown tool `{shown}`; did you mean `{near}`?"),
        None => format!("not run: unknown tool `{shown}`"),
    }
}

#[cfg(test)]
mod tests;
