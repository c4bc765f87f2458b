//! Edits of `config.yaml` that preserve comments and all other bytes.
//!
//! An edit is made on the text in memory, then parsed: it is accepted only if exactly the
//! intended value has changed. The crate `yaml-edit` is not used: it detaches an entry without
//! the comments above it, and costs 25 s of a release build.

mod block;
mod flow;

use serde_json::{Map, Value as Json, json};
use settings::{Node, Value};

use self::block::Section;
use super::document::{entry, is_empty, is_flow};
use super::yaml;

pub(super) use block::STEP;

/// The key of the servers. A new one is added after the others; settings are added before others.
pub(super) const SERVERS: &str = "mcp_servers";

/// The text with a new value at a path of keys, or without the last key, and its tree. `None` if
/// that is not safely possible.
pub(super) fn changed(
    text: &str,
    root: &Node,
    path: &[&str],
    value: Option<&Json>,
) -> Option<(String, Node)> {
    let text = edited(text, root, path, value)?;
    let after = Node::from_yaml(&text).ok()?;
    let mut meant = root.to_json();
    set(&mut meant, path, value);
    let section = path.first()?;
    (without_nothing(after.to_json(), section) == without_nothing(meant, section))
        .then_some((text, after))
}

/// Sets or removes the value at a path of keys.
fn set(mapping: &mut Json, path: &[&str], value: Option<&Json>) {
    let Some((name, below)) = path.split_first() else { return };
    if mapping.is_null() && value.is_some() {
        *mapping = json!({});
    }
    let Some(entries) = mapping.as_object_mut() else { return };
    match (below, value) {
        ([], Some(value)) => drop(entries.insert((*name).to_owned(), value.clone())),
        ([], None) => drop(entries.remove(*name)),
        (_, Some(_)) => set(entries.entry(*name).or_insert(Json::Null), below, value),
        (_, None) => entries.get_mut(*name).into_iter().for_each(|it| set(it, below, None)),
    }
}

/// A missing, an empty and a null section are equivalent.
pub(super) fn without_nothing(root: Json, section: &str) -> Map<String, Json> {
    let Json::Object(mut root) = root else { return Map::new() };
    let is_nothing = |it: &Json| it.is_null() || it.as_object().is_some_and(Map::is_empty);
    if root.get(section).is_some_and(is_nothing) {
        root.remove(section);
    }
    root
}

fn edited(text: &str, root: &Node, path: &[&str], value: Option<&Json>) -> Option<String> {
    // The innermost mapping of the path that exists, its key, and those around it.
    let (mut map, mut header, mut around) = (root, None, Vec::new());
    let (mut name, mut below) = path.split_first()?;
    while let Some((next, rest)) = below.split_first()
        && let Some((key, node)) = entry(map, name)
        && (!is_empty(node) || (is_flow(map, text) && is_flow(node, text)))
    {
        if node.span.is_alias {
            return None;
        }
        around.push(map);
        (map, header, name, below) = (node, Some(key), next, rest);
    }
    let is_flow = is_flow(map, text);
    // A value from a merge key precedes the entry and is not part of it.
    let own = entry(map, name).filter(|(key, value)| {
        let is_inside = header.is_none_or(|header| key.span.start > header.span.start);
        is_inside && !key.span.is_alias && !value.span.is_alias
    });
    let Some(value) = value else {
        return match own.filter(|_| below.is_empty()) {
            None => Some(text.to_owned()),
            Some((key, old)) if is_flow => flow::remove(text, map, key, old),
            Some((key, _)) => Section::of(text, &around, (header?, map))?.remove(key),
        };
    };
    let whole = below.iter().rev().fold(value.clone(), |inner, name| json!({ *name: inner }));
    let lines = |indent, step| yaml::server(name, &whole, indent, step);
    match (own, below.first()) {
        (Some((key, old)), Some(next)) if !is_flow => {
            block::begin(text, key, &|indent, step| lines(indent, step).split_off(1))
                .or_else(|| flow::insert(text, old, next, &whole[next]))
        }
        // The comment after a short value is kept.
        (Some((_, old)), _) if is_short(&whole) && is_plain(old) => {
            let word = whole.as_str().filter(|word| !is_flow && reads_as_itself(word));
            let word = word.map_or_else(|| whole.to_string(), str::to_owned);
            flow::splice(text, old.span, &word)
        }
        (Some((_, old)), _) if is_flow => flow::replace(text, old, &whole),
        (Some((key, _)), _) => Section::of(text, &around, (header?, map))?.replace(key, &lines),
        (None, _) if is_flow => flow::insert(text, map, name, &whole),
        (None, _) => match header {
            None => Some(block::section(text, root, &lines)),
            Some(key) if path.len() == 2 && path[0] == SERVERS => {
                Section::of(text, &around, (key, map))?.append(&lines)
            }
            Some(key) => block::first_lines_of(text, key, map, &lines(0, STEP)),
        },
    }
}

/// Whether a text needs no quotes.
fn reads_as_itself(text: &str) -> bool {
    let read = Node::from_yaml(text);
    read.is_ok_and(|node| matches!(node.value, Value::String(read) if read == text))
}

fn is_short(value: &Json) -> bool {
    !(value.is_array() || value.is_object())
}

/// Whether a value is on one line, in block style.
fn is_plain(node: &Node) -> bool {
    node.span.length > 0 && !matches!(node.value, Value::Map(_) | Value::List(_))
}
