//! Edits of `mcp_servers` that keep every comment and every byte they do not mean.
//!
//! An edit is made on the text in memory, then read again: it counts only if exactly what was
//! meant has changed. An edit that is not possible in this way fails. The crate `yaml-edit` is not
//! used: it detaches an entry without the comments above it, and costs 25 s of a release build.

pub(super) mod block;
pub(super) mod flow;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};
use settings::{Key, Node, Position, Value};

use super::document::{Document, entry, is_empty, is_flow};
use super::{read, write, yaml};
use crate::diagnostic::Diagnostic;

const SECTION: &str = "mcp_servers";
const ENABLED: &str = "enabled";

/// A configuration whose servers can be edited.
#[derive(Debug)]
pub(crate) struct ServersFile {
    path: PathBuf,
    text: String,
    root: Node,
}

impl ServersFile {
    /// Reads the file; a missing one is empty. A broken one is refused, with the place.
    pub(crate) fn load(path: &Path) -> Result<Self, Diagnostic> {
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

    pub(crate) fn entry(&self, name: &str) -> Option<Json> {
        self.server(name).map(|(_, node)| node.to_json())
    }

    /// Adds a server, or puts another in its place.
    pub(crate) fn set(&mut self, name: &str, entry: &Json) -> Result<(), Diagnostic> {
        let edited = match self.server(name) {
            Some((key, node)) => self.replaced(key, node, name, entry),
            None => self.added(name, entry),
        };
        let mut meant = self.servers_json();
        meant.insert(name.to_owned(), entry.clone());
        self.accept(edited, meant)
    }

    /// Removes a server and the comments that clearly belong to it.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), Diagnostic> {
        let edited = self.server(name).and_then(|(key, node)| self.removed(key, node));
        let mut meant = self.servers_json();
        meant.remove(name);
        self.accept(edited, meant)
    }

    /// Switches a server; whether it was not so already.
    pub(crate) fn set_enabled(&mut self, name: &str, enabled: bool) -> Result<bool, Diagnostic> {
        let Some((key, node)) = self.server(name) else { return Ok(false) };
        let now = entry(node, ENABLED).map(|(_, value)| value.to_json()).unwrap_or_default();
        if is_enabled(&now) == enabled {
            return Ok(false);
        }
        let edited = self.switched(key, node, enabled);
        let mut meant = self.servers_json();
        if let Some(entry) = meant.get_mut(name).and_then(Json::as_object_mut) {
            entry.insert(ENABLED.to_owned(), enabled.into());
        }
        self.accept(edited, meant)?;
        Ok(true)
    }

    pub(crate) fn write(&self) -> Result<(), Diagnostic> {
        write(&self.path, &self.text)
    }

    fn section(&self) -> Option<(&Key, &Node)> {
        entry(&self.root, SECTION)
    }

    fn server(&self, name: &str) -> Option<(&Key, &Node)> {
        self.section().and_then(|(_, node)| entry(node, name))
    }

    fn servers_json(&self) -> Map<String, Json> {
        match self.section().map(|(_, node)| node.to_json()) {
            Some(Json::Object(servers)) => servers,
            _ => Map::new(),
        }
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
                block::append(&self.text, &self.root, (key, node), &|indent, step| {
                    yaml::server(name, entry, indent, step)
                })
            }
            None => Some(block::section(&self.text, &self.root, SECTION, &|indent| {
                yaml::server(name, entry, indent, block::STEP)
            })),
        }
    }

    fn replaced(&self, key: &Key, node: &Node, name: &str, entry: &Json) -> Option<String> {
        let (section_key, section) = self.section()?;
        if section.span.is_alias {
            return None;
        }
        if is_flow(section, &self.text) {
            return flow::replace(&self.text, node, entry);
        }
        block::replace(&self.text, &self.root, (section_key, section), key, &|indent, step| {
            yaml::server(name, entry, indent, step)
        })
    }

    fn removed(&self, key: &Key, node: &Node) -> Option<String> {
        let (section_key, section) = self.section()?;
        if section.span.is_alias || key.span.is_alias {
            return None;
        }
        if is_flow(section, &self.text) {
            return flow::remove(&self.text, section, key, node);
        }
        block::remove(&self.text, &self.root, (section_key, section), key)
    }

    fn switched(&self, key: &Key, node: &Node, enabled: bool) -> Option<String> {
        if node.span.is_alias {
            return None;
        }
        // A value from a merge key precedes the entry and does not belong to it.
        let own = entry(node, ENABLED).filter(|(_, value)| {
            !value.span.is_alias && value.span.start > key.span.start && value.span.length > 0
        });
        if let Some((_, value)) = own {
            return flow::splice(&self.text, value.span, &enabled.to_string());
        }
        if is_flow(node, &self.text) {
            return flow::insert(&self.text, node, ENABLED, &enabled.into());
        }
        block::first_line_of(&self.text, key, node, &format!("{ENABLED}: {enabled}"))
    }

    /// Takes an edited text if it says what was meant and nothing else.
    fn accept(
        &mut self,
        edited: Option<String>,
        meant: Map<String, Json>,
    ) -> Result<(), Diagnostic> {
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

/// One server as it would be written, to be pasted by hand.
pub(crate) fn shown(name: &str, entry: &Json) -> String {
    yaml::server(name, entry, block::STEP, block::STEP).join("\n")
}

/// As the reader of servers understands the switch.
fn is_enabled(value: &Json) -> bool {
    match value {
        Json::Bool(enabled) => *enabled,
        Json::Number(number) => number.as_f64() != Some(0.0),
        Json::String(word) => {
            !["false", "0", "no", "off"].contains(&word.trim().to_ascii_lowercase().as_str())
        }
        _ => true,
    }
}

fn as_object(value: Json) -> Map<String, Json> {
    match value {
        Json::Object(entries) => entries,
        _ => Map::new(),
    }
}

/// No section, an empty one and one of nothing say the same.
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
