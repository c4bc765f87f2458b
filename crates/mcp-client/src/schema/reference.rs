//! References inside a schema, after their targets may have moved.

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::walk::{self, KeywordValue, keyword_value};
use super::{Object, RepairLog};

const KEYWORDS: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Updates references to moved targets and removes those without a target.
pub(super) fn resolve_references(schema: &mut Object, log: &mut RepairLog) {
    let mut wanted: Vec<String> = Vec::new();
    let mut anchors: Vec<String> = Vec::new();
    walk::visit_all(schema, &mut |node| {
        for keyword in KEYWORDS {
            if let Some(Value::String(target)) = node.get(keyword)
                && target != "#"
            {
                wanted.push(target.clone());
            }
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(Value::String(name)) = node.get(keyword) {
                anchors.push(format!("#{name}"));
            }
        }
    });
    wanted.sort_unstable();
    wanted.dedup();
    anchors.sort_unstable();
    wanted
        .retain(|target| !is_resolvable(schema, target) && anchors.binary_search(target).is_err());
    if wanted.is_empty() {
        return;
    }
    let moved: Vec<Option<String>> = wanted
        .iter()
        .map(|target| Some(with_defs(target)).filter(|renamed| is_resolvable(schema, renamed)))
        .collect();
    walk::visit_all(schema, &mut |node| {
        for keyword in KEYWORDS {
            let Some(Value::String(target)) = node.get_mut(keyword) else { continue };
            let Ok(at) = wanted.binary_search(target) else { continue };
            if let Some(with_defs) = &moved[at] {
                target.clone_from(with_defs);
                log.record("renamed `definitions` to `$defs`");
            } else {
                node.remove(keyword);
                log.record("removed an unresolvable reference");
            }
        }
    });
}

pub(super) fn target<'a>(schema: &'a Object, pointer: &str) -> Option<&'a Value> {
    let mut tokens = pointer.strip_prefix("#/")?.split('/').map(unescaped);
    let first = schema.get(&tokens.next()?)?;
    tokens.try_fold(first, |at, token| match at {
        Value::Object(object) => object.get(&token),
        Value::Array(list) => list.get(token.parse::<usize>().ok()?),
        _ => None,
    })
}

fn is_resolvable(schema: &Object, pointer: &str) -> bool {
    target(schema, pointer).is_some_and(|found| found.is_object() || found.is_boolean())
}

fn unescaped(token: &str) -> String {
    percent_decode_str(token).decode_utf8_lossy().replace("~1", "/").replace("~0", "~")
}

/// The pointer with `$defs` for the keyword `definitions`, but not for a property of that name.
fn with_defs(pointer: &str) -> String {
    let mut inside = KeywordValue::Schema;
    let tokens: Vec<&str> = pointer
        .split('/')
        .enumerate()
        .map(|(at, token)| {
            if at == 0 || inside != KeywordValue::Schema {
                inside = KeywordValue::Schema;
                return token;
            }
            inside = keyword_value(token);
            if token == "definitions" { "$defs" } else { token }
        })
        .collect();
    tokens.join("/")
}

#[cfg(test)]
mod tests;
