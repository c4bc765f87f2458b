//! The rules of robots.txt (RFC 9309).
//!
//! Written by hand: the crate `texting_robots` does not report the matching rule, which our
//! error names, and compiles untrusted patterns to regular expressions; these are matched in
//! linear time and bounded in number.

use std::sync::Arc;
use std::time::Duration;

use super::ttl_cache::{CacheLimits, TtlCache};

pub(crate) const MAX_ROBOTS_BYTES: u64 = 2 * 1024 * 1024;
const MAX_RULES: usize = 10_000;
/// Lifetime of cached rules, and maximum sites.
const MAX_AGE: Duration = Duration::from_hours(1);
const MAX_SITES: usize = 1000;

/// The rules of a site that apply to us.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules(Vec<Rule>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    allows: bool,
    pattern: String,
}

impl Rules {
    /// Parses a file. `token` is our name in it.
    pub(crate) fn parse(text: &str, token: &str) -> Self {
        let (mut ours, mut everyones) = (Vec::new(), Vec::new());
        let mut has_ours = false;
        // Whether the current group applies to us, and still lists user agents.
        let (mut for_us, mut for_all, mut is_naming) = (false, false, false);
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else { continue };
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            match key.as_str() {
                "user-agent" => {
                    if !is_naming {
                        (for_us, for_all) = (false, false);
                    }
                    is_naming = true;
                    for_all |= value == "*";
                    for_us |= value
                        .split(['/', ' '])
                        .next()
                        .unwrap_or_default()
                        .eq_ignore_ascii_case(token);
                    has_ours |= for_us;
                }
                "allow" | "disallow" => {
                    is_naming = false;
                    // An empty rule matches nothing.
                    if value.is_empty() || ours.len() + everyones.len() >= MAX_RULES {
                        continue;
                    }
                    let rule = Rule { allows: key == "allow", pattern: normalized_path(value) };
                    if for_us {
                        ours.push(rule.clone());
                    }
                    if for_all {
                        everyones.push(rule);
                    }
                }
                _ => {}
            }
        }
        Self(if has_ours { ours } else { everyones })
    }

    /// The rule that forbids a path, if any: the longest match decides, and `Allow` wins a tie.
    pub(crate) fn forbidding(&self, path: &str) -> Option<String> {
        let path = normalized_path(path);
        if path == "/robots.txt" {
            return None;
        }
        let matching = self.0.iter().filter(|rule| matches(&rule.pattern, &path));
        let rule = matching.max_by_key(|rule| (rule.pattern.len(), rule.allows))?;
        (!rule.allows).then(|| format!("Disallow: {}", rule.pattern))
    }
}

/// A path or pattern with normalized percent-encoding.
pub fn normalized_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let bytes = path.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        let decoded = (byte == b'%').then_some(hex).flatten();
        match decoded.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) if decoded.is_ascii_alphanumeric() || b"-._~".contains(&decoded) => {
                out.push(char::from(decoded));
                at += 3;
            }
            Some(decoded) => {
                out.push_str(&format!("%{decoded:02X}"));
                at += 3;
            }
            None if byte.is_ascii() => {
                out.push(char::from(byte));
                at += 1;
            }
            None => {
                out.push_str(&format!("%{byte:02X}"));
                at += 1;
            }
        }
    }
    out
}

/// Whether a pattern with `*` and a trailing `$` matches a path.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, is_whole) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| path.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return !is_whole || rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    if is_whole { rest.ends_with(last) } else { rest.contains(last) }
}

/// Cached rules by the origin of their site.
pub(crate) fn rules_cache() -> TtlCache<String, Arc<Rules>> {
    TtlCache::new(CacheLimits { max_age: MAX_AGE, max_entries: MAX_SITES, max_bytes: usize::MAX })
}

#[cfg(test)]
mod tests;
