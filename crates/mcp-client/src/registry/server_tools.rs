//! The registered tools of one server.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use foldhash::fast::RandomState;
use serde_json::json;

use super::{RegisteredTool, ServerCatalogue, SkippedTool, ToolAction};
use crate::config::{ToolPolicy, Trust};
use crate::content::strip_tag_characters;
use crate::schema::{ModelSchema, estimate_tokens};
use crate::tool::{QuarantinedItem, Tool, printable_excerpt};
use crate::tool_name::registered_name;

/// The tools of one server, filtered, named and repaired. Shared by all snapshots until the server
/// changes.
#[derive(Debug)]
pub struct ServerTools {
    server: Arc<str>,
    pub(super) entries: Vec<Arc<RegisteredTool>>,
    /// Tools that were rejected for their definition.
    pub quarantined: Vec<QuarantinedItem>,
    /// Tools that were skipped for their names.
    pub skipped: Vec<SkippedTool>,
    /// The number of native tools excluded by the policy.
    pub filtered: usize,
    pub tokens: u32,
}

impl ServerTools {
    /// Builds the tools of `server` from its catalogue.
    ///
    /// Native tools with the same registered name are all skipped, since neither has priority. A
    /// utility yields to a native tool.
    pub fn build(
        server: &str,
        policy: &ToolPolicy,
        trust: Trust,
        catalogue: &ServerCatalogue,
    ) -> Self {
        let mut part = Self {
            server: Arc::from(server),
            entries: Vec::with_capacity(catalogue.tools.len() + 4),
            quarantined: catalogue.quarantined.clone(),
            skipped: Vec::new(),
            filtered: 0,
            tokens: 0,
        };
        let natives = part.admitted(policy, &catalogue.tools);
        for NativeTool { name, tool, rival } in &natives.tools {
            match rival {
                Some(rival) => {
                    let rival = printable_excerpt(&rival.name);
                    let reason =
                        format!("`{name}` is also the name of `{rival}`; both are skipped");
                    part.skip(&tool.name, reason);
                }
                None => part.add(Arc::clone(name), native(server, tool), trust, policy),
            }
        }
        for utility in utilities(server, policy, catalogue) {
            let name: Arc<str> = registered_name(server, utility.action.native_name()).into();
            match natives.by_name.get(&name) {
                Some(&at) => {
                    let own = printable_excerpt(&natives.tools[at].tool.name);
                    let reason =
                        format!("`{name}` is already the name of the server's own `{own}`");
                    part.skip(utility.action.native_name(), reason);
                }
                None => part.add(name, utility, trust, policy),
            }
        }
        part
    }

    pub fn entries(&self) -> impl Iterator<Item = &RegisteredTool> {
        self.entries.iter().map(|entry| &**entry)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Remarks on repaired tools.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let tools = self.entries.iter().filter_map(|entry| match &entry.action {
            ToolAction::Tool(tool) => Some(tool),
            _ => None,
        });
        tools.flat_map(|tool| {
            let name = printable_excerpt(&tool.name);
            tool.model_schema.notes.iter().map(move |note| format!("tool `{name}`: {note}"))
        })
    }

    fn admitted<'a>(&mut self, policy: &ToolPolicy, tools: &'a [Arc<Tool>]) -> NativeTools<'a> {
        let mut natives = NativeTools {
            tools: Vec::with_capacity(tools.len()),
            by_name: HashMap::with_capacity_and_hasher(tools.len(), RandomState::default()),
        };
        for tool in tools {
            if !policy.admits(&tool.name) {
                self.filtered += 1;
                continue;
            }
            let name: Arc<str> = registered_name(&self.server, &tool.name).into();
            let next = natives.tools.len();
            let first = *natives.by_name.entry(Arc::clone(&name)).or_insert(next);
            if first == next {
                natives.tools.push(NativeTool { name, tool, rival: None });
                continue;
            }
            let first = &mut natives.tools[first];
            let owner = first.tool;
            if owner.name != tool.name {
                first.rival.get_or_insert(tool);
                natives.tools.push(NativeTool { name, tool, rival: Some(owner) });
            } else if !owner.same_as(tool) {
                // Pages may repeat a tool, but not with another definition.
                self.quarantined.push(QuarantinedItem {
                    name: printable_excerpt(&tool.name),
                    reason: "listed earlier with a different definition".to_owned(),
                });
            }
        }
        natives
    }

    fn add(&mut self, name: Arc<str>, offer: Offer<'_>, trust: Trust, policy: &ToolPolicy) {
        let Offer { action, description, schema } = offer;
        let tokens = estimate_tokens(name.len() + description.len() + schema.compact_bytes);
        self.tokens = self.tokens.saturating_add(tokens);
        self.entries.push(Arc::new(RegisteredTool {
            name,
            server: Arc::clone(&self.server),
            approval: policy.approval_of(action.native_name()),
            action,
            description,
            schema: Arc::clone(&schema.schema),
            trust,
            tokens,
        }));
    }

    fn skip(&mut self, native_name: &str, reason: String) {
        let server = Arc::clone(&self.server);
        self.skipped.push(SkippedTool { server, native_name: native_name.to_owned(), reason });
    }
}

struct NativeTools<'a> {
    tools: Vec<NativeTool<'a>>,
    by_name: HashMap<Arc<str>, usize, RandomState>,
}

struct NativeTool<'a> {
    name: Arc<str>,
    tool: &'a Arc<Tool>,
    rival: Option<&'a Arc<Tool>>,
}

/// A tool to register.
struct Offer<'a> {
    action: ToolAction,
    description: Arc<str>,
    schema: &'a ModelSchema,
}

fn native<'a>(server: &str, tool: &'a Arc<Tool>) -> Offer<'a> {
    let described = tool.description.as_deref().map(strip_tag_characters);
    let description = described.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| {
        let name = printable_excerpt(&tool.name);
        format!("Tool `{name}` of the MCP server `{server}`.").into()
    });
    let action = ToolAction::Tool(Arc::clone(tool));
    Offer { action, description: description.into(), schema: &tool.model_schema }
}

/// The tools for the resources and the prompts of a server.
fn utilities(
    server: &str,
    policy: &ToolPolicy,
    catalogue: &ServerCatalogue,
) -> Vec<Offer<'static>> {
    let mut utilities = Vec::new();
    let mut add = |action, description: String, schema: &'static ModelSchema| {
        utilities.push(Offer { action, description: description.into(), schema });
    };
    if policy.resources && catalogue.resources {
        let list = format!("List the resources that the MCP server `{server}` offers.");
        let read = format!("Read one resource of the MCP server `{server}` by its URI.");
        add(ToolAction::ListResources, list, &NOTHING);
        add(ToolAction::ReadResource, read, &URI);
    }
    if policy.prompts && catalogue.prompts {
        let list = format!("List the prompts that the MCP server `{server}` offers.");
        let get = format!("Get one prompt of the MCP server `{server}`, filled in.");
        add(ToolAction::ListPrompts, list, &NOTHING);
        add(ToolAction::GetPrompt, get, &PROMPT);
    }
    utilities
}

static NOTHING: LazyLock<ModelSchema> =
    LazyLock::new(|| ModelSchema::of(&Arc::new(json!({"type": "object", "properties": {}}))));

static URI: LazyLock<ModelSchema> = LazyLock::new(|| {
    ModelSchema::of(&Arc::new(json!({
        "type": "object",
        "properties": {"uri": {"type": "string", "description": "The resource's URI, as listed"}},
        "required": ["uri"],
    })))
});

static PROMPT: LazyLock<ModelSchema> = LazyLock::new(|| {
    ModelSchema::of(&Arc::new(json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The prompt's name, as listed"},
            "arguments": {
                "type": "object",
                "description": "Values for the prompt's arguments, by name",
                "properties": {},
                "additionalProperties": {"type": "string"},
            },
        },
        "required": ["name"],
    })))
});
