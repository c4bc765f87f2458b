//! The servers of `config.yaml`.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use settings::{Key, Node, Position, Value};
use task_loop::untrusted::printable;

use super::document::{Document, entry};
use super::edit::{self, SERVERS, STEP};
use super::{read, write, yaml};
use crate::diagnostic::{Diagnostic, Result};

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
                    "{path}:{line}:{column}: `{SERVERS}` must be a mapping from names to servers"
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
        self.change(&[SERVERS, name], Some(entry))
    }

    /// Removes a server and the comments that clearly belong to it.
    pub(crate) fn remove(&mut self, name: &str) -> Result {
        self.change(&[SERVERS, name], None)
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
        let Some((outer, inner)) = key.split_once('.') else {
            return self.change(&[SERVERS, name, key], value);
        };
        let section = self.server(name).and_then(|(_, node)| entry(node, outer));
        let is_other = |node: &Node| !node.is_null() && !matches!(node.value, Value::Map(_));
        if value.is_some() && section.is_some_and(|(_, node)| is_other(node)) {
            let message = format!("`{outer}` of server `{name}` is not a mapping");
            return Err(Diagnostic::configuration(message));
        }
        self.change(&[SERVERS, name, outer, inner], value)
    }

    pub(crate) fn write(&self) -> Result {
        write(&self.path, &self.text)
    }

    fn section(&self) -> Option<(&Key, &Node)> {
        entry(&self.root, SERVERS)
    }

    fn server(&self, name: &str) -> Option<(&Key, &Node)> {
        self.section().and_then(|(_, node)| entry(node, name))
    }

    /// Sets or removes the value at a path of keys.
    fn change(&mut self, path: &[&str], value: Option<&Json>) -> Result {
        let changed = edit::changed(&self.text, &self.root, path, value);
        (self.text, self.root) = changed.ok_or_else(|| {
            let path = self.path.display();
            let message = format!("cannot edit {path} without damaging the rest of it");
            Diagnostic::configuration(message)
        })?;
        Ok(())
    }
}

/// One server as YAML, for manual pasting.
pub(crate) fn shown(name: &str, entry: &Json) -> String {
    yaml::server(name, entry, STEP, STEP).join("\n")
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

#[cfg(test)]
mod tests;
