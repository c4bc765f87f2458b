//! What all servers offer, under the names a model sees.
//!
//! Each server's share is a [`ServerPart`], built once when that server changes. A [`Registry`] is
//! one immutable snapshot put together from parts in the order of the configuration. Which server
//! and which native tool stand behind a name is stored with it and never read back from the name:
//! `foo-bar` and `foo_bar` look alike there.

mod part;
mod utility;

use std::collections::HashMap;
use std::collections::hash_map;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::config::Trust;
use crate::tool::{Page, Quarantined, Tool};

pub use part::ServerPart;

/// What one server offers, as listed: all pages together.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// Its tools, in its order.
    pub tools: Vec<Arc<Tool>>,
    /// What was set aside while reading the lists.
    pub quarantined: Vec<Quarantined>,
    /// Whether it has resources.
    pub resources: bool,
    /// Whether it has prompts.
    pub prompts: bool,
    /// What a person should know about the lists as a whole.
    pub notes: Vec<String>,
}

impl Catalogue {
    /// Adds the tools of one page.
    pub fn absorb(&mut self, page: Page<Tool>) {
        self.tools.extend(page.items.into_iter().map(Arc::new));
        self.quarantined.extend(page.quarantined);
        self.notes.extend(page.notes);
    }
}

/// A tool as a model is offered it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The name a model calls it by.
    pub name: Arc<str>,
    /// The server it belongs to.
    pub server: Arc<str>,
    /// What a call does.
    pub action: Action,
    /// What it does, in words; invisible characters are gone.
    pub description: Arc<str>,
    /// What it takes, made fit for strict model APIs.
    pub schema: Arc<Value>,
    /// How far the server is trusted.
    pub trust: Trust,
    /// About how many tokens it costs in every request.
    pub tokens: u32,
}

impl Entry {
    /// Whether a person must approve each call: the server is untrusted, and the tool does not
    /// claim to be read-only.
    pub fn needs_approval(&self) -> bool {
        match &self.action {
            Action::Tool(tool) => self.trust == Trust::Untrusted && !tool.read_only(),
            _ => false,
        }
    }

    /// The digest of the tool's definition; `None` for a utility, which has none.
    pub fn digest(&self) -> Option<String> {
        match &self.action {
            Action::Tool(tool) => Some(tool.digest()),
            _ => None,
        }
    }

    /// The server's own name of it, or the name of the utility.
    pub fn native(&self) -> &str {
        match &self.action {
            Action::Tool(tool) => &tool.name,
            Action::ListResources => "list_resources",
            Action::ReadResource => "read_resource",
            Action::ListPrompts => "list_prompts",
            Action::GetPrompt => "get_prompt",
        }
    }
}

/// What a call of an entry does.
#[derive(Debug, Clone)]
pub enum Action {
    /// Calls the server's own tool.
    Tool(Arc<Tool>),
    /// Lists the server's resources.
    ListResources,
    /// Reads one of them.
    ReadResource,
    /// Lists the server's prompts.
    ListPrompts,
    /// Fills one of them in.
    GetPrompt,
}

/// A tool that could not be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its server.
    pub server: Arc<str>,
    /// The server's own name of it.
    pub native: String,
    /// What stands in its way.
    pub reason: String,
}

/// One snapshot of everything that is registered.
#[derive(Clone, Default)]
pub struct Registry {
    entries: Vec<Arc<Entry>>,
    by_name: HashMap<Arc<str>, usize, foldhash::fast::RandomState>,
    skipped: Vec<Skipped>,
    tokens: HashMap<Arc<str>, u32, foldhash::fast::RandomState>,
}

impl Registry {
    /// Puts the parts together. Where two servers come to the same name, the earlier one keeps it.
    pub fn assemble(parts: &[Arc<ServerPart>]) -> Self {
        let room = parts.iter().map(|part| part.len()).sum();
        let mut registry = Self {
            entries: Vec::with_capacity(room),
            by_name: HashMap::with_capacity_and_hasher(
                room,
                foldhash::fast::RandomState::default(),
            ),
            ..Self::default()
        };
        for part in parts {
            registry.skipped.extend_from_slice(part.skipped());
            let mut tokens = 0_u32;
            for entry in part.shared() {
                match registry.by_name.entry(Arc::clone(&entry.name)) {
                    hash_map::Entry::Vacant(free) => {
                        free.insert(registry.entries.len());
                        registry.entries.push(Arc::clone(entry));
                        tokens = tokens.saturating_add(entry.tokens);
                    }
                    hash_map::Entry::Occupied(taken) => {
                        let owner = &registry.entries[*taken.get()];
                        registry.skipped.push(Skipped {
                            server: Arc::clone(&entry.server),
                            native: entry.native().to_owned(),
                            reason: format!(
                                "`{}` is the name of `{}` of the server `{}` already",
                                entry.name,
                                owner.native(),
                                owner.server
                            ),
                        });
                    }
                }
            }
            let sum = registry.tokens.entry(Arc::clone(part.server())).or_default();
            *sum = sum.saturating_add(tokens);
        }
        registry
    }

    /// The entry of a registered name.
    pub fn lookup(&self, registered: &str) -> Option<&Entry> {
        self.by_name.get(registered).map(|&at| &*self.entries[at])
    }

    /// All entries: server by server, each in its own order with its utilities last.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(|entry| &**entry)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is registered.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What could not be registered, with the reason.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// About how many tokens a server's entries cost in every request; 0 for an unknown one.
    pub fn tokens_of(&self, server: &str) -> u32 {
        self.tokens.get(server).copied().unwrap_or(0)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("entries", &self.entries.len())
            .field("skipped", &self.skipped)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
