//! The schema of all arguments: an object without alternatives, which strict APIs demand.

use serde_json::{Map, Value, json};

use super::reference::target;
use super::{Work, mend, union};

/// The most alternatives that are looked at; the others are left out.
const MAX_BRANCHES: usize = 64;
/// The longest chain of references that is followed.
const MAX_HOPS: usize = 8;

/// Makes one object of the root, its reference and its alternatives.
pub(super) fn flatten(root: &mut Map<String, Value>, work: &mut Work) {
    if root.contains_key("$ref") {
        let stated = Value::Object(Map::from_iter([("$ref".to_owned(), root["$ref"].clone())]));
        let found = followed(root, &stated);
        root.remove("$ref");
        if let Some(found) = found {
            join(root, found);
        }
        work.did("the reference at the root is written out");
    }
    for found in branches(root, "allOf", work) {
        join(root, found);
    }
    for keyword in ["anyOf", "oneOf"] {
        let found = branches(root, keyword, work);
        alternatives(root, found, work);
    }
    for keyword in ["enum", "const", "not"] {
        if root.remove(keyword).is_some() {
            work.did(format!("`{keyword}` at the root is left out"));
        }
    }
    if root.get("type").is_none_or(|kind| kind != "object") {
        root.insert("type".to_owned(), "object".into());
        work.did("the root is an object");
    }
    if !root.contains_key("properties") {
        root.insert("properties".to_owned(), json!({}));
        work.did("an object got its `properties`");
    }
    mend::required(root, work);
}

/// Takes away what leads back to itself at the root and would never be written out.
pub(super) fn cut_circles(root: &mut Map<String, Value>) {
    for keyword in ["$ref", "allOf", "anyOf", "oneOf"] {
        root.remove(keyword);
    }
}

/// Takes the schemas of a list at the root away, with references followed.
fn branches(
    root: &mut Map<String, Value>,
    keyword: &str,
    work: &mut Work,
) -> Vec<Map<String, Value>> {
    let Some(Value::Array(list)) = root.remove(keyword) else { return Vec::new() };
    work.did(format!("`{keyword}` at the root is written out as one object"));
    if list.len() > MAX_BRANCHES {
        work.did(format!(
            "`{keyword}` at the root has over {MAX_BRANCHES} schemas; the rest is left out"
        ));
    }
    list.iter().take(MAX_BRANCHES).filter_map(|branch| followed(root, branch)).collect()
}

/// A copy of the schema, or of the one that its reference leads to, with its own words added.
fn followed(root: &Map<String, Value>, schema: &Value) -> Option<Map<String, Value>> {
    let mut at = schema.as_object()?.clone();
    for _ in 0..MAX_HOPS {
        let Some(Value::String(pointer)) = at.remove("$ref") else { return Some(at) };
        let Some(Value::Object(found)) = target(root, &pointer) else { return Some(at) };
        join(&mut at, found.clone());
    }
    at.remove("$ref");
    Some(at)
}

/// Adds what another schema demands as well.
fn join(root: &mut Map<String, Value>, other: Map<String, Value>) {
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

/// Adds what one of several schemas demands: all their properties, of which only those are
/// required that every one of them requires.
fn alternatives(root: &mut Map<String, Value>, found: Vec<Map<String, Value>>, work: &mut Work) {
    if found.is_empty() {
        return;
    }
    let mut common: Option<Vec<Value>> = None;
    let mut properties = Map::new();
    for branch in found {
        let kind = branch.get("type").and_then(Value::as_str);
        if kind.is_some_and(|kind| kind != "object") {
            if kind != Some("null") {
                work.did("an alternative at the root that is no object is left out");
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
                        either(&mut properties, name, schema);
                    }
                }
                ("$defs", defs) => join(root, Map::from_iter([(keyword, defs)])),
                (plain, value) if union::annotation(plain) && !root.contains_key(plain) => {
                    root.insert(keyword, value);
                }
                _ => {}
            }
        }
    }
    join(root, Map::from_iter([("properties".to_owned(), Value::Object(properties))]));
    if let Some(common) = common.filter(|common| !common.is_empty()) {
        join(root, Map::from_iter([("required".to_owned(), Value::Array(common))]));
    }
}

/// A property that may be this or what another alternative says.
fn either(properties: &mut Map<String, Value>, name: String, schema: Value) {
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
