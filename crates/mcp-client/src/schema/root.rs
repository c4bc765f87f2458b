//! The root schema: strict APIs require an object without alternatives.

use serde_json::{Map, Value, json};

use super::reference::target;
use super::{Object, RepairLog, repair_rules, union};

const MAX_BRANCHES: usize = 64;
const MAX_HOPS: usize = 8;

/// Merges the root, its reference and its alternatives into one object.
pub(super) fn flatten(root: &mut Object, log: &mut RepairLog) {
    if root.contains_key("$ref") {
        let stated = Value::Object(Map::from_iter([("$ref".to_owned(), root["$ref"].clone())]));
        let found = dereferenced(root, &stated);
        root.remove("$ref");
        if let Some(found) = found {
            merge(root, found);
        }
        log.record("inlined the reference at the root");
    }
    for found in branches(root, "allOf", log) {
        merge(root, found);
    }
    for keyword in ["anyOf", "oneOf"] {
        let found = branches(root, keyword, log);
        alternatives(root, found, log);
    }
    for keyword in ["enum", "const", "not"] {
        if root.remove(keyword).is_some() {
            log.record(format!("removed `{keyword}` at the root"));
        }
    }
    if root.get("type").is_none_or(|kind| kind != "object") {
        root.insert("type".to_owned(), "object".into());
        log.record("set the type of the root to object");
    }
    repair_rules::object(root, log);
}

/// Removes a list of schemas from the root and returns them dereferenced.
fn branches(root: &mut Object, keyword: &str, log: &mut RepairLog) -> Vec<Object> {
    let Some(Value::Array(list)) = root.remove(keyword) else { return Vec::new() };
    log.record(format!("merged `{keyword}` at the root into one object"));
    if list.len() > MAX_BRANCHES {
        log.record(format!(
            "`{keyword}` at the root has more than {MAX_BRANCHES} schemas; ignored the rest"
        ));
    }
    list.iter().take(MAX_BRANCHES).filter_map(|branch| dereferenced(root, branch)).collect()
}

/// A copy of the schema, merged with the target of its reference.
fn dereferenced(root: &Object, schema: &Value) -> Option<Object> {
    let mut at = schema.as_object()?.clone();
    for _ in 0..MAX_HOPS {
        let Some(Value::String(pointer)) = at.remove("$ref") else { return Some(at) };
        let Some(Value::Object(found)) = target(root, &pointer) else { return Some(at) };
        merge(&mut at, found.clone());
    }
    at.remove("$ref");
    Some(at)
}

/// Adds the keywords of another schema that applies too.
fn merge(root: &mut Object, other: Object) {
    for (keyword, value) in other {
        match (root.get_mut(&keyword), value) {
            (None, value) => drop(root.insert(keyword, value)),
            (Some(Value::Object(own)), Value::Object(more))
                if matches!(keyword.as_str(), "properties" | "$defs" | "patternProperties") =>
            {
                for (name, schema) in more {
                    own.entry(name).or_insert(schema);
                }
            }
            (Some(Value::Array(own)), Value::Array(more))
                if matches!(keyword.as_str(), "required" | "anyOf" | "oneOf" | "allOf") =>
            {
                own.extend(more);
            }
            _ => {}
        }
    }
}

/// Adds alternatives: the properties of all of them, requiring only those that every one requires.
fn alternatives(root: &mut Object, found: Vec<Object>, log: &mut RepairLog) {
    if found.is_empty() {
        return;
    }
    let mut common: Option<Vec<Value>> = None;
    let mut properties = Map::new();
    for branch in found {
        let kind = branch.get("type").and_then(Value::as_str);
        if kind.is_some_and(|kind| kind != "object") {
            if kind != Some("null") {
                log.record("removed an alternative at the root that is not an object");
            }
            continue;
        }
        let required = match branch.get("required") {
            Some(Value::Array(names)) => names.clone(),
            _ => Vec::new(),
        };
        common = Some(match common {
            None => required,
            Some(before) => before.into_iter().filter(|name| required.contains(name)).collect(),
        });
        for (keyword, value) in branch {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(more)) => {
                    for (name, schema) in more {
                        add_alternative(&mut properties, name, schema);
                    }
                }
                ("$defs", defs) => merge(root, Map::from_iter([(keyword, defs)])),
                (plain, value) if union::is_annotation(plain) && !root.contains_key(plain) => {
                    root.insert(keyword, value);
                }
                _ => {}
            }
        }
    }
    merge(root, Map::from_iter([("properties".to_owned(), Value::Object(properties))]));
    if let Some(common) = common.filter(|common| !common.is_empty()) {
        merge(root, Map::from_iter([("required".to_owned(), Value::Array(common))]));
    }
}

/// Adds a property that another alternative may define differently.
fn add_alternative(properties: &mut Object, name: String, schema: Value) {
    let Some(own) = properties.get_mut(&name) else {
        properties.insert(name, schema);
        return;
    };
    if *own == schema {
        return;
    }
    if let Value::Object(object) = own
        && object.len() == 1
        && let Some(Value::Array(list)) = object.get_mut("anyOf")
    {
        if !list.contains(&schema) {
            list.push(schema);
        }
        return;
    }
    *own = json!({"anyOf": [own.take(), schema]});
}
