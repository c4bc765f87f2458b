//! One server's share of the registry.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::utility::{self, Utility};
use super::{Action, Catalogue, Entry, Skipped};
use crate::config::{ToolPolicy, Trust};
use crate::content::visible;
use crate::name::registered;
use crate::schema::{estimate_tokens, tokens_of_bytes};
use crate::tool::{Quarantined, Tool, clip};

/// One server's entries, filtered, named and repaired. It is built once per change of that
/// server and shared by every snapshot until the next.
pub struct ServerPart {
    server: Arc<str>,
    entries: Vec<Arc<Entry>>,
    quarantined: Vec<Quarantined>,
    skipped: Vec<Skipped>,
    filtered: usize,
    tokens: u32,
}

impl ServerPart {
    /// Builds the share of `server` from what it listed.
    ///
    /// Native tools that come to the same name are all skipped: there is no fair winner. A
    /// utility gives way to a native tool.
    pub fn build(server: &str, policy: &ToolPolicy, trust: Trust, catalogue: &Catalogue) -> Self {
        let mut part = Self {
            server: Arc::from(server),
            entries: Vec::with_capacity(catalogue.tools.len() + 4),
            quarantined: catalogue.quarantined.clone(),
            skipped: Vec::new(),
            filtered: 0,
            tokens: 0,
        };
        let natives = part.admitted(policy, &catalogue.tools);
        for Native { name, tool, rival } in &natives.tools {
            match rival {
                Some(rival) => part.skip(
                    &tool.name,
                    format!(
                        "`{name}` would be the name of `{}` too; both are skipped",
                        clip(&rival.name)
                    ),
                ),
                None => part.add_native(name, tool, trust),
            }
        }
        for utility in utility::wanted(server, policy, catalogue.resources, catalogue.prompts) {
            let name: Arc<str> = registered(server, utility.native).into();
            match natives.by_name.get(&name) {
                Some(&at) => part.skip(
                    utility.native,
                    format!(
                        "`{name}` is the name of the server's own `{}`",
                        clip(&natives.tools[at].tool.name)
                    ),
                ),
                None => part.add_utility(name, utility, trust),
            }
        }
        part
    }

    /// The server it belongs to.
    pub fn server(&self) -> &Arc<str> {
        &self.server
    }

    /// Its entries: native tools in the server's order, then utilities.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(|entry| &**entry)
    }

    pub(super) fn shared(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the server adds nothing, so that no toolset is made for it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// About how many tokens its entries cost in every request.
    pub fn tokens(&self) -> u32 {
        self.tokens
    }

    /// Tools that were set aside because of what they are.
    pub fn quarantined(&self) -> &[Quarantined] {
        &self.quarantined
    }

    /// Tools that could not be registered because of their names.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// What was repaired, tool by tool.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.entries.iter().flat_map(|entry| {
            let (name, notes) = match &entry.action {
                Action::Tool(tool) => (clip(&tool.name), tool.offer.notes.as_slice()),
                _ => (String::new(), &[][..]),
            };
            notes.iter().map(move |note| format!("tool `{name}`: {note}"))
        })
    }

    /// How many native tools the policy left out.
    pub fn filtered(&self) -> usize {
        self.filtered
    }

    /// The tools that the policy admits, each under the name it would get.
    fn admitted<'a>(&mut self, policy: &ToolPolicy, tools: &'a [Arc<Tool>]) -> Natives<'a> {
        let mut natives = Natives {
            tools: Vec::with_capacity(tools.len()),
            by_name: HashMap::with_capacity_and_hasher(tools.len(), RandomState::default()),
        };
        for tool in tools {
            if !policy.admits(&tool.name) {
                self.filtered += 1;
                continue;
            }
            let name: Arc<str> = registered(&self.server, &tool.name).into();
            let next = natives.tools.len();
            let first = *natives.by_name.entry(Arc::clone(&name)).or_insert(next);
            if first == next {
                natives.tools.push(Native { name, tool, rival: None });
                continue;
            }
            let first = &mut natives.tools[first];
            let owner = first.tool;
            if owner.name != tool.name {
                first.rival.get_or_insert(tool);
                natives.tools.push(Native { name, tool, rival: Some(owner) });
            } else if !owner.same_as(tool) {
                // Pages of one list may repeat a tool, but not contradict themselves.
                self.quarantined.push(Quarantined {
                    name: clip(&tool.name),
                    reason: "listed before with another definition".to_owned(),
                });
            }
        }
        natives
    }

    fn add_native(&mut self, name: &Arc<str>, tool: &Arc<Tool>, trust: Trust) {
        let described = tool.description.as_deref().map(visible);
        let description: Arc<str> = match described {
            Some(text) if !text.trim().is_empty() => Arc::from(&*text),
            _ => format!("Tool `{}` of the MCP server `{}`.", clip(&tool.name), self.server).into(),
        };
        let offer = &tool.offer;
        self.push(Entry {
            name: Arc::clone(name),
            server: Arc::clone(&self.server),
            tokens: tokens_of_bytes(name.len() + description.len() + offer.compact_bytes),
            action: Action::Tool(Arc::clone(tool)),
            description,
            schema: Arc::clone(&offer.schema),
            trust,
        });
    }

    fn add_utility(&mut self, name: Arc<str>, utility: Utility, trust: Trust) {
        self.push(Entry {
            server: Arc::clone(&self.server),
            tokens: estimate_tokens(&name, &utility.description, &utility.schema),
            name,
            action: utility.action,
            description: utility.description.into(),
            schema: utility.schema,
            trust,
        });
    }

    fn push(&mut self, entry: Entry) {
        self.tokens = self.tokens.saturating_add(entry.tokens);
        self.entries.push(Arc::new(entry));
    }

    fn skip(&mut self, native: &str, reason: String) {
        let server = Arc::clone(&self.server);
        self.skipped.push(Skipped { server, native: native.to_owned(), reason });
    }
}

/// The native tools of a server that are wanted.
struct Natives<'a> {
    tools: Vec<Native<'a>>,
    /// The first tool that wants each name.
    by_name: HashMap<Arc<str>, usize, RandomState>,
}

/// One of them.
struct Native<'a> {
    name: Arc<str>,
    tool: &'a Arc<Tool>,
    /// Another tool that wants the same name.
    rival: Option<&'a Arc<Tool>>,
}

impl fmt::Debug for ServerPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerPart")
            .field("server", &self.server)
            .field("entries", &self.entries.len())
            .field("quarantined", &self.quarantined)
            .field("skipped", &self.skipped)
            .finish_non_exhaustive()
    }
}
