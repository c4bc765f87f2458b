//! What looks like a secret: tokens with a known beginning, and what follows words such as
//! `password=`.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// How the secret behind a beginning goes on.
#[derive(Clone, Copy)]
enum Shape {
    /// The beginning is part of the secret, which has at least so many more letters and digits.
    Token { more: usize },
    /// A word follows.
    Bearer,
    /// A value follows, in quotes or not.
    Assigned,
    /// A string follows in JSON.
    Field,
}

const MARK: &[u8] = b"[redacted]";
/// The longest space that is skipped before a value.
const MAX_GAP_BYTES: usize = 8;

const BEGINNINGS: &[(&str, Shape)] = &[
    ("ghp_", Shape::Token { more: 8 }),
    ("gho_", Shape::Token { more: 8 }),
    ("ghu_", Shape::Token { more: 8 }),
    ("ghs_", Shape::Token { more: 8 }),
    ("ghr_", Shape::Token { more: 8 }),
    ("github_pat_", Shape::Token { more: 8 }),
    ("sk-", Shape::Token { more: 8 }),
    ("bearer ", Shape::Bearer),
    ("token=", Shape::Assigned),
    ("key=", Shape::Assigned),
    ("apikey=", Shape::Assigned),
    ("password=", Shape::Assigned),
    ("passwd=", Shape::Assigned),
    ("secret=", Shape::Assigned),
    ("access_token\":", Shape::Field),
    ("refresh_token\":", Shape::Field),
    ("id_token\":", Shape::Field),
    ("api_key\":", Shape::Field),
    ("password\":", Shape::Field),
    ("client_secret\":", Shape::Field),
];

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(BEGINNINGS.iter().map(|(beginning, _)| beginning))
        .ok()
});

/// The bytes without what looks like a secret; none if there is nothing.
pub(super) fn without(bytes: &[u8]) -> Option<Vec<u8>> {
    let finder = FINDER.as_ref()?;
    let mut kept = Vec::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = finder.find(&bytes[at..]) {
        let (start, end) = (at + found.start(), at + found.end());
        let shape = BEGINNINGS[found.pattern().as_usize()].1;
        at = end;
        let Some((from, to)) = secret(bytes, start, end, shape) else { continue };
        if bytes[from..].starts_with(b"[redacted") || is_reference(&bytes[from..]) {
            continue;
        }
        kept.extend_from_slice(&bytes[copied..from]);
        kept.extend_from_slice(MARK);
        (copied, at) = (to, to);
    }
    if copied == 0 {
        return None;
    }
    kept.extend_from_slice(&bytes[copied..]);
    Some(kept)
}

/// Whether a value is nothing but `${NAME}`: that is where a secret comes from, not one.
fn is_reference(value: &[u8]) -> bool {
    let Some(name) = value.strip_prefix(b"${") else { return false };
    let length = run(name, |byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte));
    let after = name.get(length + 1);
    name.get(length) == Some(&b'}') && after.is_none_or(|&byte| stops(byte) || byte == b'&')
}

/// Where the secret behind a beginning lies, if there is one.
fn secret(bytes: &[u8], start: usize, end: usize, shape: Shape) -> Option<(usize, usize)> {
    let inside_a_word = start > 0 && bytes[start - 1].is_ascii_alphanumeric();
    match shape {
        Shape::Token { more } => {
            let length =
                run(&bytes[end..], |byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
            (!inside_a_word && length >= more).then_some((start, end + length))
        }
        Shape::Bearer => {
            let from = end + gap(&bytes[end..]);
            let length = run(&bytes[from..], |byte| !stops(byte));
            let word = &bytes[from..from + length];
            (!inside_a_word && length > 0 && !ordinary(word)).then_some((from, from + length))
        }
        Shape::Assigned => {
            // `monkey=` is no key, but `access_token=` and `CLIENT_SECRET=` are what is meant.
            let key = bytes[start..end].eq_ignore_ascii_case(b"key=");
            if key && inside_a_word {
                return None;
            }
            let (from, length) = value(bytes, end);
            (length > 0).then_some((from, from + length))
        }
        Shape::Field => {
            let from = end + gap(&bytes[end..]);
            if bytes.get(from) != Some(&b'"') {
                return None;
            }
            let (from, length) = value(bytes, from);
            (length > 0).then_some((from, from + length))
        }
    }
}

/// Start and length of a value: up to the closing quote if it is quoted, else up to a delimiter.
fn value(bytes: &[u8], from: usize) -> (usize, usize) {
    match bytes.get(from) {
        Some(&quote @ (b'"' | b'\'')) => {
            let inside = &bytes[from + 1..];
            let mut escaped = false;
            let length = run(inside, |byte| {
                let ends = byte == quote && !escaped;
                escaped = byte == b'\\' && !escaped;
                !ends && byte != b'\n'
            });
            (from + 1, length)
        }
        _ => (from, run(&bytes[from..], |byte| !stops(byte) && byte != b'&')),
    }
}

fn run(bytes: &[u8], mut goes_on: impl FnMut(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| !goes_on(byte)).unwrap_or(bytes.len())
}

fn gap(bytes: &[u8]) -> usize {
    run(bytes, |byte| byte == b' ' || byte == b'\t').min(MAX_GAP_BYTES)
}

fn stops(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\"'`,;<>()[]{}".contains(&byte)
}

/// What follows "bearer" in prose and in challenges, where it is no token.
fn ordinary(word: &[u8]) -> bool {
    const WORDS: &[&str] = &[
        "token",
        "tokens",
        "auth",
        "authentication",
        "authorization",
        "credential",
        "credentials",
        "header",
        "headers",
        "scheme",
        "challenge",
        "realm",
        "error",
        "is",
        "was",
        "of",
        "in",
        "or",
        "and",
        "not",
        "required",
        "missing",
        "invalid",
        "expired",
    ];
    let trimmed = word.strip_suffix(b".").or(word.strip_suffix(b":")).unwrap_or(word);
    let parameter = word.ends_with(b"=")
        && word[..word.len() - 1].iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_');
    parameter || WORDS.iter().any(|plain| plain.as_bytes().eq_ignore_ascii_case(trimmed))
}
