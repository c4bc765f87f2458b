//! Tools and the choice among them.

use serde_json::{Value, json};

use super::super::Untranslatable;
use super::super::fields::{Object, flag, list, object_at, present, text_at};

pub(super) fn translate(chat: &Object, body: &mut Object) -> Result<(), Untranslatable> {
    let tools = list(chat, "tools")?
        .iter()
        .enumerate()
        .map(|(n, tool)| definition(tool, &format!("tools[{n}]")))
        .collect::<Result<Vec<_>, _>>()?;
    let choice = present(chat, "tool_choice").map(choice).transpose()?;
    if tools.is_empty() {
        return match choice.as_ref().and_then(|choice| choice["type"].as_str()) {
            None | Some("auto" | "none") => Ok(()),
            Some(_) => Err(Untranslatable::new("tool_choice", "requires tools to choose from")),
        };
    }
    body.insert("tools".into(), tools.into());
    let one_at_a_time = flag(chat, "parallel_tool_calls")? == Some(false);
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

fn definition(tool: &Value, place: &str) -> Result<Value, Untranslatable> {
    let tool = object_at(tool, place)?;
    let kind = text_at(tool, "type", place)?;
    if kind != "function" {
        let message = format!("this model supports only function tools, not {kind}");
        return Err(Untranslatable::new(format!("{place}.type"), message));
    }
    let place = format!("{place}.function");
    let function = object_at(tool.get("function").unwrap_or(&Value::Null), &place)?;
    let mut definition = Object::new();
    definition.insert("name".into(), text_at(function, "name", &place)?.into());
    for name in ["description", "strict"] {
        if let Some(value) = present(function, name) {
            definition.insert(name.into(), value.clone());
        }
    }
    let mut schema = match present(function, "parameters") {
        None => Object::new(),
        Some(schema) => object_at(schema, &format!("{place}.parameters"))?.clone(),
    };
    schema.entry("type").or_insert_with(|| "object".into());
    definition.insert("input_schema".into(), schema.into());
    if let Some(cache) = present(tool, "cache_control") {
        definition.insert("cache_control".into(), cache.clone());
    }
    Ok(definition.into())
}

fn choice(choice: &Value) -> Result<Value, Untranslatable> {
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
