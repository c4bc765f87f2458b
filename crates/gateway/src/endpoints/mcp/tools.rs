//! The tools: `tools.yaml` with the schemas of their results.

use std::sync::{Arc, LazyLock};

use gateway_store::Scope;
use rmcp::model::{JsonObject, Tool};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use settings::Node;
use wire::account::Me;
use wire::capability::CapabilityList;
use wire::media::MediaRun;
use wire::model::Model;
use wire::research::JobView;
use wire::search::SearchAnswer;
use wire::web::Page;

/// Maximum characters of a page or an answer in one result.
pub(super) const MAX_CHARS: u32 = 200_000;
/// Default length of a page.
pub(super) const PAGE_CHARS: u32 = 20_000;
/// Maximum and default number of models in one result.
pub(super) const MAX_MODELS: u32 = 1000;
pub(super) const MODELS: u32 = 100;

/// Maximum wait for a job in one call, in seconds.
pub(super) const MAX_WAIT: u32 = 50;

pub(super) struct ToolSpec {
    pub(super) name: &'static str,
    pub(super) what: ToolKind,
    pub(super) scope: Option<Scope>,
    output_schema: fn() -> Arc<JsonObject>,
    is_slow: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolKind {
    Capabilities,
    Models,
    Ask,
    Search,
    Fetch,
    Media,
    StartResearch,
    Research,
    Account,
}

/// Result of `ask`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Answered {
    /// The answer of the model.
    pub(super) answer: String,
    /// The model that answered.
    pub(super) model: String,
    /// Why the model stopped: `stop`, `length`, …
    pub(super) finish_reason: Option<String>,
    /// Whether the answer was truncated.
    pub(super) truncated: bool,
    /// Prompt tokens, as reported by the provider.
    pub(super) prompt_tokens: Option<u64>,
    /// Tokens of the answer, as reported by the provider.
    pub(super) completion_tokens: Option<u64>,
}

/// Result of `list_models`.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct Listed {
    /// The models that this key may use.
    pub(super) data: Vec<Model>,
    /// Whether more models match.
    pub(super) truncated: bool,
}

pub(super) static ALL: [ToolSpec; 9] = [
    tool("list_capabilities", ToolKind::Capabilities, None, of::<CapabilityList>),
    tool("list_models", ToolKind::Models, Some(Scope::Models), of::<Listed>),
    tool("ask", ToolKind::Ask, Some(Scope::Chat), of::<Answered>).slow(),
    tool("web_search", ToolKind::Search, Some(Scope::Search), of::<SearchAnswer>),
    tool("web_fetch", ToolKind::Fetch, Some(Scope::Fetch), of::<Page>).slow(),
    tool("generate_media", ToolKind::Media, Some(Scope::Media), of::<MediaRun>).slow(),
    tool("start_research", ToolKind::StartResearch, Some(Scope::Research), of::<JobView>),
    tool("get_research", ToolKind::Research, Some(Scope::Research), of::<JobView>).slow(),
    tool("account", ToolKind::Account, None, of::<Me>),
];

static DESCRIBED: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    let source = Node::from_yaml(include_str!("tools.yaml"));
    let source = source.map_or(Value::Null, |node| node.to_json());
    // A test reads them.
    let mut tools: Vec<Tool> = serde_json::from_value(source).unwrap_or_default();
    for tool in &mut tools {
        if let Some(about) = &mut tool.annotations {
            about.title.clone_from(&tool.title);
            about.destructive_hint = Some(false);
            about.idempotent_hint = about.read_only_hint;
        }
        tool.output_schema = find(&tool.name).map(|known| (known.output_schema)());
    }
    tools
});

const fn tool(
    name: &'static str,
    what: ToolKind,
    scope: Option<Scope>,
    output_schema: fn() -> Arc<JsonObject>,
) -> ToolSpec {
    ToolSpec { name, what, scope, output_schema, is_slow: false }
}

pub(super) fn find(name: &str) -> Option<&'static ToolSpec> {
    ALL.iter().find(|tool| tool.name == name)
}

pub(super) fn is_slow(name: &str) -> bool {
    find(name).is_some_and(|tool| tool.is_slow)
}

impl ToolSpec {
    const fn slow(self) -> Self {
        Self { is_slow: true, ..self }
    }

    pub(super) fn described(&self) -> Tool {
        DESCRIBED.iter().find(|tool| tool.name == self.name).cloned().unwrap_or_default()
    }
}

/// The schema of a type, with all references inlined.
fn of<T: JsonSchema>() -> Arc<JsonObject> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.for_serialize().into_generator().into_root_schema_for::<T>();
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests;
