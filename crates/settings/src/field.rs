//! A value with the name and position for its problems.

use std::collections::BTreeMap;

use crate::node::{Key, Node};
use crate::problem::{Position, Problem};

/// One value of a file.
#[derive(Debug, Clone)]
pub struct Field<'n> {
    /// Its dotted key, including the outer sections.
    pub key: String,
    /// Its position; without a value, that of its key.
    pub position: Position,
    /// Position for problems of a whole mapping: its name, if it has one.
    pub owner: Position,
    /// Number of an item in its list, from 1, if problems are reported for the list.
    pub entry: usize,
    pub node: &'n Node,
}

impl<'n> Field<'n> {
    /// A value without a key, such as the whole file.
    pub fn of(node: &'n Node) -> Self {
        let position = node.position;
        Self { key: String::new(), position, owner: position, entry: 0, node }
    }

    /// The value under a key of the mapping `section`.
    pub fn within(section: &str, key: &Key, node: &'n Node) -> Self {
        let has_own = node.position != Position::default() && !node.is_null();
        let position = if has_own { node.position } else { key.position };
        Self { key: dotted(section, &key.text), position, owner: position, entry: 0, node }
    }

    #[must_use]
    pub fn item(&self, index: usize, node: &'n Node) -> Self {
        Self { key: format!("{}[{index}]", self.key), ..Field::of(node) }
    }
}

/// Pairs of duplicate keys in one mapping: the first, and each later one.
pub fn duplicates(entries: &[(Key, Node)]) -> Vec<(&Key, &Key)> {
    let mut seen: BTreeMap<&str, &Key> = BTreeMap::new();
    let mut pairs = Vec::new();
    for (key, _) in entries {
        match seen.get(key.text.as_str()) {
            Some(first) => pairs.push((*first, key)),
            None => {
                seen.insert(&key.text, key);
            }
        }
    }
    pairs
}

pub fn given_twice(first: &Key, second: &Key) -> Problem {
    let (name, one, other) = (&second.text, first.position.line, second.position.line);
    let message = format!("`{name}` is set twice, in lines {one} and {other}");
    Problem::error(second.position, message).hint("remove one of them")
}

pub(crate) fn dotted(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}
