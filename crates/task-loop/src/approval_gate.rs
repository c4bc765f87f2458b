//! Decides which tool calls need a person's approval, and stores the approvals.
//!
//! An approval covers one definition of a tool. The digest of that definition is stored, so a
//! tool whose definition changed needs a new approval, whatever it now claims about itself.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use mcp_client::config::{ApprovalMode, Trust};
use mcp_client::registry::{RegisteredTool, ToolAction};
use serde_json::Value;

use crate::approval_memory::{ApprovalMemory, ApprovalStore, ApprovedTool};
use crate::person::{ApprovalAnswer, ApprovalQuestion, ApprovalReason, CallContext, Person};

const MAX_DEFINITION_BYTES: usize = 64 * 1024;

/// Approvals from the command line.
#[derive(Debug, Clone, Default)]
pub struct PreApprovals {
    /// Approves all calls to trusted servers.
    pub yes: bool,
    /// Approves all calls to these servers, trusted or not.
    pub servers: BTreeSet<String>,
}

#[derive(Debug)]
pub struct ApprovalGate {
    store: Box<dyn ApprovalStore>,
    person: Option<Arc<dyn Person>>,
    beforehand: PreApprovals,
    /// The servers of project files, with the project folder of each. Their approvals apply in the
    /// same project only.
    projects: BTreeMap<String, PathBuf>,
    /// Serializes questions and changes of the file.
    memory: tokio::sync::Mutex<()>,
}

impl ApprovalGate {
    /// Asks `person` unless `beforehand` decides.
    pub fn new(
        store: Box<dyn ApprovalStore>,
        person: Option<Arc<dyn Person>>,
        beforehand: PreApprovals,
        projects: BTreeMap<String, PathBuf>,
    ) -> Self {
        let memory = tokio::sync::Mutex::default();
        Self { store, person, beforehand, projects, memory }
    }

    /// The answer to the question about a call; `None` if it needs no approval.
    pub async fn decide(
        &self,
        entry: &RegisteredTool,
        arguments: &Value,
    ) -> io::Result<Option<ApprovalAnswer>> {
        let is_read_only = match &entry.action {
            ToolAction::Tool(tool) => tool.read_only(),
            // Utilities are known to only read.
            _ if entry.needs_approval() => true,
            _ => return Ok(None),
        };
        let _one_at_a_time = self.memory.lock().await;
        let now =
            ApprovedTool { digest: entry.digest(), always: false, definition: definition(entry) };
        let memory = ApprovalMemory::read(&*self.store)?;
        let before = memory.of(&self.stored_name(entry), entry.native_name());
        let is_changed = before.is_some_and(|before| before.digest != now.digest);
        let is_always = before.is_some_and(|before| before.always);
        if !is_changed {
            if entry.needs_approval() {
                if is_always && entry.approval != Some(ApprovalMode::Always) {
                    return Ok(Some(ApprovalAnswer::Always));
                }
            } else {
                // A tool that always claimed to be read-only was never approved.
                if before.is_none() && !is_read_only {
                    self.remember(entry, now)?;
                }
                return Ok(None);
            }
        }
        let is_named = self.beforehand.servers.contains(&*entry.server);
        if is_named || self.beforehand.yes && entry.trust == Trust::Full {
            self.remember(entry, now)?;
            return Ok(Some(ApprovalAnswer::Once));
        }
        let why = match (before, entry.approval) {
            (Some(before), _) if is_changed => ApprovalReason::Changed {
                before: before.definition.clone(),
                after: now.definition.clone(),
            },
            (_, Some(ApprovalMode::Always)) => ApprovalReason::EveryCall,
            (_, Some(_)) => ApprovalReason::FirstCall,
            (_, None) => ApprovalReason::Untrusted,
        };
        let (call, within) = (entry.approval_request(arguments), CallContext::Task);
        let answer = match &self.person {
            Some(person) => person.approve(ApprovalQuestion { call, why, within }).await,
            None => ApprovalAnswer::Absent,
        };
        if answer.is_yes() {
            let always =
                answer == ApprovalAnswer::Always || entry.approval == Some(ApprovalMode::Once);
            self.remember(entry, ApprovedTool { always, ..now })?;
        }
        Ok(Some(answer))
    }

    fn remember(&self, entry: &RegisteredTool, now: ApprovedTool) -> io::Result<()> {
        ApprovalMemory::remember(&*self.store, &self.stored_name(entry), entry.native_name(), now)
    }

    /// The name of a server in the stored approvals. Another project can have another server of
    /// the same name, with the same definitions.
    fn stored_name<'a>(&self, entry: &'a RegisteredTool) -> Cow<'a, str> {
        match self.projects.get(&*entry.server) {
            Some(folder) => Cow::Owned(format!("{}@{}", entry.server, folder.display())),
            None => Cow::Borrowed(&entry.server),
        }
    }
}

/// The content of the digest, as lines that can be compared.
fn definition(entry: &RegisteredTool) -> String {
    let ToolAction::Tool(tool) = &entry.action else { return entry.description.to_string() };
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
