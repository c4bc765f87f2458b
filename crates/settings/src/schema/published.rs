//! The schema for editors.

use serde_json::{Map, Value as Json, json};

use super::Schema;

/// A reference to a variable can replace any scalar.
const NUMBER: &str = r"^\s*\d+(\.\d+)?\s*$|\$\{.+\}";
const DURATION: &str = r"^\s*\d+(\.\d+)?\s*[smhd]?\s*$|\$\{.+\}";
const SWITCH: &str =
    r"^(true|false|yes|no|on|off|0|1|True|False|Yes|No|On|Off|TRUE|FALSE|YES|NO|ON|OFF)$|\$\{.+\}";
const REFERENCE: &str = r"\$\{.+\}";

impl Schema {
    /// The JSON Schema (draft 2020-12) of what the reader accepts: numbers and switches also as
    /// strings, references to variables in place of any scalar, one item in place of a list, and
    /// keys without a value.
    pub fn published(&self, title: &str) -> Json {
        let mut schema = accepted(&self.0);
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        schema["title"] = title.into();
        schema
    }
}

fn accepted(schema: &Json) -> Json {
    let mut result = Map::new();
    for keyword in ["description", "default"] {
        if let Some(value) = schema.get(keyword).filter(|value| !value.is_null()) {
            result.insert(keyword.to_owned(), value.clone());
        }
    }
    let mut alternatives: Vec<Json> = match schema["anyOf"].as_array() {
        Some(alternatives) => alternatives.iter().map(accepted).collect(),
        None => value(schema),
    };
    alternatives.extend(schema.get("x-accepts").cloned());
    match alternatives.as_slice() {
        [Json::Object(only)] => result.extend(only.clone()),
        _ => drop(result.insert("anyOf".to_owned(), alternatives.into())),
    }
    Json::Object(result)
}

/// The forms of a value; a missing one is allowed.
fn value(schema: &Json) -> Vec<Json> {
    let bounds = |mut form: Json, keywords: &[&str]| {
        for keyword in keywords {
            if let Some(bound) = schema.get(*keyword) {
                form[*keyword] = bound.clone();
            }
        }
        form
    };
    match schema["type"].as_str().unwrap_or_default() {
        "boolean" => {
            vec![json!({"type": ["boolean", "null", "string", "integer"], "pattern": SWITCH})]
        }
        number @ ("integer" | "number") => {
            let pattern = if schema.get("x-unit").is_some() { DURATION } else { NUMBER };
            let form = json!({"type": [number, "null", "string"], "pattern": pattern});
            vec![bounds(form, &["minimum", "maximum", "exclusiveMinimum"])]
        }
        "string" if schema.get("enum").is_some() => {
            let words = schema["enum"].as_array().into_iter().flatten();
            let others = schema["x-words"].as_array().into_iter().flatten();
            let all: Vec<&Json> = words.chain(others.map(|pair| &pair[0])).collect();
            let mut pattern = REFERENCE.to_owned();
            if schema["x-exact"] != true {
                let all = all.iter().filter_map(|word| word.as_str());
                pattern.extend(all.map(|word| format!(r"|^\s*{}\s*$", in_any_case(word))));
            }
            let other = json!({"type": ["string", "null"], "pattern": pattern});
            vec![json!({ "enum": all }), other]
        }
        "string" if schema["x-optional"] == true || schema["x-scalar"] == true => {
            vec![json!({"type": ["string", "number", "boolean", "null"]})]
        }
        "string" => vec![json!({"type": ["string", "null"]})],
        "array" => {
            let items = accepted(&schema["items"]);
            let list = json!({"type": ["array", "null"], "items": items});
            vec![bounds(list, &["maxItems"]), items]
        }
        "object" => {
            let short = schema["x-short"].as_str();
            let short = short.map(|key| accepted(&schema["properties"][key]));
            let mapping = bounds(mapping(schema), &["maxProperties"]);
            short.into_iter().chain([mapping]).collect()
        }
        _ => vec![json!({})],
    }
}

/// A case-insensitive regular expression for a word; those of JSON Schema have no such flag.
fn in_any_case(word: &str) -> String {
    let letters = word.chars().map(|c| match c {
        c if c.is_ascii_alphabetic() => format!("[{}{}]", c, c.to_ascii_uppercase()),
        c => c.to_string(),
    });
    letters.collect()
}

fn mapping(schema: &Json) -> Json {
    let others = match &schema["additionalProperties"] {
        Json::Object(values) => accepted(&Json::Object(values.clone())),
        others => Json::Bool(others == true),
    };
    let keys = schema["properties"].as_object().into_iter().flatten();
    let keys: Map<String, Json> = keys.map(|(name, key)| (name.clone(), accepted(key))).collect();
    json!({"type": ["object", "null"], "properties": keys, "additionalProperties": others})
}
