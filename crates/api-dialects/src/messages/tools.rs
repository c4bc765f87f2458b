//! Tools as chat functions, and the choice among them.

use serde_json::{Value, json};

use super::super::fields::{Node, Object, Result, copy, text};
use super::super::tool_table::{Tool, ToolKind, ToolTable};
use super::super::{WebSearchTool, web_search};

/// Tools of a request: their functions and the table that maps them back.
#[derive(Default)]
pub(super) struct Offered {
    pub(super) table: ToolTable,
    functions: Vec<Value>,
}

impl Offered {
    pub(super) fn collect(body: &Object) -> Result<Self> {
        let mut offered = Self::default();
        for tool in Node::root(body).objects("tools")? {
            offered.add(&tool?)?;
        }
        Ok(offered)
    }

    fn add(&mut self, tool: &Node<'_>) -> Result<()> {
        match text(tool.object, "type") {
            None | Some("custom") => self.define(tool),
            Some(kind) if kind.starts_with("web_search_") => {
                if let Some(name) = self.table.add_web_search(WebSearchTool::parse(tool.object)) {
                    self.functions.push(web_search::function(&name));
                }
                Ok(())
            }
            // Deferred tools are offered from the start, so there is nothing to search for.
            Some(kind) if kind.starts_with("tool_search_tool_") => Ok(()),
            Some(kind) => {
                let message = format!("the tool {kind} is not available for this model");
                Err(tool.error("type", message))
            }
        }
    }

    fn define(&mut self, tool: &Node<'_>) -> Result<()> {
        let own = Tool::new(ToolKind::Function, None, tool.text("name")?);
        let Some(name) = self.table.add(own) else { return Ok(()) };
        let mut function = Object::new();
        function.insert("name".into(), name.into());
        let fields =
            [("description", "description"), ("strict", "strict"), ("input_schema", "parameters")];
        copy(tool.object, &mut function, &fields);
        self.functions.push(json!({ "type": "function", "function": function }));
        Ok(())
    }

    /// Adds `tools`, `tool_choice` and `parallel_tool_calls` to the chat completion request.
    pub(super) fn write(&mut self, body: &Object, chat: &mut Object) -> Result<()> {
        let body = Node::root(body);
        let choice = body.optional_object("tool_choice")?;
        let kind = choice.as_ref().map(|choice| choice.text("type")).transpose()?;
        if self.functions.is_empty() {
            return match kind {
                None | Some("auto" | "none") => Ok(()),
                Some(_) => Err(body.error("tool_choice", "requires tools to choose from")),
            };
        }
        chat.insert("tools".into(), std::mem::take(&mut self.functions).into());
        let Some((choice, kind)) = choice.zip(kind) else { return Ok(()) };
        let chosen = match kind {
            "auto" | "none" => kind.into(),
            "any" => "required".into(),
            "tool" => {
                let name = choice.text("name")?;
                let offered = self.table.offered(ToolKind::Function, name);
                let search = || self.table.offered(ToolKind::WebSearch, name);
                let function = offered.or_else(search).ok_or_else(|| {
                    choice.error("name", format!("no tool named {name} in this request"))
                })?;
                json!({ "type": "function", "function": { "name": function } })
            }
            kind => {
                return Err(choice.error("type", format!("unknown tool choice type {kind}")));
            }
        };
        chat.insert("tool_choice".into(), chosen);
        if choice.flag("disable_parallel_tool_use")? == Some(true) {
            chat.insert("parallel_tool_calls".into(), false.into());
        }
        Ok(())
    }
}
