//! Tools and the choice among them.

use serde_json::{Value, json};

use super::super::Untranslatable;
use super::super::fields::{Node, Object, Result, copy};

pub(super) fn translate(chat: &Node<'_>, body: &mut Object) -> Result<()> {
    let tools =
        chat.objects("tools")?.map(|tool| definition(&tool?)).collect::<Result<Vec<_>>>()?;
    let choice = chat.get("tool_choice").map(choice).transpose()?;
    if tools.is_empty() {
        return match choice.as_ref().and_then(|choice| choice["type"].as_str()) {
            None | Some("auto" | "none") => Ok(()),
            Some(_) => Err(chat.error("tool_choice", "requires tools to choose from")),
        };
    }
    body.insert("tools".into(), tools.into());
    let one_at_a_time = chat.flag("parallel_tool_calls")? == Some(false);
    let mut choice = match choice {
        None if one_at_a_time => json!({ "type": "auto" }),
        None => return Ok(()),
        Some(choice) => choice,
    };
    if one_at_a_time && choice["type"] != "none" {
        choice["disable_parallel_tool_use"] = true.into();
    }
    body.insert("tool_choice".into(), choice);
    Ok(())
}

fn definition(tool: &Node<'_>) -> Result<Value> {
    let kind = tool.text("type")?;
    if kind != "function" {
        let message = format!("this model supports only function tools, not {kind}");
        return Err(tool.error("type", message));
    }
    let function = tool.object("function")?;
    let mut definition = Object::new();
    definition.insert("name".into(), function.text("name")?.into());
    let fields = [("description", "description"), ("strict", "strict")];
    copy(function.object, &mut definition, &fields);
    let parameters = function.optional_object("parameters")?;
    let mut schema = parameters.map(|schema| schema.object.clone()).unwrap_or_default();
    schema.entry("type").or_insert_with(|| "object".into());
    definition.insert("input_schema".into(), schema.into());
    copy(tool.object, &mut definition, &[("cache_control", "cache_control")]);
    Ok(definition.into())
}

fn choice(choice: &Value) -> Result<Value> {
    match choice {
        Value::String(mode) if mode == "auto" => Ok(json!({ "type": "auto" })),
        Value::String(mode) if mode == "none" => Ok(json!({ "type": "none" })),
        Value::String(mode) if mode == "required" => Ok(json!({ "type": "any" })),
        _ => {
            let name = choice.pointer("/function/name").and_then(Value::as_str);
            name.map(|name| json!({ "type": "tool", "name": name })).ok_or_else(|| {
                let message = "must be auto, none, required or one function";
                Untranslatable::new("tool_choice", message)
            })
        }
    }
}
