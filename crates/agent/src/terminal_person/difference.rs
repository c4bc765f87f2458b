//! The lines that differ between two texts.

use similar::{ChangeTag, TextDiff};

/// The most lines of either text that are compared.
const MAX_LINES: usize = 500;

/// The lines that went and came, each with its sign; lines that stay are left out.
pub(super) fn difference(before: &str, after: &str) -> String {
    let before: Vec<&str> = before.lines().take(MAX_LINES).collect();
    let after: Vec<&str> = after.lines().take(MAX_LINES).collect();
    let changes = TextDiff::from_slices(&before, &after);
    let lines = changes.iter_all_changes().filter_map(|change| match change.tag() {
        ChangeTag::Equal => None,
        ChangeTag::Delete => Some(format!("- {}", change.value())),
        ChangeTag::Insert => Some(format!("+ {}", change.value())),
    });
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests;
