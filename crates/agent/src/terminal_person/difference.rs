//! What differs between two texts, line by line.

use std::fmt::Write as _;

/// The most lines of either text that are compared.
const MAX_LINES: usize = 500;

/// The lines that went and came, each with its sign; lines that stay are left out.
pub(super) fn difference(before: &str, after: &str) -> String {
    let before: Vec<&str> = before.lines().take(MAX_LINES).collect();
    let after: Vec<&str> = after.lines().take(MAX_LINES).collect();
    let common = common(&before, &after);
    let mut text = String::new();
    let (mut old, mut new) = (0, 0);
    let ends = std::iter::once((before.len(), after.len()));
    for (next_old, next_new) in common.into_iter().chain(ends) {
        for line in &before[old..next_old] {
            let _ = writeln!(text, "- {line}");
        }
        for line in &after[new..next_new] {
            let _ = writeln!(text, "+ {line}");
        }
        (old, new) = (next_old + 1, next_new + 1);
    }
    text.trim_end().to_owned()
}

/// The places of the longest common sequence of lines.
fn common(before: &[&str], after: &[&str]) -> Vec<(usize, usize)> {
    let width = after.len() + 1;
    let mut best = vec![0_u16; (before.len() + 1) * width];
    for old in (0..before.len()).rev() {
        for new in (0..after.len()).rev() {
            best[old * width + new] = if before[old] == after[new] {
                best[(old + 1) * width + new + 1] + 1
            } else {
                best[(old + 1) * width + new].max(best[old * width + new + 1])
            };
        }
    }
    let (mut old, mut new, mut places) = (0, 0, Vec::new());
    while old < before.len() && new < after.len() {
        if before[old] == after[new] {
            places.push((old, new));
            (old, new) = (old + 1, new + 1);
        } else if best[(old + 1) * width + new] >= best[old * width + new + 1] {
            old += 1;
        } else {
            new += 1;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_shown() {
        let got = difference("a\nb\nc\nd", "a\nx\nc\nd\ne");
        assert_eq!(got, "- b\n+ x\n+ e");
        assert_eq!(difference("same", "same"), "");
        assert_eq!(difference("", "new"), "+ new");
    }
}
