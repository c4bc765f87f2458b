//! What an authorization server sent the browser back with.
//!
//! Nothing here touches the network: a query goes in, a code or the reason why there is none comes
//! out. The order of the checks is the protection. A redirect with another `state` is not ours and
//! changes nothing; a redirect of another issuer ends the login, and none of its words are kept.

use std::fmt;
use std::hint::black_box;

use crate::content::visible;

/// The longest query that is looked at; a longer one is not ours.
pub const MAX_QUERY_BYTES: usize = 16 * 1024;
/// How much of an error code is kept, in characters.
pub const MAX_ERROR_CHARS: usize = 100;
/// How much of an error description is kept, in characters.
pub const MAX_DESCRIPTION_CHARS: usize = 500;

/// What a redirect must fit.
#[derive(Debug, Clone)]
pub struct Expected {
    /// What was sent as `state`.
    pub state: String,
    /// The issuer of the validated metadata.
    pub issuer: String,
    /// Whether the metadata says `authorization_response_iss_parameter_supported: true`.
    pub issuer_required: bool,
}

/// An authorization code. It is a secret.
pub struct Code(String);

impl Code {
    /// What is sent to the token endpoint.
    pub fn value(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(…)")
    }
}

/// Why a redirect gives no code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Not our login: it must change nothing.
    #[error("the redirect does not belong to this login")]
    WrongState,
    /// The authorization server promised to name itself and did not.
    #[error("the redirect does not say which authorization server it comes from")]
    MissingIssuer,
    /// Another authorization server answered.
    #[error("the redirect comes from another authorization server than the one that was asked")]
    WrongIssuer,
    /// The authorization server said no, in its own words.
    #[error("the authorization server refused: {error}{}", Said(description.as_deref()))]
    Refused {
        /// Its code.
        error: String,
        /// What it adds for people.
        description: Option<String>,
    },
    /// Neither a code nor an error.
    #[error("the redirect holds no code")]
    NoCode,
    /// It is not clear which of two values is meant.
    #[error("the redirect gives `{name}` more than once")]
    Repeated {
        /// The parameter.
        name: &'static str,
    },
}

impl Fault {
    /// Whether the login is over with it.
    pub fn ends_login(&self) -> bool {
        *self != Self::WrongState
    }
}

struct Said<'a>(Option<&'a str>);

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |words| write!(f, ": {words}"))
    }
}

/// Judges a redirect by its query, without the `?`.
pub fn judge(query: &str, expected: &Expected) -> Result<Code, Fault> {
    if !has_state(query, &expected.state) {
        return Err(Fault::WrongState);
    }
    match only(query, "iss")? {
        Some(issuer) if issuer != expected.issuer => return Err(Fault::WrongIssuer),
        None if expected.issuer_required => return Err(Fault::MissingIssuer),
        _ => {}
    }
    if let Some(error) = only(query, "error")?.filter(|error| !error.is_empty()) {
        let description = only(query, "error_description")?;
        let description = description.map(|words| shown(&words, MAX_DESCRIPTION_CHARS));
        return Err(Fault::Refused {
            error: shown(&error, MAX_ERROR_CHARS),
            description: description.filter(|words| !words.is_empty()),
        });
    }
    only(query, "code")?.filter(|code| !code.is_empty()).map(Code).ok_or(Fault::NoCode)
}

/// The query of what a person pasted: a whole address, or `?code=…&state=…`, or only the query.
/// Quotes and white space around it are forgiven, and so are the line breaks of a terminal. None
/// if it holds neither a code nor an error.
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

/// Whether a query has exactly one `state`, and this one.
pub(crate) fn has_state(query: &str, state: &str) -> bool {
    if query.len() > MAX_QUERY_BYTES || state.is_empty() {
        return false;
    }
    matches!(only(query, "state"), Ok(Some(found)) if same(found.as_bytes(), state.as_bytes()))
}

/// Whether a query names any `state`: one that was cut off does not.
pub(crate) fn names_state(query: &str) -> bool {
    form_urlencoded::parse(query.as_bytes())
        .any(|(name, value)| name == "state" && !value.is_empty())
}

/// The one value of a parameter; one that stands twice is a fault.
fn only(query: &str, name: &'static str) -> Result<Option<String>, Fault> {
    let mut values = form_urlencoded::parse(query.as_bytes()).filter(|(found, _)| found == name);
    let first = values.next().map(|(_, value)| value.into_owned());
    if values.next().is_some() { Err(Fault::Repeated { name }) } else { Ok(first) }
}

/// Compares in a time that does not tell where two texts of one length differ.
fn same(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |sum, (a, b)| black_box(sum | (a ^ b)));
    one.len() == other.len() && difference == 0
}

/// Words of a peer: bounded, on one line, and without what cannot be seen.
pub(super) fn shown(words: &str, most: usize) -> String {
    let is_hidden = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    let words = visible(words);
    let mut seen = words.chars().filter(|letter| !is_hidden(*letter));
    let mut kept: String = seen.by_ref().take(most).collect();
    if seen.next().is_some() {
        kept.push('…');
    }
    kept.trim().to_owned()
}

#[cfg(test)]
mod tests;
