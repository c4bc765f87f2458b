//! One server's share of the registry.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::utility::{self, Utility};
use super::{Action, Catalogue, Entry, Skipped};
use crate::config::{ToolPolicy, Trust};
use crate::content::visible;
use crate::name::registered;
use crate::schema::{estimate_tokens, repair_shared};
use crate::tool::{Quarantined, Tool, clip};

type Names<V> = HashMap<Arc<str>, V, foldhash::fast::RandomState>;

/// One server's entries, filtered, named and repaired. It is built once per change of that
/// server and shared by every snapshot until the next.
pub struct ServerPart {
    server: Arc<str>,
    entries: Vec<Arc<Entry>>,
    quarantined: Vec<Quarantined>,
    skipped: Vec<Skipped>,
    notes: Vec<String>,
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
            notes: Vec::new(),
            filtered: 0,
            tokens: 0,
        };
        let natives = part.admitted(policy, &catalogue.tools);
        let mut claims: Names<Claim<'_>> = HashMap::with_capacity_and_hasher(
            natives.len(),
            foldhash::fast::RandomState::default(),
        );
        for (name, tool) in &natives {
            claims
                .entry(Arc::clone(name))
                .and_modify(|claim| claim.rival = Some(tool))
                .or_insert(Claim { first: tool, rival: None });
        }
        for (name, tool) in &natives {
            match claims.get(name).and_then(|claim| claim.other_than(tool)) {
                Some(other) => part.skip(
                    &tool.name,
                    format!(
                        "`{name}` would be the name of `{}` too; both are skipped",
                        clip(other)
                    ),
                ),
                None => part.add_native(name, tool, trust),
            }
        }
        for utility in utility::wanted(server, policy, catalogue.resources, catalogue.prompts) {
            let name: Arc<str> = registered(server, utility.native).into();
            match claims.get(&name) {
                Some(claim) => part.skip(
                    utility.native,
                    format!(
                        "`{name}` is the name of the server's own `{}`",
                        clip(&claim.first.name)
                    ),
                ),
                None => part.add_utility(name, utility),
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
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How many native tools the policy left out.
    pub fn filtered(&self) -> usize {
        self.filtered
    }

    /// The tools that the policy admits, each under the name it would get.
    fn admitted<'a>(
        &mut self,
        policy: &ToolPolicy,
        tools: &'a [Arc<Tool>],
    ) -> Vec<(Arc<str>, &'a Arc<Tool>)> {
        let mut seen: HashMap<&str, &Tool, foldhash::fast::RandomState> =
            HashMap::with_capacity_and_hasher(tools.len(), foldhash::fast::RandomState::default());
        let mut admitted = Vec::with_capacity(tools.len());
        for tool in tools {
            // Pages of one list may repeat a tool.
            if let Some(first) = seen.get(tool.name.as_str()) {
                if !first.same_as(tool) {
                    self.quarantined.push(Quarantined {
                        name: clip(&tool.name),
                        reason: "listed before with another definition".to_owned(),
                    });
                }
                continue;
            }
            seen.insert(&tool.name, tool);
            if policy.admits(&tool.name) {
                admitted.push((registered(&self.server, &tool.name).into(), tool));
            } else {
                self.filtered += 1;
            }
        }
        admitted
    }

    fn add_native(&mut self, name: &Arc<str>, tool: &Arc<Tool>, trust: Trust) {
        let described = tool.description.as_deref().map(visible);
        let description: Arc<str> = match described {
            Some(text) if !text.trim().is_empty() => Arc::from(&*text),
            _ => format!("Tool `{}` of the MCP server `{}`.", clip(&tool.name), self.server).into(),
        };
        let (schema, notes) = repair_shared(&tool.input_schema);
        self.notes
            .extend(notes.into_iter().map(|note| format!("tool `{}`: {note}", clip(&tool.name))));
        self.push(Entry {
            name: Arc::clone(name),
            server: Arc::clone(&self.server),
            tokens: estimate_tokens(name, &description, &schema),
            action: Action::Tool(Arc::clone(tool)),
            description,
            schema,
            needs_approval: trust == Trust::Untrusted && !tool.read_only(),
        });
    }

    fn add_utility(&mut self, name: Arc<str>, utility: Utility) {
        self.push(Entry {
            server: Arc::clone(&self.server),
            tokens: estimate_tokens(&name, &utility.description, &utility.schema),
            name,
            action: utility.action,
            description: utility.description.into(),
            schema: utility.schema,
            needs_approval: false,
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

/// Who wants a name.
struct Claim<'a> {
    first: &'a Tool,
    rival: Option<&'a Tool>,
}

impl<'a> Claim<'a> {
    /// The name of another tool that wants the same.
    fn other_than(&self, tool: &Tool) -> Option<&'a str> {
        let rival = self.rival?;
        let other = if self.first.name == tool.name { rival } else { self.first };
        Some(&other.name)
    }
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
