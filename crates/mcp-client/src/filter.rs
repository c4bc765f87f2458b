//! Tool filters: shell-style globs, and the policy built on them.
//!
//! A glob follows `fnmatch`: `*`, `?`, `[seq]` and `[!seq]`, case-sensitive. Braces and an unclosed
//! `[` are literals.

use crate::config::ToolPolicy;

impl ToolPolicy {
    /// Whether the tool is registered. If `include` is set it alone counts; an empty one admits
    /// nothing.
    pub fn admits(&self, native_name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|one| glob_matches(one, native_name));
        match &self.include {
            Some(include) => any(include),
            None => !any(&self.exclude),
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

/// Whether the members and `a-z` ranges of a set contain the character.
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn globs_match_as_fnmatch_does() {
        for (pattern, name, expected) in [
            ("list_items", "list_items", true),
            ("list_items", "list_item", false),
            ("List", "list", false),
            ("*", "", true),
            ("*", "anything.at-all", true),
            ("get_*", "get_", true),
            ("get_*", "forget_it", false),
            ("*_get", "a_get_get", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("?", "", false),
            ("?", "é", true),
            ("g?t", "get", true),
            ("[abc]x", "bx", true),
            ("[abc]x", "dx", false),
            ("[!abc]x", "dx", true),
            ("[!abc]x", "ax", false),
            ("[a-c]", "b", true),
            ("[a-c-e]", "-", true),
            ("[a-c-e]", "d", false),
            ("[c-a]", "b", false),
            ("[!c-a]", "b", true),
            ("[a-]", "-", true),
            ("[-a]", "-", true),
            ("[]]", "]", true),
            ("[]a]", "a", true),
            ("[!]]", "]", false),
            ("[!]]", "x", true),
            ("[^a]", "^", true),
            ("[^a]", "b", false),
            ("a[", "a[", true),
            ("[a", "[a", true),
            ("[a*", "[abc", true),
            ("[!]", "[!]", true),
            ("{a,b}", "a", false),
            ("{a,b}", "{a,b}", true),
            ("v[1]", "v[1]", true),
            ("v[1]", "v1", true),
            ("a\\*", "a*", false),
        ] {
            assert_eq!(glob_matches(pattern, name), expected, "{pattern} against {name}");
        }
    }

    #[test]
    fn many_stars_stay_fast() {
        let pattern = "*a".repeat(2_000) + "b";
        let name = "a".repeat(5_000);
        let started = std::time::Instant::now();
        assert!(!glob_matches(&pattern, &name));
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }

    fn policy(include: Option<&[&str]>, exclude: &[&str]) -> ToolPolicy {
        let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        ToolPolicy { include: include.map(owned), exclude: owned(exclude), ..ToolPolicy::default() }
    }

    #[test]
    fn each_rule_of_the_policy_holds() {
        let all: &[&str] = &["get-item", "get.list", "delete_item"];
        for (include, exclude, expected) in [
            (None, &[][..], all),
            (Some(&["get-*"][..]), &[][..], &["get-item"][..]),
            (None, &["delete_*"][..], &["get-item", "get.list"][..]),
            (Some(&["delete_item"][..]), &["delete_item"][..], &["delete_item"][..]),
            (Some(&[][..]), &[][..], &[][..]),
            (Some(&["get_list"][..]), &[][..], &[][..]),
            (Some(&["get.list"][..]), &[][..], &["get.list"][..]),
        ] {
            let policy = policy(include, exclude);
            let admitted: Vec<&str> =
                all.iter().copied().filter(|name| policy.admits(name)).collect();
            assert_eq!(admitted, expected, "{include:?} {exclude:?}");
        }
    }

    /// The same rules as a naive recursion.
    fn reference(pattern: &[char], name: &[char]) -> bool {
        let Some((&first, after)) = pattern.split_first() else { return name.is_empty() };
        if first == '*' {
            return (0..=name.len()).any(|taken| reference(after, &name[taken..]));
        }
        let Some((&found, left)) = name.split_first() else { return false };
        if first == '[' {
            let negated = after.first() == Some(&'!');
            let body = &after[usize::from(negated)..];
            let end =
                (usize::from(body.first() == Some(&']'))..body.len()).find(|&at| body[at] == ']');
            if let Some(end) = end {
                let mut at = 0;
                let mut held = false;
                while at < end {
                    let range = at + 2 < end && body[at + 1] == '-';
                    let high = if range { body[at + 2] } else { body[at] };
                    held |= body[at] <= found && found <= high;
                    at += if range { 3 } else { 1 };
                }
                return held != negated && reference(&body[end + 1..], left);
            }
        }
        (first == '?' || first == found) && reference(after, left)
    }

    proptest! {
        #[test]
        fn globs_equal_the_naive_reference(pattern in r"[\[\]!*?a-d-]{0,8}", name in r"[\[\]!a-d-]{0,7}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            let expected = pattern == name || reference(&chars(&pattern), &chars(&name));
            prop_assert_eq!(glob_matches(&pattern, &name), expected);
        }

        #[test]
        fn include_wins_over_exclude(
            include in proptest::collection::vec("[ab*?]{0,3}", 0..3),
            exclude in proptest::collection::vec("[ab*?]{0,3}", 0..3),
            name in "[ab]{0,4}",
        ) {
            let alone = ToolPolicy {
                include: Some(include), exclude: Vec::new(), ..ToolPolicy::default()
            };
            let both = ToolPolicy { exclude, ..alone.clone() };
            prop_assert_eq!(alone.admits(&name), both.admits(&name));
        }

        #[test]
        fn filtering_twice_is_filtering_once(
            include in proptest::option::of(proptest::collection::vec("[ab*?]{0,3}", 0..3)),
            exclude in proptest::collection::vec("[ab*?]{0,3}", 0..3),
            names in proptest::collection::vec("[ab]{0,4}", 0..6),
        ) {
            let policy = ToolPolicy { include, exclude, ..ToolPolicy::default() };
            let once: Vec<String> = names.into_iter().filter(|name| policy.admits(name)).collect();
            let twice: Vec<String> =
                once.iter().filter(|name| policy.admits(name)).cloned().collect();
            prop_assert_eq!(once, twice);
        }
    }
}
