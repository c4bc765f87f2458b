//! Patterns of secrets: tokens with a known prefix, and values after `password=` and the like.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// What follows the prefix of a secret: more characters of a token that begins with the prefix, a
/// value, or a JSON string.
#[derive(Clone, Copy)]
enum Pattern {
    Token,
    Bearer,
    Assigned,
    Field,
}

const MARK: &[u8] = b"[redacted]";
const MAX_GAP_BYTES: usize = 8;

const MIN_TOKEN_BYTES: usize = 8;

#[rustfmt::skip] // a table of words
const PREFIXES: &[(Pattern, &[&str])] = &[
    (Pattern::Token, &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "sk-"]),
    (Pattern::Bearer, &["bearer "]),
    (Pattern::Assigned, &["token=", "key=", "apikey=", "password=", "passwd=", "secret="]),
    (Pattern::Field, &[
        "access_token\":", "refresh_token\":", "id_token\":", "api_key\":", "password\":",
        "client_secret\":",
    ]),
];

/// Finds all prefixes; the patterns are by their index.
static FINDER: LazyLock<Option<(AhoCorasick, Vec<Pattern>)>> = LazyLock::new(|| {
    let all = PREFIXES.iter().flat_map(|(pattern, all)| all.iter().map(|one| (*one, *pattern)));
    let (prefixes, patterns): (Vec<&str>, Vec<Pattern>) = all.unzip();
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).match_kind(MatchKind::LeftmostLongest);
    builder.build(prefixes).ok().map(|finder| (finder, patterns))
});

pub(super) fn redact_patterns(bytes: &[u8]) -> Option<Vec<u8>> {
    let (finder, patterns) = FINDER.as_ref()?;
    let mut kept = Vec::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = finder.find(&bytes[at..]) {
        let (start, end) = (at + found.start(), at + found.end());
        let pattern = patterns[found.pattern().as_usize()];
        at = end;
        let Some((from, to)) = secret(bytes, start, end, pattern) else { continue };
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

/// Whether a value is only `${NAME}`: a reference to a secret.
fn is_reference(value: &[u8]) -> bool {
    let Some(name) = value.strip_prefix(b"${") else { return false };
    let length = span(name, |byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte));
    let after = name.get(length + 1);
    name.get(length) == Some(&b'}') && after.is_none_or(|&byte| is_delimiter(byte) || byte == b'&')
}

/// The range of the secret after a prefix.
fn secret(bytes: &[u8], start: usize, end: usize, pattern: Pattern) -> Option<(usize, usize)> {
    let inside_a_word = start > 0 && bytes[start - 1].is_ascii_alphanumeric();
    match pattern {
        Pattern::Token => {
            let length =
                span(&bytes[end..], |byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
            (!inside_a_word && length >= MIN_TOKEN_BYTES).then_some((start, end + length))
        }
        Pattern::Bearer => {
            let from = end + gap(&bytes[end..]);
            let length = span(&bytes[from..], |byte| !is_delimiter(byte));
            let word = &bytes[from..from + length];
            (!inside_a_word && length > 0 && !is_ordinary_word(word))
                .then_some((from, from + length))
        }
        Pattern::Assigned => {
            // `monkey=` is no key, but `access_token=` and `CLIENT_SECRET=` are.
            let key = bytes[start..end].eq_ignore_ascii_case(b"key=");
            if key && inside_a_word {
                return None;
            }
            let (from, length) = value(bytes, end);
            (length > 0).then_some((from, from + length))
        }
        Pattern::Field => {
            let from = end + gap(&bytes[end..]);
            if bytes.get(from) != Some(&b'"') {
                return None;
            }
            let (from, length) = value(bytes, from);
            (length > 0).then_some((from, from + length))
        }
    }
}

/// Start and length of a value: up to the closing quote, or to a delimiter.
fn value(bytes: &[u8], from: usize) -> (usize, usize) {
    match bytes.get(from) {
        Some(&quote @ (b'"' | b'\'')) => {
            let inside = &bytes[from + 1..];
            let mut escaped = false;
            let length = span(inside, |byte| {
                let ends = byte == quote && !escaped;
                escaped = byte == b'\\' && !escaped;
                !ends && byte != b'\n'
            });
            (from + 1, length)
        }
        _ => (from, span(&bytes[from..], |byte| !is_delimiter(byte) && byte != b'&')),
    }
}

fn span(bytes: &[u8], mut continues: impl FnMut(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| !continues(byte)).unwrap_or(bytes.len())
}

fn gap(bytes: &[u8]) -> usize {
    span(bytes, |byte| byte == b' ' || byte == b'\t').min(MAX_GAP_BYTES)
}

fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\"'`,;<>()[]{}".contains(&byte)
}

/// Words that follow "bearer" in prose and challenges.
fn is_ordinary_word(word: &[u8]) -> bool {
    #[rustfmt::skip] // a table of words
    const WORDS: &[&str] = &[
        "token", "tokens", "auth", "authentication", "authorization", "credential", "credentials",
        "header", "headers", "scheme", "challenge", "realm", "error", "is", "was", "of", "in", "or",
        "and", "not", "required", "missing", "invalid", "expired",
    ];
    let trimmed = word.strip_suffix(b".").or(word.strip_suffix(b":")).unwrap_or(word);
    let parameter = word.ends_with(b"=")
        && word[..word.len() - 1].iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_');
    parameter || WORDS.iter().any(|plain| plain.as_bytes().eq_ignore_ascii_case(trimmed))
}
