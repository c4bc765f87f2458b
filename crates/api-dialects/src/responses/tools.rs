//! Tools of every type as chat functions, and the choice among them.
//!
//! Tools that neither the client nor the service executes, such as `file_search`, are left out; a
//! `tool_choice` that forces one of them is refused.

use serde_json::{Value, json};

use super::super::WebSearchTool;
use super::super::fields::{Node, Object, Result, object, objects, present, text};
use super::super::tool_table::{OfferedTools, Tool, ToolKind, ToolTable};

/// Fields of a tool that its function has too, by source and target name.
const FIELDS: [(&str, &str); 3] =
    [("description", "description"), ("parameters", "parameters"), ("strict", "strict")];

/// Tools of a request.
#[derive(Default)]
pub(super) struct Offered {
    pub(super) tools: OfferedTools,
    /// `max_tool_calls`, which counts only tools that the service executes.
    max_searches: Option<u64>,
}

impl Offered {
    /// Collects the tools of the request and those that items of the conversation add.
    pub(super) fn collect(body: &Object, earlier: &[Value]) -> Result<Self> {
        let max_searches = present(body, "max_tool_calls").and_then(Value::as_u64);
        let mut offered = Self { max_searches, ..Self::default() };
        offered.add_all(Node::root(body).objects("tools")?, None)?;
        let input = present(body, "input").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for item in earlier.iter().chain(input) {
            let kind = item.get("type").and_then(Value::as_str);
            if let Some("additional_tools" | "tool_search_output") = kind
                && let Some(tools) = item.get("tools").and_then(Value::as_array)
            {
                offered.add_all(objects(tools, "input.tools".to_owned()), None)?;
            }
        }
        Ok(offered)
    }

    /// Adds `tools` and `tool_choice` to the chat completion request.
    pub(super) fn write(&mut self, body: &Object, chat: &mut Object) -> Result<()> {
        let body = Node::root(body);
        let choice = match body.get("tool_choice") {
            None => None,
            Some(Value::String(mode)) => Some(mode.as_str().into()),
            Some(_) => Some(self.chosen(&body.object("tool_choice")?)?),
        };
        if !self.tools.functions.is_empty() {
            chat.insert("tools".into(), std::mem::take(&mut self.tools.functions).into());
        } else if choice.as_ref().is_none_or(|choice| choice == "auto" || choice == "none") {
            // Without tools these fields have no effect, and some servers refuse them.
            chat.remove("parallel_tool_calls");
            return Ok(());
        } else {
            let message = "no tool of this request is available for this model";
            return Err(body.error("tool_choice", message));
        }
        if let Some(choice) = choice {
            chat.insert("tool_choice".into(), choice);
        }
        Ok(())
    }

    fn add_all<'a>(
        &mut self,
        tools: impl Iterator<Item = Result<Node<'a>>>,
        namespace: Option<&str>,
    ) -> Result<()> {
        for tool in tools {
            self.add(&tool?, namespace)?;
        }
        Ok(())
    }

    fn add(&mut self, tool: &Node<'_>, namespace: Option<&str>) -> Result<()> {
        match tool.text("type")? {
            "function" => {
                let own = Tool::new(ToolKind::Function, namespace, tool.text("name")?);
                self.tools.define(own, tool.object, &FIELDS);
            }
            "custom" => {
                let own = Tool::new(ToolKind::Custom, namespace, tool.text("name")?);
                self.tools.define(own, &free_form(tool.object), &FIELDS);
            }
            "namespace" if namespace.is_none() => {
                let first = self.tools.functions.len();
                let name = tool.text("name")?;
                self.add_all(tool.objects("tools")?, Some(name))?;
                self.describe(first, name, tool.object);
            }
            "tool_search" if tool.object.get("execution").is_some_and(|by| by == "client") => {
                let own = Tool::new(ToolKind::ToolSearch, None, "tool_search");
                self.tools.define(own, tool.object, &FIELDS[..2]);
            }
            kind if is_web_search(kind) => {
                let settings = WebSearchTool {
                    max_uses: self.max_searches,
                    ..WebSearchTool::parse(tool.object)
                };
                self.tools.offer_web_search(settings);
            }
            _ => {}
        }
        Ok(())
    }

    /// Appends the description of a namespace to that of its first function.
    fn describe(&mut self, first: usize, name: &str, namespace: &Object) {
        let text = text(namespace, "description").unwrap_or_default();
        let Some(function) = self.tools.functions.get_mut(first) else { return };
        if text.is_empty() {
            return;
        }
        let description = &mut function["function"]["description"];
        let own = description.as_str().unwrap_or_default();
        *description = format!("{own}\n\nAbout all tools of {name}: {text}").trim_start().into();
    }

    /// The choice of an object; an allowed list removes all other tools.
    fn chosen(&mut self, choice: &Node<'_>) -> Result<Value> {
        let kind = choice.text("type")?;
        if kind == "allowed_tools" {
            let allowed = choice.list("tools")?.iter().filter_map(Value::as_object);
            let allowed: Vec<&str> =
                allowed.filter_map(|tool| function_of(&self.tools.table, tool)).collect();
            self.tools.functions.retain(|function| {
                allowed.iter().any(|name| function["function"]["name"] == *name)
            });
            return Ok(choice.text("mode")?.into());
        }
        if let Some(name) = function_of(&self.tools.table, choice.object) {
            return Ok(json!({ "type": "function", "function": { "name": name } }));
        }
        let name = text(choice.object, "name").unwrap_or(kind);
        Err(choice.error("type", format!("the tool {name} is not available for this model")))
    }
}

/// The function for an entry of `tool_choice`.
fn function_of<'a>(table: &'a ToolTable, entry: &Object) -> Option<&'a str> {
    let name = || text(entry, "name");
    match entry.get("type").and_then(Value::as_str)? {
        "function" => table.offered(ToolKind::Function, name()?),
        "custom" => table.offered(ToolKind::Custom, name()?),
        "tool_search" => table.offered(ToolKind::ToolSearch, "tool_search"),
        kind if is_web_search(kind) => table.offered(ToolKind::WebSearch, "web_search"),
        _ => None,
    }
}

/// `web_search`, `web_search_preview` and their dated versions.
fn is_web_search(kind: &str) -> bool {
    kind.starts_with("web_search")
}

/// A free-form tool as a function with one text, its grammar as part of the description.
fn free_form(tool: &Object) -> Object {
    let mut description = text(tool, "description").unwrap_or_default().to_owned();
    if let Some(format) = object(tool, "format") {
        // `{"type": "grammar", "grammar": {…}}` is the form that chat completions use.
        let grammar = object(format, "grammar").unwrap_or(format);
        let syntax = text(grammar, "syntax").unwrap_or_default();
        let definition = text(grammar, "definition").unwrap_or_default();
        if !definition.is_empty() {
            description.push_str(&format!(
                "\n\nThe input must match this {syntax} grammar:\n{definition}"
            ));
        }
    }
    let parameters = json!({
        "type": "object",
        "properties": { "input": { "type": "string", "description": "The whole input of the tool" } },
        "required": ["input"],
        "additionalProperties": false,
    });
    let mut definition = Object::new();
    definition.insert("description".into(), description.trim_start().into());
    definition.insert("parameters".into(), parameters);
    definition
}

/// The free-form input in the arguments of a call; arguments of another form are the input.
pub(super) fn free_form_input(arguments: &str) -> String {
    let input = match serde_json::from_str(arguments) {
        Ok(Value::String(input)) => Some(input),
        Ok(Value::Object(mut object)) => {
            let input = object.remove("input");
            match input.or_else(|| object.into_iter().next().map(|(_, value)| value)) {
                Some(Value::String(input)) => Some(input),
                _ => None,
            }
        }
        _ => None,
    };
    input.unwrap_or_else(|| arguments.to_owned())
}
