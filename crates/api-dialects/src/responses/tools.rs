//! Function tools and the choice among them.

use serde_json::{Value, json};

use super::super::Untranslatable;
use super::super::fields::{Object, list, object_at, present, text_at};

/// Adds `tools` and `tool_choice` to the chat completion request.
pub(super) fn translate(body: &Object, chat: &mut Object) -> Result<(), Untranslatable> {
    let mut tools = list(body, "tools")?
        .iter()
        .enumerate()
        .map(|(n, tool)| definition(tool, &format!("tools[{n}]")))
        .collect::<Result<Vec<_>, _>>()?;
    let choice = match present(body, "tool_choice") {
        None => None,
        Some(Value::String(mode)) => Some(mode.as_str().into()),
        Some(choice) => Some(chosen(object_at(choice, "tool_choice")?, &mut tools)?),
    };
    if !tools.is_empty() {
        chat.insert("tools".into(), tools.into());
    } else if choice.as_ref().is_none_or(|choice| choice == "auto" || choice == "none") {
        // Without tools these words change nothing, and some servers refuse them.
        chat.remove("parallel_tool_calls");
        return Ok(());
    }
    if let Some(choice) = choice {
        chat.insert("tool_choice".into(), choice);
    }
    Ok(())
}

fn definition(tool: &Value, place: &str) -> Result<Value, Untranslatable> {
    let tool = object_at(tool, place)?;
    let kind = text_at(tool, "type", place)?;
    if kind != "function" {
        let message = format!("the tool {kind} is not available for this model");
        return Err(Untranslatable::new(format!("{place}.type"), message));
    }
    let mut function = Object::new();
    function.insert("name".into(), text_at(tool, "name", place)?.into());
    for name in ["description", "parameters", "strict"] {
        if let Some(value) = present(tool, name) {
            function.insert(name.into(), value.clone());
        }
    }
    Ok(json!({ "type": "function", "function": function }))
}

/// The choice an object makes; an allowed list leaves only its tools.
fn chosen(choice: &Object, tools: &mut Vec<Value>) -> Result<Value, Untranslatable> {
    let place = "tool_choice";
    match text_at(choice, "type", place)? {
        "function" => {
            let name = text_at(choice, "name", place)?;
            Ok(json!({ "type": "function", "function": { "name": name } }))
        }
        "allowed_tools" => {
            let allowed = list(choice, "tools")?;
            let named = |tool: &Value| {
                allowed.iter().any(|entry| {
                    entry["type"] == "function" && entry["name"] == tool["function"]["name"]
                })
            };
            tools.retain(named);
            Ok(text_at(choice, "mode", place)?.into())
        }
        kind => {
            let message = format!("the tool {kind} is not available for this model");
            Err(Untranslatable::new("tool_choice.type", message))
        }
    }
}
