//! Validation of the authorization redirect.
//!
//! Pure: from a query to a code or an error. The order of the checks matters: a redirect with
//! another `state` is ignored, and one of another issuer ends the login without its texts being
//! shown.

use std::fmt;
use std::hint::black_box;

use crate::content::strip_tag_characters;

pub const MAX_QUERY_BYTES: usize = 16 * 1024;
pub const MAX_ERROR_CHARS: usize = 100;
pub const MAX_DESCRIPTION_CHARS: usize = 500;

#[derive(Debug, Clone)]
pub struct ExpectedRedirect {
    pub state: String,
    pub issuer: String,
    /// Whether the metadata says `authorization_response_iss_parameter_supported: true`.
    pub issuer_required: bool,
}

/// An authorization code. It is a secret.
pub struct AuthorizationCode(String);

impl AuthorizationCode {
    pub fn value(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AuthorizationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(…)")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedirectError {
    /// It belongs to another login and must be ignored.
    #[error("the redirect does not belong to this login")]
    WrongState,
    #[error("the redirect does not name its authorization server")]
    MissingIssuer,
    #[error("the redirect comes from a different authorization server")]
    WrongIssuer,
    #[error(
        "the authorization server rejected the request: {error}{}",
        description.as_ref().map(|words| format!(": {words}")).unwrap_or_default()
    )]
    Refused { error: String, description: Option<String> },
    #[error("the redirect contains no code")]
    NoCode,
    #[error("the redirect contains `{name}` more than once")]
    Repeated { name: &'static str },
}

impl RedirectError {
    pub fn ends_login(&self) -> bool {
        *self != Self::WrongState
    }
}

/// Validates a redirect by its query, without the `?`.
pub fn check_redirect(
    query: &str,
    expected: &ExpectedRedirect,
) -> Result<AuthorizationCode, RedirectError> {
    if !has_state(query, &expected.state) {
        return Err(RedirectError::WrongState);
    }
    match single_value(query, "iss")? {
        Some(issuer) if issuer != expected.issuer => return Err(RedirectError::WrongIssuer),
        None if expected.issuer_required => return Err(RedirectError::MissingIssuer),
        _ => {}
    }
    if let Some(error) = single_value(query, "error")?.filter(|error| !error.is_empty()) {
        let description = single_value(query, "error_description")?;
        let description = description.map(|words| visible_excerpt(&words, MAX_DESCRIPTION_CHARS));
        return Err(RedirectError::Refused {
            error: visible_excerpt(&error, MAX_ERROR_CHARS),
            description: description.filter(|words| !words.is_empty()),
        });
    }
    single_value(query, "code")?
        .filter(|code| !code.is_empty())
        .map(AuthorizationCode)
        .ok_or(RedirectError::NoCode)
}

/// The query of a pasted text: a URL, `?code=…&state=…`, or the bare query. Tolerates surrounding
/// quotes, white space, and line breaks of a terminal. `None` if it holds neither a code nor an
/// error.
pub fn query_of_pasted(text: &str) -> Option<String> {
    let joined: String = text.chars().filter(|letter| !letter.is_control()).collect();
    let is_wrapping = |letter: char| letter.is_whitespace() || "\"'`<>“”‘’«»".contains(letter);
    let bare = joined.trim_matches(is_wrapping);
    let bare = bare.split('#').next().unwrap_or_default();
    let after = bare.split_once('?').map(|(_, query)| query);
    let holds_answer = |query: &&str| {
        form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "code" || name == "error")
    };
    after.into_iter().chain([bare]).find(holds_answer).map(str::to_owned)
}

/// Whether a query has exactly one `state`, equal to this one.
pub(crate) fn has_state(query: &str, state: &str) -> bool {
    if query.len() > MAX_QUERY_BYTES || state.is_empty() {
        return false;
    }
    matches!(single_value(query, "state"), Ok(Some(found)) if constant_time_eq(found.as_bytes(), state.as_bytes()))
}

/// Whether a query has a `state`: a truncated one has none.
pub(crate) fn names_state(query: &str) -> bool {
    form_urlencoded::parse(query.as_bytes())
        .any(|(name, value)| name == "state" && !value.is_empty())
}

/// The value of a parameter; a repeated one is an error.
fn single_value(query: &str, name: &'static str) -> Result<Option<String>, RedirectError> {
    let mut values = form_urlencoded::parse(query.as_bytes()).filter(|(found, _)| found == name);
    let first = values.next().map(|(_, value)| value.into_owned());
    if values.next().is_some() { Err(RedirectError::Repeated { name }) } else { Ok(first) }
}

/// Compares in constant time for a given length.
fn constant_time_eq(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |sum, (a, b)| black_box(sum | (a ^ b)));
    one.len() == other.len() && difference == 0
}

/// A peer text: bounded, on one line, and without invisible characters.
pub(super) fn visible_excerpt(words: &str, most: usize) -> String {
    let is_hidden = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    let words = strip_tag_characters(words);
    let mut seen = words.chars().filter(|letter| !is_hidden(*letter));
    let mut kept: String = seen.by_ref().take(most).collect();
    if seen.next().is_some() {
        kept.push('…');
    }
    kept.trim().to_owned()
}

#[cfg(test)]
mod tests;
