//! Decides which tool calls need a person's approval, and stores the approvals.
//!
//! An approval covers one definition of a tool. The digest of that definition is stored, so a tool
//! whose definition changed needs a new approval, whatever it now claims about itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::{fmt, io};

use mcp_client::config::Trust;
use mcp_client::host::ApprovalRequest;
use mcp_client::registry::{RegisteredTool, ToolAction};
use mcp_client::tool::Tool;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use usage_metrics::catalogue::ApprovalOutcome;

use crate::person::{ApprovalAnswer, ApprovalQuestion, ApprovalReason, CallContext, Person};

const MAX_DEFINITION_BYTES: usize = 64 * 1024;
/// The most of all definitions of one server. Beyond it only digests are stored: changes are still
/// noticed, but the earlier definition cannot be shown.
const MAX_DEFINITIONS_BYTES: usize = 1024 * 1024;

/// What is said of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    NotRequired,
    Approved,
    Denied,
    Stopped,
    /// Approval is needed, but there is no person to ask.
    Absent,
}

impl Verdict {
    pub fn is_yes(self) -> bool {
        matches!(self, Self::NotRequired | Self::Approved)
    }

    /// What is counted.
    pub fn counted(self) -> Option<ApprovalOutcome> {
        match self {
            Self::NotRequired => None,
            Self::Approved => Some(ApprovalOutcome::Approved),
            Self::Denied | Self::Stopped | Self::Absent => Some(ApprovalOutcome::Denied),
        }
    }
}

/// What was said on the command line.
#[derive(Debug, Clone, Default)]
pub struct PreApprovals {
    /// Approves all calls to trusted servers.
    pub yes: bool,
    /// Approves all calls to these servers, trusted or not.
    pub servers: BTreeSet<String>,
}

/// Stores the approvals as text. The caller owns the file.
pub trait ApprovalStore: fmt::Debug + Send + Sync {
    /// The name of the store in error messages.
    fn name(&self) -> String;

    /// The stored text; nothing if there is none yet.
    fn read(&self) -> io::Result<Option<String>>;

    /// Runs `change`, which may call [`Self::read`], and stores the text it returns. No other
    /// process changes the text meanwhile.
    fn update(&self, change: &mut dyn FnMut() -> io::Result<Option<String>>) -> io::Result<()>;
}

/// Decides on calls.
#[derive(Debug)]
pub struct ApprovalGate {
    store: Box<dyn ApprovalStore>,
    person: Arc<dyn Person>,
    beforehand: PreApprovals,
    /// One question at a time, and one change of the file.
    memory: tokio::sync::Mutex<()>,
}

/// The file: what is remembered by server and tool.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ApprovalFile {
    #[serde(default)]
    tools: BTreeMap<String, BTreeMap<String, ApprovedTool>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ApprovedTool {
    digest: String,
    #[serde(default)]
    always: bool,
    /// The definition as text; empty if there was no room for it.
    #[serde(default)]
    definition: String,
}

impl ApprovalGate {
    /// Asks `person` unless `beforehand` answers already.
    pub fn new(
        store: Box<dyn ApprovalStore>,
        person: Arc<dyn Person>,
        beforehand: PreApprovals,
    ) -> Self {
        Self { store, person, beforehand, memory: tokio::sync::Mutex::default() }
    }

    /// Whether this call may run.
    pub async fn decide(&self, entry: &RegisteredTool, arguments: &Value) -> io::Result<Verdict> {
        // What a utility does is known, and it only reads.
        let ToolAction::Tool(tool) = &entry.action else { return Ok(Verdict::NotRequired) };
        let _one_at_a_time = self.memory.lock().await;
        let now = ApprovedTool {
            digest: tool.digest(),
            always: false,
            definition: definition(entry, tool),
        };
        let before = self.read()?.of(entry).cloned();
        let is_changed = before.as_ref().is_some_and(|before| before.digest != now.digest);
        let is_always = before.as_ref().is_some_and(|before| before.always);
        if !is_changed {
            if entry.needs_approval() {
                if is_always {
                    return Ok(Verdict::Approved);
                }
            } else {
                // A tool that always claimed to be read-only was never approved.
                if before.is_none() && !tool.read_only() {
                    self.remember(entry, now)?;
                }
                return Ok(Verdict::NotRequired);
            }
        }
        if self.is_yes_beforehand(entry) {
            self.remember(entry, now)?;
            return Ok(Verdict::Approved);
        }
        let why = match before {
            Some(before) if is_changed => {
                ApprovalReason::Changed { before: before.definition, after: now.definition.clone() }
            }
            _ => ApprovalReason::Untrusted,
        };
        let said = self.person.approve(question(entry, arguments, why)).await;
        let always = said == ApprovalAnswer::Always;
        if matches!(said, ApprovalAnswer::Once | ApprovalAnswer::Always) {
            self.remember(entry, ApprovedTool { always, ..now })?;
        }
        Ok(match said {
            ApprovalAnswer::Once | ApprovalAnswer::Always => Verdict::Approved,
            ApprovalAnswer::No => Verdict::Denied,
            ApprovalAnswer::Stop => Verdict::Stopped,
            ApprovalAnswer::Absent => Verdict::Absent,
        })
    }

    fn is_yes_beforehand(&self, entry: &RegisteredTool) -> bool {
        let is_named = self.beforehand.servers.contains(&*entry.server);
        is_named || self.beforehand.yes && entry.trust == Trust::Full
    }

    fn read(&self) -> io::Result<ApprovalFile> {
        let Some(text) = self.store.read()? else { return Ok(ApprovalFile::default()) };
        serde_json::from_str(&text).map_err(|error| {
            io::Error::other(format!("invalid content in {}: {error}", self.store.name()))
        })
    }

    fn remember(&self, entry: &RegisteredTool, mut now: ApprovedTool) -> io::Result<()> {
        self.store.update(&mut || {
            let mut memory = self.read()?;
            let tools = memory.tools.entry(entry.server.to_string()).or_default();
            let before = tools.remove(entry.native_name());
            let kept: usize = tools.values().map(|tool| tool.definition.len()).sum();
            if kept + now.definition.len() > MAX_DEFINITIONS_BYTES {
                now.definition.clear();
            }
            if before.as_ref() == Some(&now) {
                return Ok(None);
            }
            tools.insert(entry.native_name().to_owned(), now.clone());
            let text = serde_json::to_string_pretty(&memory)?;
            Ok(Some(text + "\n"))
        })
    }
}

impl ApprovalFile {
    fn of(&self, entry: &RegisteredTool) -> Option<&ApprovedTool> {
        self.tools.get(&*entry.server)?.get(entry.native_name())
    }
}

fn question(entry: &RegisteredTool, arguments: &Value, why: ApprovalReason) -> ApprovalQuestion {
    let call = ApprovalRequest {
        server: entry.server.to_string(),
        tool: entry.name.to_string(),
        native_name: entry.native_name().to_owned(),
        description: entry.description.to_string(),
        arguments: arguments.clone(),
    };
    ApprovalQuestion { call, why, within: CallContext::Task }
}

/// Everything that the digest covers, as lines that can be compared.
fn definition(entry: &RegisteredTool, tool: &Tool) -> String {
    let pretty = |schema: &Value| serde_json::to_string_pretty(schema).unwrap_or_default();
    let claim = if tool.read_only() { "claims to be read-only" } else { "may write" };
    let mut text = format!("{}\n({claim})\n{}", entry.description, pretty(&entry.schema));
    if let Some(output) = &tool.output_schema {
        text.push_str("\nresult ");
        text.push_str(&pretty(output));
    }
    text.truncate(text.floor_char_boundary(MAX_DEFINITION_BYTES));
    text
}
