//! The tools of all servers, under the names that a model sees.
//!
//! Each server contributes [`ServerTools`], rebuilt when that server changes. A [`Registry`] is an
//! immutable snapshot of all of them in the order of the configuration. Server and native tool are
//! stored with each name and never derived from it: `foo-bar` and `foo_bar` map to the same name.

mod server_tools;

use std::collections::HashMap;
use std::collections::hash_map;
use std::sync::Arc;

use serde_json::Value;

use crate::config::{ApprovalMode, Trust};
use crate::host::ApprovalRequest;
use crate::tool::{ListPage, QuarantinedItem, Tool};

pub use server_tools::ServerTools;

#[derive(Debug, Clone, Default)]
pub struct ServerCatalogue {
    pub tools: Vec<Arc<Tool>>,
    pub quarantined: Vec<QuarantinedItem>,
    pub resources: bool,
    pub prompts: bool,
    pub notes: Vec<String>,
}

impl ServerCatalogue {
    pub fn add_page(&mut self, page: ListPage<Tool>) {
        self.tools.extend(page.items.into_iter().map(Arc::new));
        self.quarantined.extend(page.quarantined);
        self.notes.extend(page.notes);
    }
}

#[derive(Debug, Clone)]
pub struct RegisteredTool {
    pub name: Arc<str>,
    pub server: Arc<str>,
    pub action: ToolAction,
    /// Without invisible characters.
    pub description: Arc<str>,
    /// Repaired for strict model APIs.
    pub schema: Arc<Value>,
    pub trust: Trust,
    /// The approval mode set in the configuration.
    pub approval: Option<ApprovalMode>,
    /// Estimated cost in every request.
    pub tokens: u32,
}

impl RegisteredTool {
    /// Whether calls need approval: by the configuration, or because the server is untrusted and
    /// the tool does not claim to be read-only.
    pub fn needs_approval(&self) -> bool {
        match (self.approval, &self.action) {
            (Some(mode), _) => mode != ApprovalMode::Never,
            (None, ToolAction::Tool(tool)) => self.trust == Trust::Untrusted && !tool.read_only(),
            (None, _) => false,
        }
    }

    /// The digest of the definition; that of a utility never changes.
    pub fn digest(&self) -> String {
        if let ToolAction::Tool(tool) = &self.action { tool.digest() } else { "utility".to_owned() }
    }

    pub fn approval_request(&self, arguments: &Value) -> ApprovalRequest {
        ApprovalRequest {
            server: self.server.to_string(),
            tool: self.name.to_string(),
            native_name: self.native_name().to_owned(),
            description: self.description.to_string(),
            arguments: arguments.clone(),
            approval: self.approval,
        }
    }

    /// The server's name of the tool, or the name of the utility.
    pub fn native_name(&self) -> &str {
        self.action.native_name()
    }
}

#[derive(Debug, Clone)]
pub enum ToolAction {
    Tool(Arc<Tool>),
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

impl ToolAction {
    fn native_name(&self) -> &str {
        match self {
            Self::Tool(tool) => &tool.name,
            Self::ListResources => "list_resources",
            Self::ReadResource => "read_resource",
            Self::ListPrompts => "list_prompts",
            Self::GetPrompt => "get_prompt",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTool {
    pub server: Arc<str>,
    pub native_name: String,
    pub reason: String,
}

#[derive(Debug, Clone, Default)]
pub struct Registry {
    entries: Vec<Arc<RegisteredTool>>,
    by_name: HashMap<Arc<str>, usize, foldhash::fast::RandomState>,
    skipped: Vec<SkippedTool>,
}

impl Registry {
    /// Builds a snapshot. If two servers claim a name, the first one keeps it.
    pub fn assemble(parts: &[Arc<ServerTools>]) -> Self {
        let room = parts.iter().map(|part| part.len()).sum();
        let mut registry = Self::default();
        registry.entries.reserve(room);
        registry.by_name.reserve(room);
        for part in parts {
            registry.skipped.extend_from_slice(&part.skipped);
            for entry in &part.entries {
                match registry.by_name.entry(Arc::clone(&entry.name)) {
                    hash_map::Entry::Vacant(free) => {
                        free.insert(registry.entries.len());
                        registry.entries.push(Arc::clone(entry));
                    }
                    hash_map::Entry::Occupied(taken) => {
                        let owner = &registry.entries[*taken.get()];
                        registry.skipped.push(SkippedTool {
                            server: Arc::clone(&entry.server),
                            native_name: entry.native_name().to_owned(),
                            reason: format!(
                                "`{}` is already the name of `{}` of server `{}`",
                                entry.name,
                                owner.native_name(),
                                owner.server
                            ),
                        });
                    }
                }
            }
        }
        registry
    }

    pub fn lookup(&self, registered: &str) -> Option<&RegisteredTool> {
        self.by_name.get(registered).map(|&at| &*self.entries[at])
    }

    /// All tools: server by server, in its order, with its utilities last.
    pub fn entries(&self) -> impl Iterator<Item = &RegisteredTool> {
        self.entries.iter().map(|entry| &**entry)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn skipped(&self) -> &[SkippedTool] {
        &self.skipped
    }
}

#[cfg(test)]
mod tests;
