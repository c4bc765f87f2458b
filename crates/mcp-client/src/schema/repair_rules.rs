//! The repair rules for one schema whose inner schemas are repaired already.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use serde_json::{Map, Value, json};

use super::union::{self, nullable_hint};
use super::walk::{KeywordValue, keyword_value};
use super::{Object, RepairLog};

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

pub(super) fn repair_node(node: &mut Object, log: &mut RepairLog) {
    misplaced(node, log);
    definitions(node, log);
    kind(node, log);
    values(node, log);
    union::collapse(node, "anyOf", log);
    union::collapse(node, "oneOf", log);
    object(node, log);
    array(node, log);
}

/// Replaces or removes values that are not schemas.
fn misplaced(node: &mut Object, log: &mut RepairLog) {
    node.retain(|keyword, value| match keyword_value(keyword) {
        KeywordValue::Data => true,
        KeywordValue::Schema => match value {
            Value::Array(_) => keyword == "items",
            Value::Bool(flag) if matches!(keyword.as_str(), "items" | "contains") => {
                *value = spelled_out(*flag);
                log.record("replaced `true` and `false` by equivalent schemas");
                true
            }
            Value::Object(_) | Value::Bool(_) => true,
            _ => {
                log.record(format!("removed `{keyword}`, which is not a schema"));
                false
            }
        },
        KeywordValue::SchemaMap => {
            let Value::Object(named) = value else {
                log.record(format!("removed `{keyword}`, which is not an object"));
                return false;
            };
            let is_list_of_names = |inner: &Value| keyword == "dependencies" && inner.is_array();
            let schemas = named.values_mut().filter(|inner| !is_list_of_names(inner));
            replace_invalid(keyword, schemas, log);
            true
        }
        KeywordValue::SchemaList => {
            let Value::Array(list) = value else {
                log.record(format!("removed `{keyword}`, which is not a list"));
                return false;
            };
            replace_invalid(keyword, list.iter_mut(), log);
            if list.is_empty() {
                log.record(format!("removed the empty `{keyword}`"));
            }
            !list.is_empty()
        }
    });
}

fn replace_invalid<'a>(
    keyword: &str,
    schemas: impl Iterator<Item = &'a mut Value>,
    log: &mut RepairLog,
) {
    for schema in schemas.filter(|schema| !schema.is_object()) {
        log.record(format!(
            "replaced invalid schemas in `{keyword}` by schemas that allow any value"
        ));
        *schema = spelled_out(*schema != Value::Bool(false));
    }
}

fn spelled_out(flag: bool) -> Value {
    if flag { json!({}) } else { json!({"not": {}}) }
}

/// `definitions` is the old name of `$defs`. Conflicting definitions stay separate.
fn definitions(node: &mut Object, log: &mut RepairLog) {
    let Some(Value::Object(old)) = node.get_mut("definitions") else { return };
    let mut old = std::mem::take(old);
    let mut new = match node.remove("$defs") {
        Some(Value::Object(new)) => new,
        _ => Map::new(),
    };
    let before = old.len();
    old.retain(|name, schema| {
        let is_free = new.get(name).is_none_or(|other| other == schema);
        if is_free {
            new.insert(name.clone(), schema.take());
        }
        !is_free
    });
    if old.len() < before || before == 0 {
        log.record("renamed `definitions` to `$defs`");
    }
    if old.is_empty() {
        node.remove("definitions");
    } else {
        node.insert("definitions".to_owned(), Value::Object(old));
    }
    node.insert("$defs".to_owned(), Value::Object(new));
}

/// `type` must be one known name, or a list of several without `null`.
fn kind(node: &mut Object, log: &mut RepairLog) {
    let Some(written) = node.get("type") else { return };
    if written.as_str().is_some_and(|word| TYPES.contains(&word)) {
        return;
    }
    let mut unknown = false;
    let mut nullable = false;
    let mut kinds: Vec<&'static str> = Vec::new();
    let words = match written {
        Value::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    for word in words {
        let known = word.as_str().map(str::to_ascii_lowercase);
        match known.and_then(|word| TYPES.into_iter().find(|known| **known == word)) {
            Some("null") if words.len() > 1 => nullable = true,
            Some(known) if !kinds.contains(&known) => kinds.push(known),
            Some(_) => {}
            None => unknown = true,
        }
    }
    if kinds.is_empty() && nullable {
        (kinds, nullable) = (vec!["null"], false);
    }
    let mended = match kinds.as_slice() {
        [] => None,
        [one] => Some(Value::from(*one)),
        several => Some(Value::from(several.to_vec())),
    };
    if mended.as_ref() == Some(written) {
        return;
    }
    match mended {
        Some(mended) => drop(node.insert("type".to_owned(), mended)),
        None => drop(node.remove("type")),
    }
    if unknown {
        log.record("removed an unknown `type`");
    }
    if nullable {
        nullable_hint(node);
        log.record("replaced `null` in a `type` by a hint");
    } else {
        log.record("normalized a `type`");
    }
}

/// `enum` must not be empty, and references must be local.
fn values(node: &mut Object, log: &mut RepairLog) {
    if node.get("enum").is_some_and(|list| list.as_array().is_none_or(Vec::is_empty)) {
        node.remove("enum");
        log.record("removed an `enum` without values");
    }
    for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
        let Some(target) = node.get(keyword) else { continue };
        if !target.as_str().is_some_and(|target| target.starts_with('#')) {
            node.remove(keyword);
            log.record("removed an external reference, which is never fetched");
        }
    }
}

/// An object needs `type` and `properties`, and requires only known properties.
pub(super) fn object(node: &mut Object, log: &mut RepairLog) {
    if node.contains_key("properties") && !node.contains_key("type") {
        node.insert("type".to_owned(), "object".into());
        log.record("added the missing `type` of an object");
    }
    let is_object = node.get("type").is_some_and(|kind| kind == "object");
    if is_object && !node.contains_key("properties") {
        node.insert("properties".to_owned(), json!({}));
        log.record("added the missing `properties` of an object");
    }
    required(node, log);
}

/// Prunes `required` to strings, and to known properties unless another keyword may add some.
fn required(node: &mut Object, log: &mut RepairLog) {
    let Some(written) = node.get("required") else { return };
    let Value::Array(names) = written else {
        node.remove("required");
        log.record("removed a `required` that is not a list");
        return;
    };
    let elsewhere = ["$ref", "allOf", "anyOf", "oneOf", "if", "$dynamicRef", "$recursiveRef"]
        .iter()
        .any(|keyword| node.contains_key(*keyword));
    let properties = match node.get("properties") {
        Some(Value::Object(properties)) if !elsewhere => Some(properties),
        _ => None,
    };
    let mut seen: HashSet<&str, RandomState> = HashSet::default();
    let is_known = |text: &str| properties.is_none_or(|known| known.contains_key(text));
    let kept = names
        .iter()
        .filter(|name| name.as_str().is_some_and(|text| is_known(text) && seen.insert(text)));
    let kept: Vec<Value> = kept.cloned().collect();
    if kept.len() == names.len() {
        return;
    }
    log.record("removed unknown properties from `required`");
    if kept.is_empty() {
        node.remove("required");
    } else {
        node.insert("required".to_owned(), Value::Array(kept));
    }
}

/// An array needs `items`; a list of schemas is the old form of `prefixItems`.
fn array(node: &mut Object, log: &mut RepairLog) {
    if let Some(items @ Value::Array(_)) = node.get_mut("items") {
        let old = std::mem::replace(items, json!({}));
        if let Some(rest @ Value::Object(_)) = node.remove("additionalItems") {
            node.insert("items".to_owned(), rest);
        }
        node.entry("prefixItems").or_insert(old);
        log.record("replaced a list of `items` by `prefixItems`");
    }
    if node.get("type").is_some_and(|kind| kind == "array") && !node.contains_key("items") {
        node.insert("items".to_owned(), json!({}));
        log.record("added the missing `items` of an array");
    }
}
