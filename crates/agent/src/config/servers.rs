//! Edits of `mcp_servers` that preserve comments and all other bytes.
//!
//! An edit is made on the text in memory, then parsed: it is accepted only if exactly the
//! intended values have changed. Otherwise it fails. The crate `yaml-edit` is not used: it
//! detaches an entry without the comments above it, and costs 25 s of a release build.

pub(super) mod block;
pub(super) mod flow;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};
use settings::{Key, Node, Position, Value};
use task_loop::untrusted::printable;

use super::document::{Document, entry, is_empty, is_flow};
use super::{read, write, yaml};
use crate::diagnostic::{Diagnostic, Result};

const SECTION: &str = "mcp_servers";
const ENABLED: &str = "enabled";
const MAX_LISTED: usize = 20;

/// A configuration whose servers can be edited.
#[derive(Debug)]
pub(crate) struct ServersFile {
    path: PathBuf,
    text: String,
    root: Node,
}

impl ServersFile {
    /// Reads the file; a missing one is empty. A broken one is rejected with the position.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let text = read(path)?.unwrap_or_default();
        let mend = |diagnostic: Diagnostic| diagnostic.hint("fix it first; nothing was changed");
        let document = Document::parse(path, text);
        document.check_duplicates().map_err(mend)?;
        let Document { text, root, .. } = document;
        let root = root.map_err(|problem| Diagnostic::configuration(problem.message))?;
        let file = ServersFile { path: path.to_owned(), text, root };
        match file.section() {
            Some((_, node)) if !node.is_null() && !matches!(node.value, Value::Map(_)) => {
                let (path, Position { line, column }) = (path.display(), node.position);
                let message = format!(
                    "{path}:{line}:{column}: `{SECTION}` must be a mapping from names to servers"
                );
                Err(mend(Diagnostic::configuration(message)))
            }
            _ => Ok(file),
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let entries = self.section().map(|(_, node)| node.entries()).unwrap_or_default();
        entries.iter().map(|(key, _)| key.text.as_str())
    }

    /// The names of servers without duplicates; fails if one does not exist.
    pub(crate) fn existing(&self, names: &[String]) -> Result<Vec<String>> {
        let mut known: Vec<String> = Vec::new();
        for name in names {
            if self.server(name).is_none() {
                return Err(self.unknown(name));
            }
            if !known.contains(name) {
                known.push(name.clone());
            }
        }
        Ok(known)
    }

    fn unknown(&self, name: &str) -> Diagnostic {
        let error = Diagnostic::failed(format!("unknown server `{}`", printable(name)));
        let near = settings::nearest(name, self.names());
        let near = near.map(|(_, near)| format!("did you mean `{}`?", printable(near)));
        let all: Vec<String> = self.names().map(printable).collect();
        error.hints(near).hint(match all.as_slice() {
            [] => "no servers are configured; add one with `agent mcp add`".to_owned(),
            all if all.len() > MAX_LISTED => {
                format!("list the {} servers with `agent mcp list`", all.len())
            }
            all => format!("configured servers: {}", all.join(", ")),
        })
    }

    pub(crate) fn entry(&self, name: &str) -> Option<Json> {
        self.server(name).map(|(_, node)| node.to_json())
    }

    /// Adds or replaces a server.
    pub(crate) fn set(&mut self, name: &str, entry: &Json) -> Result {
        let edited = match (self.section(), self.server(name)) {
            (Some(section), Some(_)) => self.edited(&[&self.root], section, name, Some(entry)),
            _ => self.added(name, entry),
        };
        let mut meant = self.servers_json();
        meant.insert(name.to_owned(), entry.clone());
        self.accept(edited, meant)
    }

    /// Removes a server and the comments that clearly belong to it.
    pub(crate) fn remove(&mut self, name: &str) -> Result {
        let edited =
            self.section().and_then(|section| self.edited(&[&self.root], section, name, None));
        let mut meant = self.servers_json();
        meant.remove(name);
        self.accept(edited, meant)
    }

    /// Enables or disables a server; returns whether that changed anything.
    pub(crate) fn set_enabled(&mut self, name: &str, enabled: bool) -> Result<bool> {
        let Some((_, node)) = self.server(name) else { return Ok(false) };
        let now = entry(node, ENABLED).map(|(_, value)| value.to_json()).unwrap_or_default();
        if is_enabled(&now) == enabled {
            return Ok(false);
        }
        self.set_key(name, ENABLED, Some(&enabled.into()))?;
        Ok(true)
    }

    /// Sets a key of a server, such as `timeout` or `tools.include`; no value removes it.
    pub(crate) fn set_key(&mut self, name: &str, key: &str, value: Option<&Json>) -> Result {
        let (outer, inner) = match key.split_once('.') {
            Some((outer, inner)) => (outer, Some(inner)),
            None => (key, None),
        };
        let mut meant = self.servers_json();
        let mut server = meant.remove(name).unwrap_or_default();
        let is_mapping = server.get(outer).is_some_and(Json::is_object);
        let edited = match (inner, value) {
            (Some(inner), value) if is_mapping => {
                set(&mut server[outer], inner, value);
                self.edited_key(name, Some(outer), inner, value)
            }
            (Some(inner), Some(value)) if server.get(outer).is_none_or(Json::is_null) => {
                let mapping = json!({ inner: value });
                set(&mut server, outer, Some(&mapping));
                self.edited_key(name, None, outer, Some(&mapping))
            }
            (Some(_), None) => return Ok(()),
            (Some(_), Some(_)) => {
                let message = format!("`{outer}` of server `{name}` is not a mapping");
                return Err(Diagnostic::configuration(message));
            }
            (None, value) => {
                set(&mut server, outer, value);
                self.edited_key(name, None, outer, value)
            }
        };
        meant.insert(name.to_owned(), server);
        self.accept(edited, meant)
    }

    /// The text with a new value of a server's key, or of one in its mapping `outer`.
    fn edited_key(
        &self,
        name: &str,
        outer: Option<&str>,
        key: &str,
        value: Option<&Json>,
    ) -> Option<String> {
        let mut around = vec![&self.root, self.section()?.1];
        let mut section = self.server(name)?;
        if let Some(outer) = outer {
            around.push(section.1);
            section = entry(section.1, outer)?;
        }
        self.edited(&around, section, key, value)
    }

    pub(crate) fn write(&self) -> Result {
        write(&self.path, &self.text)
    }

    fn section(&self) -> Option<(&Key, &Node)> {
        entry(&self.root, SECTION)
    }

    fn server(&self, name: &str) -> Option<(&Key, &Node)> {
        self.section().and_then(|(_, node)| entry(node, name))
    }

    fn servers_json(&self) -> Map<String, Json> {
        self.section().map(|(_, node)| as_object(node.to_json())).unwrap_or_default()
    }

    fn added(&self, name: &str, entry: &Json) -> Option<String> {
        let section = self.section();
        match section {
            Some((_, node)) if node.span.is_alias => None,
            None if is_flow(&self.root, &self.text) => {
                let mut servers = Map::new();
                servers.insert(name.to_owned(), entry.clone());
                flow::insert(&self.text, &self.root, SECTION, &Json::Object(servers))
            }
            Some((key, node)) if is_empty(node) && !is_flow(&self.root, &self.text) => {
                block::begin(&self.text, &self.root, key, &|indent| {
                    yaml::server(name, entry, indent, block::STEP)
                })
                .or_else(|| flow::insert(&self.text, node, name, entry))
            }
            Some((_, node)) if is_flow(node, &self.text) => {
                flow::insert(&self.text, node, name, entry)
            }
            Some((key, node)) => {
                block::append(&self.text, &[&self.root], (key, node), &|indent, step| {
                    yaml::server(name, entry, indent, step)
                })
            }
            None => Some(block::section(&self.text, &self.root, SECTION, &|indent| {
                yaml::server(name, entry, indent, block::STEP)
            })),
        }
    }

    /// The text with a new value of an entry in a mapping, or without the entry. `around` are the
    /// enclosing mappings of the section.
    fn edited(
        &self,
        around: &[&Node],
        section: (&Key, &Node),
        name: &str,
        value: Option<&Json>,
    ) -> Option<String> {
        let (section_key, node) = section;
        if node.span.is_alias {
            return None;
        }
        let text = &self.text;
        let is_flow = is_flow(node, text);
        // A value from a merge key precedes the entry and is not part of it.
        let own = entry(node, name).filter(|(key, value)| {
            !key.span.is_alias && !value.span.is_alias && key.span.start > section_key.span.start
        });
        let lines = |value: &Json, indent, step| yaml::server(name, value, indent, step);
        match (own, value) {
            (None, None) => Some(text.clone()),
            (Some((key, old)), None) if is_flow => flow::remove(text, node, key, old),
            (Some((key, _)), None) => block::remove(text, around, section, key),
            // The comment after a short value is kept.
            (Some((_, old)), Some(value)) if is_short(value) && is_plain(old) => {
                flow::splice(text, old.span, &value.to_string())
            }
            (Some((_, old)), Some(value)) if is_flow => flow::replace(text, old, value),
            (Some((key, _)), Some(value)) => {
                block::replace(text, around, section, key, &|indent, step| {
                    lines(value, indent, step)
                })
            }
            (None, Some(value)) if is_flow => flow::insert(text, node, name, value),
            (None, Some(value)) => {
                block::first_lines_of(text, section_key, node, &lines(value, 0, block::STEP))
            }
        }
    }

    /// Accepts an edited text if only the intended value has changed.
    fn accept(&mut self, edited: Option<String>, meant: Map<String, Json>) -> Result {
        let cannot = || {
            let message =
                format!("cannot edit {} without damaging the rest of it", self.path.display());
            Diagnostic::configuration(message)
        };
        let text = edited.ok_or_else(cannot)?;
        let root = Node::from_yaml(&text).map_err(|_| cannot())?;
        let mut whole = as_object(self.root.to_json());
        whole.insert(SECTION.to_owned(), Json::Object(meant));
        if without_nothing(as_object(root.to_json())) != without_nothing(whole) {
            return Err(cannot());
        }
        (self.text, self.root) = (text, root);
        Ok(())
    }
}

/// One server as YAML, for manual pasting.
pub(crate) fn shown(name: &str, entry: &Json) -> String {
    yaml::server(name, entry, block::STEP, block::STEP).join("\n")
}

/// The switch, parsed as by the reader of servers.
fn is_enabled(value: &Json) -> bool {
    match value {
        Json::Bool(enabled) => *enabled,
        Json::Number(number) => number.as_f64() != Some(0.0),
        Json::String(word) => settings::switch(word) != Some(false),
        _ => true,
    }
}

fn set(mapping: &mut Json, key: &str, value: Option<&Json>) {
    let Some(entries) = mapping.as_object_mut() else { return };
    match value {
        Some(value) => drop(entries.insert(key.to_owned(), value.clone())),
        None => drop(entries.remove(key)),
    }
}

fn is_short(value: &Json) -> bool {
    !(value.is_array() || value.is_object())
}

/// Whether a value is on one line, in block style.
fn is_plain(node: &Node) -> bool {
    node.span.length > 0 && !matches!(node.value, Value::Map(_) | Value::List(_))
}

fn as_object(value: Json) -> Map<String, Json> {
    match value {
        Json::Object(entries) => entries,
        _ => Map::new(),
    }
}

/// A missing, an empty and a null section are equivalent.
fn without_nothing(mut root: Map<String, Json>) -> Map<String, Json> {
    let is_nothing = root
        .get(SECTION)
        .is_some_and(|section| section.is_null() || section.as_object().is_some_and(Map::is_empty));
    if is_nothing {
        root.remove(SECTION);
    }
    root
}

#[cfg(test)]
mod tests;
