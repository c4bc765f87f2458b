//! `config.yaml` as one document, from which every part of the program reads its section.

use std::fmt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use settings::{
    Field, Key, Node, Position, Problem, Reader, Schema, Scope, Strictness, Value, in_order,
    not_yaml,
};

use crate::diagnostic::{Diagnostic, Result};

/// A struct declared with [`settings::section!`].
pub(crate) trait Section: DeserializeOwned + JsonSchema + Default {}

impl<T: DeserializeOwned + JsonSchema + Default> Section for T {}

/// A parsed file; a missing one is empty.
pub(crate) struct Document {
    path: PathBuf,
    pub(crate) text: String,
    pub(crate) root: Result<Node, Problem>,
}

// The text may hold secrets.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Document {
    pub(crate) fn parse(path: &Path, text: String) -> Self {
        let root = Node::from_yaml(&text);
        Self { path: path.to_owned(), text, root }
    }

    pub(crate) fn root(&self) -> Result<&Node> {
        let root = self.root.as_ref().map_err(|problem| {
            self.not_understood(problem, not_yaml(problem).unwrap_or(&problem.message))
        })?;
        if root.is_null() || matches!(root.value, Value::Map(_)) {
            return Ok(root);
        }
        let message = format!("the file must be a mapping, found {}", root.kind());
        Err(self.not_understood(&Problem::error(root.position, ""), &message))
    }

    /// Reads the value of a root key, or the default. References to variables are not resolved.
    pub(crate) fn section<T: Section>(&self, name: &str) -> Result<T> {
        match self.root()?.get(name).filter(|node| !node.is_null()) {
            Some(node) => self.read(name, node),
            None => Ok(T::default()),
        }
    }

    /// Reads keys of the root itself; all others belong to other parts.
    pub(crate) fn root_keys<T: Section>(&self) -> Result<T> {
        let schema = Schema::of::<T>();
        let known = self.root()?.entries().iter().filter(|(key, _)| schema.has_key("", &key.text));
        self.read("", &Value::Map(known.cloned().collect()).into())
    }

    fn read<T: Section>(&self, name: &str, node: &Node) -> Result<T> {
        let (schema, scope) = (Schema::of::<T>(), Scope::default());
        let mut reader = Reader::new(&scope, None, Strictness::Strict);
        (reader.enabled, reader.schema) = (false, Some(&schema));
        let value = reader.read(&schema, &Field { key: name.to_owned(), ..Field::of(node) });
        let mut errors = in_order(reader.finish().0).into_iter().filter(Problem::is_error);
        let Some(first) = errors.next() else { return Ok(value.unwrap_or_default()) };
        let others = errors.map(|error| format!("also {}:{error}", self.path.display()));
        Err(self.refused(&first).causes(others))
    }

    pub(crate) fn line(&self, position: Position) -> String {
        format!("{}:{}", self.path.display(), position.line)
    }

    /// The first duplicate key, at any depth.
    pub(super) fn check_duplicates(&self) -> Result {
        let Some(key) = duplicate(self.root()?) else { return Ok(()) };
        let why = format!("duplicate key `{}`", task_loop::untrusted::printable(&key.text));
        Err(self.not_understood(&Problem::error(key.position, ""), &why))
    }

    fn not_understood(&self, problem: &Problem, why: &str) -> Diagnostic {
        let (path, Problem { line, column, .. }) = (self.path.display(), problem);
        Diagnostic::configuration(format!("invalid configuration at {path}:{line}:{column}"))
            .cause(why.to_owned())
    }

    fn refused(&self, problem: &Problem) -> Diagnostic {
        let key = problem.key.as_deref().unwrap_or_default();
        let diagnostic = if problem.message == "is not a known key" {
            let field = key.rsplit('.').next().unwrap_or_default();
            self.not_understood(problem, &format!("unknown key `{field}`"))
        } else {
            let (path, line, message) = (self.path.display(), problem.line, &problem.message);
            let subject = if message.starts_with('`') { "" } else { &format!("`{key}` ") };
            Diagnostic::configuration(format!("{path}:{line}: {subject}{message}"))
        };
        diagnostic.hints(problem.hint.clone())
    }
}

fn duplicate(node: &Node) -> Option<&Key> {
    if let Value::List(items) = &node.value {
        return items.iter().find_map(duplicate);
    }
    let entries = node.entries();
    let twice = settings::duplicates(entries).first().map(|(_, second)| *second);
    twice.or_else(|| entries.iter().find_map(|(_, node)| duplicate(node)))
}

/// The first value under a key, and the key.
pub(super) fn entry<'n>(node: &'n Node, name: &str) -> Option<(&'n Key, &'n Node)> {
    node.entries().iter().find(|(key, _)| key.text == name).map(|(key, node)| (key, node))
}

pub(super) fn is_empty(node: &Node) -> bool {
    node.is_null() || matches!(&node.value, Value::Map(entries) if entries.is_empty())
}

/// Whether a node is in flow style.
pub(super) fn is_flow(node: &Node, text: &str) -> bool {
    text.get(node.span.start..).is_some_and(|rest| rest.starts_with('{'))
}
