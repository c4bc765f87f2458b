//! Questions about the tree of a configuration that is edited as text.

use settings::{Key, Node, Value};

/// The value under a key, and the key; of a key that is given twice, the first one.
pub(super) fn entry<'n>(node: &'n Node, name: &str) -> Option<(&'n Key, &'n Node)> {
    node.entries().iter().find(|(key, _)| key.text == name).map(|(key, node)| (key, node))
}

/// Whether there is no value, or a mapping without entries.
pub(super) fn is_empty(node: &Node) -> bool {
    node.is_null() || matches!(&node.value, Value::Map(entries) if entries.is_empty())
}

/// Whether it is written between braces.
pub(super) fn is_flow(node: &Node, text: &str) -> bool {
    text.get(node.span.start..).is_some_and(|rest| rest.starts_with('{'))
}
