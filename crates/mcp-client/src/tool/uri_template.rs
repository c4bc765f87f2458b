//! Matching of a partial URI against a resource template.
//!
//! Only plain variables are completed: `{name}`, `{+name}` and `{name*}`. The text before
//! another expression can still be completed.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use super::ResourceTemplate;

/// Characters that are not encoded in the value of a variable.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Characters that are not encoded in the value of `{+name}`, mainly for paths.
const RESERVED: &AsciiSet = &UNRESERVED
    .remove(b'/')
    .remove(b':')
    .remove(b'?')
    .remove(b'#')
    .remove(b'@')
    .remove(b'&')
    .remove(b'=')
    .remove(b'+')
    .remove(b',')
    .remove(b';');

/// A partial URI that ends in or before the value of a variable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BegunUri<'a> {
    /// The URI before the variable, with the part not typed yet.
    pub before: String,
    pub variable: Option<&'a str>,
    /// The typed part of its value.
    pub begun: String,
    /// The values of the variables before it.
    pub given: BTreeMap<String, String>,
    keeps_reserved: bool,
}

enum Part<'a> {
    Text(&'a str),
    Variable { name: &'a str, keeps_reserved: bool },
}

impl ResourceTemplate {
    /// Matches the beginning of a URI with this template; `None` if they do not match or the URI
    /// is complete.
    pub fn begun(&self, typed: &str) -> Option<BegunUri<'_>> {
        let (parts, is_whole) = parts(&self.uri_template);
        let (mut rest, mut given) = (typed, BTreeMap::new());
        // The part of the template after the typed text.
        let mut missing = "";
        for (at, part) in parts.iter().enumerate() {
            let before = || format!("{}{missing}", &typed[..typed.len() - rest.len()]);
            match part {
                Part::Text(text) => match rest.strip_prefix(text) {
                    Some(after) => rest = after,
                    None if text.starts_with(rest) => {
                        missing = &text[rest.len()..];
                        rest = "";
                    }
                    None => return None,
                },
                Part::Variable { name, keeps_reserved } => {
                    let end = match parts.get(at + 1) {
                        Some(Part::Text(next)) => rest.find(&next[..next.ceil_char_boundary(1)]),
                        _ => None,
                    };
                    let value = decoded(&rest[..end.unwrap_or(rest.len())]);
                    let Some(end) = end else {
                        let (variable, begun) = (Some(*name), value);
                        let (before, keeps_reserved) = (before(), *keeps_reserved);
                        return Some(BegunUri { before, variable, begun, given, keeps_reserved });
                    };
                    given.insert((*name).to_owned(), value);
                    rest = &rest[end..];
                }
            }
        }
        let is_begun = !missing.is_empty() || !is_whole;
        let before = format!("{typed}{missing}");
        (rest.is_empty() && is_begun).then(|| BegunUri { before, given, ..BegunUri::default() })
    }
}

impl BegunUri<'_> {
    /// The URI up to the end of the variable, with this value.
    pub fn with(&self, value: &str) -> String {
        let kept = if self.keeps_reserved { RESERVED } else { UNRESERVED };
        format!("{}{}", self.before, percent_encode(value.as_bytes(), kept))
    }
}

/// The parts of a template up to the first unsupported expression, and whether these are all
/// of it.
fn parts(template: &str) -> (Vec<Part<'_>>, bool) {
    let (mut parts, mut rest) = (Vec::new(), template);
    while let Some((text, expression)) = rest.split_once('{') {
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        let Some((expression, after)) = expression.split_once('}') else { return (parts, false) };
        let name = expression.strip_prefix('+').unwrap_or(expression);
        let keeps_reserved = name.len() < expression.len();
        let name = name.strip_suffix('*').unwrap_or(name);
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_.-%".contains(letter);
        if name.is_empty() || !name.chars().all(is_plain) {
            return (parts, false);
        }
        parts.push(Part::Variable { name, keeps_reserved });
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    (parts, true)
}

fn decoded(value: &str) -> String {
    percent_decode_str(value).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests;
