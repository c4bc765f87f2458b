//! Unions that are equivalent to one schema: nullable schemas, and lists of constants.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use serde_json::Value;

use super::{Object, RepairLog};
use crate::message::plain_text;

/// Whether a keyword does not constrain values.
pub(super) fn is_annotation(keyword: &str) -> bool {
    const ANNOTATIONS: [&str; 10] = [
        "title", "description", "default", "examples", "example", "deprecated", "readOnly",
        "writeOnly", "$comment", "nullable",
    ];
    ANNOTATIONS.contains(&keyword)
}

/// Collapses the union under `keyword` if one schema can express it.
pub(super) fn collapse(node: &mut Object, keyword: &str, log: &mut RepairLog) {
    let Some(Value::Array(branches)) = node.get_mut(keyword) else { return };
    let before = branches.len();
    if branches.iter().any(|branch| !is_null_only(branch)) {
        branches.retain(|branch| !is_null_only(branch));
    }
    let nullable = branches.len() < before;
    let branches = std::mem::take(branches);
    if nullable {
        nullable_hint(node);
        log.record("replaced a union with `null` by a hint");
    }
    if let Some(constants) = constants(&branches)
        && !["enum", "const"].iter().any(|other| node.contains_key(*other))
        && node.get("type").is_none_or(|kind| *kind == constants.kind)
    {
        node.remove(keyword);
        constants.write(node);
        log.record("replaced a union of constants by an `enum`");
    } else if let [Value::Object(only)] = branches.as_slice()
        && is_mergeable(node, only)
    {
        node.remove(keyword);
        for (inner, value) in only {
            if !node.contains_key(inner) {
                node.insert(inner.clone(), value.clone());
            }
        }
        log.record("replaced a union of one schema by that schema");
    } else {
        node.insert(keyword.to_owned(), Value::Array(branches));
    }
}

/// Marks a schema as nullable in the form that strict APIs accept.
pub(super) fn nullable_hint(node: &mut Object) {
    node.insert("nullable".to_owned(), Value::Bool(true));
    if let Some(Value::Array(values)) = node.get_mut("enum")
        && values.iter().any(|value| !value.is_null())
    {
        values.retain(|value| !value.is_null());
    }
}

fn is_null_only(branch: &Value) -> bool {
    let Value::Object(branch) = branch else { return false };
    let null = match (branch.get("type"), branch.get("const"), branch.get("enum")) {
        (Some(kind), None, None) => kind == "null",
        (kind, Some(Value::Null), None) => kind.is_none_or(|kind| kind == "null"),
        (kind, None, Some(Value::Array(values))) => {
            kind.is_none_or(|kind| kind == "null") && values.iter().all(Value::is_null)
        }
        _ => false,
    };
    null && branch
        .keys()
        .all(|key| matches!(key.as_str(), "type" | "const" | "enum") || is_annotation(key))
}

/// Whether the node can express all constraints of the branch.
fn is_mergeable(node: &Object, branch: &Object) -> bool {
    branch.iter().all(|(keyword, value)| {
        is_annotation(keyword) || node.get(keyword).is_none_or(|other| other == value)
    })
}

struct Constants {
    kind: &'static str,
    values: Vec<Value>,
    meanings: Vec<String>,
}

impl Constants {
    fn write(self, node: &mut Object) {
        node.insert("type".to_owned(), self.kind.into());
        node.insert("enum".to_owned(), Value::Array(self.values));
        if self.meanings.is_empty() {
            return;
        }
        let meanings = self.meanings.join("; ");
        let description = match node.get("description").and_then(Value::as_str) {
            Some(before) => format!("{before} ({meanings})"),
            None => meanings,
        };
        node.insert("description".to_owned(), description.into());
    }
}

fn constants(branches: &[Value]) -> Option<Constants> {
    let mut kind = None;
    let mut seen: HashSet<&Value, RandomState> = HashSet::default();
    let mut values: Vec<Value> = Vec::new();
    let mut meanings = Vec::new();
    for branch in branches {
        let branch = branch.as_object()?;
        let value = branch.get("const")?;
        let own = type_of(value)?;
        let stated = branch.get("type").is_none_or(|stated| stated == own);
        let bare = branch
            .keys()
            .all(|key| matches!(key.as_str(), "const" | "type" | "title" | "description"));
        if !stated || !bare || *kind.get_or_insert(own) != own {
            return None;
        }
        if let Some(meaning) =
            ["description", "title"].iter().find_map(|key| branch.get(*key)?.as_str())
        {
            meanings.push(format!("{}: {meaning}", plain_text(value)));
        }
        if seen.insert(value) {
            values.push(value.clone());
        }
    }
    Some(Constants { kind: kind?, values, meanings })
}

fn type_of(value: &Value) -> Option<&'static str> {
    match value {
        Value::String(_) => Some("string"),
        Value::Bool(_) => Some("boolean"),
        Value::Number(number) if number.is_f64() => Some("number"),
        Value::Number(_) => Some("integer"),
        _ => None,
    }
}
