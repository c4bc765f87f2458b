//! What reaches models: tool filters, shell-style globs and the policy built on them, and the
//! instructions of a server.
//!
//! A glob follows `fnmatch`: `*`, `?`, `[seq]` and `[!seq]`, case-sensitive. Braces and an unclosed
//! `[` are literals.

use crate::config::{ApprovalMode, ServerEntry, ToolPolicy, Trust};
use crate::content::injection_warnings;

impl ToolPolicy {
    /// Whether the tool is registered. If `include` is set it alone counts; an empty one admits
    /// nothing.
    pub fn admits(&self, native_name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|one| glob_matches(one, native_name));
        if let Some(include) = &self.include { any(include) } else { !any(&self.exclude) }
    }

    /// Whether calls of this tool need approval; `None` leaves that to the trust in the server.
    pub fn approval_of(&self, native_name: &str) -> Option<ApprovalMode> {
        let strictest = || {
            let fitting = self.approval.iter().filter(|(one, _)| glob_matches(one, native_name));
            fitting.map(|(_, mode)| *mode).max()
        };
        let named = self.approval.iter().find(|(one, _)| one == native_name);
        named.map(|(_, mode)| *mode).or_else(strictest)
    }
}

impl ServerEntry {
    /// Why models do not get these instructions, if they do not. The server controls the text and
    /// can change it with every connection. `instructions` of the entry decides; by default, those
    /// of an untrusted server and those that resemble an injection are rejected.
    pub fn rejects_instructions(&self, text: &str) -> Option<&'static str> {
        match self.instructions {
            Some(true) => None,
            Some(false) => Some("`instructions` is off"),
            None if self.trust == Trust::Untrusted => Some("the server is untrusted"),
            None => injection_warnings(text).first().copied(),
        }
    }
}

/// Whether `name` equals `pattern` or matches it as a glob.
///
/// Only the last `*` is backtracked, so the time is bounded by the product of both lengths.
pub fn glob_matches(pattern: &str, name: &str) -> bool {
    if pattern == name {
        return true;
    }
    let (mut wanted, mut left) = (pattern, name);
    let mut star: Option<(&str, &str)> = None;
    loop {
        if let Some(after) = wanted.strip_prefix('*') {
            star = Some((after, left));
            wanted = after;
            continue;
        }
        let mut rest = left.chars();
        match (rest.next(), next_token(wanted)) {
            (None, None) => return true,
            (Some(found), Some((one, after))) if one.accepts(found) => {
                (wanted, left) = (after, rest.as_str());
            }
            _ => {
                // Backtrack: the last star consumes one more character.
                let Some((after, taken_from)) = star else { return false };
                let mut shorter = taken_from.chars();
                if shorter.next().is_none() {
                    return false;
                }
                (wanted, left) = (after, shorter.as_str());
                star = Some((after, left));
            }
        }
    }
}

enum GlobToken<'a> {
    Any,
    Literal(char),
    Set { inside: &'a str, negated: bool },
}

impl GlobToken<'_> {
    fn accepts(&self, found: char) -> bool {
        match *self {
            Self::Any => true,
            Self::Literal(wanted) => wanted == found,
            Self::Set { inside, negated } => set_contains(inside, found) != negated,
        }
    }
}

/// The first token of a pattern that does not begin with `*`, and the rest.
fn next_token(pattern: &str) -> Option<(GlobToken<'_>, &str)> {
    let mut chars = pattern.chars();
    let one = match chars.next()? {
        '?' => GlobToken::Any,
        '[' => {
            if let Some((parse_set, after)) = parse_set(chars.as_str()) {
                return Some((parse_set, after));
            }
            GlobToken::Literal('[')
        }
        literal => GlobToken::Literal(literal),
    };
    Some((one, chars.as_str()))
}

/// Parses a set after its opening bracket; `None` if it is not closed.
fn parse_set(text: &str) -> Option<(GlobToken<'_>, &str)> {
    let (negated, body) = match text.strip_prefix('!') {
        Some(body) => (true, body),
        None => (false, text),
    };
    // A leading bracket is a member.
    let from = usize::from(body.starts_with(']'));
    let end = from + body[from..].find(']')?;
    Some((GlobToken::Set { inside: &body[..end], negated }, &body[end + 1..]))
}

fn set_contains(inside: &str, found: char) -> bool {
    let mut rest = inside;
    loop {
        let mut chars = rest.chars();
        let Some(low) = chars.next() else { return false };
        let after_one = chars.as_str();
        if chars.next() == Some('-')
            && let Some(high) = chars.next()
        {
            if (low..=high).contains(&found) {
                return true;
            }
            rest = chars.as_str();
        } else {
            if low == found {
                return true;
            }
            rest = after_one;
        }
    }
}

#[cfg(test)]
mod tests;
