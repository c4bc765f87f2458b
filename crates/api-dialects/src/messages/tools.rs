//! Tools as chat functions, and the choice among them.

use serde_json::{Value, json};

use super::super::fields::{Object, flag, list, object_at, present, text_at};
use super::super::tool_table::{Tool, ToolKind, ToolTable};
use super::super::{Untranslatable, WebSearchTool, web_search};

/// The tools of a request: their functions and the table that restores them.
#[derive(Default)]
pub(super) struct Offered {
    pub(super) table: ToolTable,
    functions: Vec<Value>,
}

impl Offered {
    pub(super) fn collect(body: &Object) -> Result<Self, Untranslatable> {
        let mut offered = Self::default();
        for (n, tool) in list(body, "tools")?.iter().enumerate() {
            let place = format!("tools[{n}]");
            offered.add(object_at(tool, &place)?, &place)?;
        }
        Ok(offered)
    }

    fn add(&mut self, tool: &Object, place: &str) -> Result<(), Untranslatable> {
        match present(tool, "type").and_then(Value::as_str) {
            None | Some("custom") => self.define(tool, place),
            Some(kind) if kind.starts_with("web_search_") => {
                if let Some(name) = self.table.add_web_search(WebSearchTool::parse(tool)) {
                    self.functions.push(web_search::function(&name));
                }
                Ok(())
            }
            // Deferred tools are offered from the start, so there is nothing to search for.
            Some(kind) if kind.starts_with("tool_search_tool_") => Ok(()),
            Some(kind) => {
                let message = format!("the tool {kind} is not available for this model");
                Err(Untranslatable::new(format!("{place}.type"), message))
            }
        }
    }

    fn define(&mut self, tool: &Object, place: &str) -> Result<(), Untranslatable> {
        let own = Tool::new(ToolKind::Function, None, text_at(tool, "name", place)?);
        let Some(name) = self.table.add(own) else { return Ok(()) };
        let mut function = Object::new();
        function.insert("name".into(), name.into());
        let fields =
            [("description", "description"), ("strict", "strict"), ("input_schema", "parameters")];
        for (field, chat_field) in fields {
            if let Some(value) = present(tool, field) {
                function.insert(chat_field.into(), value.clone());
            }
        }
        self.functions.push(json!({ "type": "function", "function": function }));
        Ok(())
    }

    /// Adds `tools`, `tool_choice` and `parallel_tool_calls` to the chat completion request.
    pub(super) fn write(&mut self, body: &Object, chat: &mut Object) -> Result<(), Untranslatable> {
        let place = "tool_choice";
        let choice = match present(body, place) {
            None => None,
            Some(choice) => Some(object_at(choice, place)?),
        };
        let kind = choice.map(|choice| text_at(choice, "type", place)).transpose()?;
        if self.functions.is_empty() {
            return match kind {
                None | Some("auto" | "none") => Ok(()),
                Some(_) => Err(Untranslatable::new(place, "requires tools to choose from")),
            };
        }
        chat.insert("tools".into(), std::mem::take(&mut self.functions).into());
        let Some((choice, kind)) = choice.zip(kind) else { return Ok(()) };
        let chosen = match kind {
            "auto" | "none" => kind.into(),
            "any" => "required".into(),
            "tool" => {
                let name = text_at(choice, "name", place)?;
                let offered = self.table.offered(ToolKind::Function, name);
                let search = || self.table.offered(ToolKind::WebSearch, name);
                let function = offered.or_else(search).ok_or_else(|| {
                    let message = format!("no tool named {name} in this request");
                    Untranslatable::new("tool_choice.name", message)
                })?;
                json!({ "type": "function", "function": { "name": function } })
            }
            kind => {
                let message = format!("unknown tool choice type {kind}");
                return Err(Untranslatable::new("tool_choice.type", message));
            }
        };
        chat.insert(place.into(), chosen);
        if flag(choice, "disable_parallel_tool_use")? == Some(true) {
            chat.insert("parallel_tool_calls".into(), false.into());
        }
        Ok(())
    }
}
