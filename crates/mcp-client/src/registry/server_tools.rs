//! The registered tools of one server.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use foldhash::fast::RandomState;
use serde_json::{Value, json};

use super::{RegisteredTool, ServerCatalogue, SkippedTool, ToolAction};
use crate::config::{ToolPolicy, Trust};
use crate::content::strip_tag_characters;
use crate::schema::{estimate_tokens, tokens_of_bytes};
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
                None => part.add_native(name, tool, trust, policy),
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
                None => part.add_utility(name, utility, trust, policy),
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

    fn add_native(&mut self, name: &Arc<str>, tool: &Arc<Tool>, trust: Trust, policy: &ToolPolicy) {
        let described = tool.description.as_deref().map(strip_tag_characters);
        let description: Arc<str> = match described {
            Some(text) if !text.trim().is_empty() => Arc::from(&*text),
            _ => {
                let name = printable_excerpt(&tool.name);
                format!("Tool `{name}` of the MCP server `{}`.", self.server).into()
            }
        };
        let model_schema = &tool.model_schema;
        self.push(RegisteredTool {
            name: Arc::clone(name),
            server: Arc::clone(&self.server),
            tokens: tokens_of_bytes(name.len() + description.len() + model_schema.compact_bytes),
            action: ToolAction::Tool(Arc::clone(tool)),
            description,
            schema: Arc::clone(&model_schema.schema),
            trust,
            approval: policy.approval_of(&tool.name),
        });
    }

    fn add_utility(&mut self, name: Arc<str>, utility: Utility, trust: Trust, policy: &ToolPolicy) {
        self.push(RegisteredTool {
            server: Arc::clone(&self.server),
            tokens: estimate_tokens(&name, &utility.description, &utility.schema),
            name,
            description: utility.description.into(),
            schema: utility.schema,
            trust,
            approval: policy.approval_of(utility.action.native_name()),
            action: utility.action,
        });
    }

    fn push(&mut self, entry: RegisteredTool) {
        self.tokens = self.tokens.saturating_add(entry.tokens);
        self.entries.push(Arc::new(entry));
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

/// A tool for the resources or the prompts of a server.
struct Utility {
    action: ToolAction,
    description: String,
    schema: Arc<Value>,
}

fn utilities(server: &str, policy: &ToolPolicy, catalogue: &ServerCatalogue) -> Vec<Utility> {
    let mut utilities = Vec::new();
    let mut add = |action, description, schema: &LazyLock<Arc<Value>>| {
        utilities.push(Utility { action, description, schema: Arc::clone(schema) });
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

static NOTHING: LazyLock<Arc<Value>> =
    LazyLock::new(|| Arc::new(json!({"type": "object", "properties": {}})));

static URI: LazyLock<Arc<Value>> = LazyLock::new(|| {
    Arc::new(json!({
        "type": "object",
        "properties": {"uri": {"type": "string", "description": "The resource's URI, as listed"}},
        "required": ["uri"],
    }))
});

static PROMPT: LazyLock<Arc<Value>> = LazyLock::new(|| {
    Arc::new(json!({
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
    }))
});
