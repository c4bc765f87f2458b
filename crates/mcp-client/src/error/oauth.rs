//! Errors of the OAuth sign-in.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::ErrorKind;
use crate::oauth::redirect;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{url} does not describe how to sign in: {reason}")]
    Discovery { url: String, reason: String },
    #[error("{url} describes `{found}`, not this server")]
    WrongResource { url: String, found: String },
    #[error("{url} names the issuer `{found}`, expected `{expected}`")]
    WrongIssuer { url: String, found: String, expected: String },
    #[error("{what} {url} does not use https, so secrets would be sent unencrypted")]
    Insecure { what: &'static str, url: String },
    #[error("the authorization server {issuer} does not support PKCE with S256")]
    NoPkce { issuer: String },
    #[error("the authorization server {issuer} has no authorization endpoint")]
    NoPage { issuer: String },

    #[error(
        "the authorization server {issuer} supports neither client documents nor dynamic \
         registration"
    )]
    NoIdentity { issuer: String },
    #[error("the configured client belongs to {expected}, but the server now uses {found}")]
    Moved { expected: String, found: String },
    #[error(
        "{issuer} rejected the client registration (HTTP status {status}){}",
        refusal(code.as_ref(), description.as_ref())
    )]
    Registration { issuer: String, status: u16, code: Option<String>, description: Option<String> },

    #[error("port {port} for the browser redirect is in use")]
    PortTaken { port: u16 },
    #[error("cannot open a loopback port for the browser redirect: {source}")]
    NoPort { source: io::Error },
    #[error("{0}")]
    Redirect(#[from] redirect::RedirectError),
    #[error("the browser did not return within {} s{}", after.as_secs(), cause_hint(suspect))]
    TimedOut { after: Duration, suspect: LikelyCause },
    #[error("the sign-in was cancelled")]
    Cancelled,
    #[error("the authorization server {issuer} does not offer a sign-in with a device code")]
    NoDeviceCode { issuer: String },
    #[error("the code was not confirmed within {} s", after.as_secs())]
    CodeExpired { after: Duration },

    #[error(
        "the authorization server rejected the request: `{code}`{}",
        quoted(description.as_ref())
    )]
    Refused { status: u16, code: String, description: Option<String> },
    #[error("{url} is unavailable (HTTP status {status}){}", retry_hint(*retry_after))]
    Unavailable { url: String, status: u16, retry_after: Option<Duration> },
    #[error("{url} did not respond within {} s", after.as_secs())]
    Silent { url: String, after: Duration },
    #[error("invalid response from {url}: {reason}")]
    Malformed { url: String, reason: String },
    #[error("cannot reach the authorization server: {0}")]
    Unreached(Box<crate::Error>),
    #[error("{reason}")]
    Assertion { reason: String },
    #[error("unattended sign-in failed: {0}")]
    Unattended(Box<Error>),
    #[error("the server rejected the token issued for the program")]
    TokenRejected,
    #[error(
        "{issuer} accepts only the client document, and all five ports that it lists (27890 to \
         27894) are in use"
    )]
    PortsTaken { issuer: String },

    #[error("{what} {path}: {source}", path = path.display())]
    Store { path: PathBuf, what: &'static str, source: io::Error },
    #[error("cannot use the keychain for {path}: {source}", path = path.display())]
    Keychain { path: PathBuf, source: io::Error },
    #[error("another process has been refreshing the token for {} s", after.as_secs())]
    Busy { after: Duration },
    #[error("no directory to store tokens in")]
    NoFolder,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LikelyCause {
    Unknown,
    /// The authorization server rejected the client document at this URL.
    Document(String),
    /// The authorization server forgot an earlier registration.
    Registration,
}

/// Token endpoint codes after which only a new sign-in helps.
#[rustfmt::skip] // a table of words
const ENDS_SIGN_IN: &[&str] = &[
    "invalid_grant", "invalid_client", "unauthorized_client", "access_denied", "invalid_scope",
    "consent_required", "interaction_required", "login_required",
];

impl Error {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::WrongResource { .. }
            | Self::WrongIssuer { .. }
            | Self::Insecure { .. }
            | Self::NoPkce { .. }
            | Self::NoPage { .. }
            | Self::NoIdentity { .. }
            | Self::NoDeviceCode { .. }
            | Self::Moved { .. }
            | Self::PortTaken { .. }
            | Self::Assertion { .. }
            | Self::TokenRejected
            | Self::PortsTaken { .. }
            | Self::NoFolder => ErrorKind::Configuration,
            // Without a person only the configuration can change this.
            Self::Unattended(error) => match error.kind() {
                ErrorKind::SignIn => ErrorKind::Configuration,
                other => other,
            },
            Self::Registration { status, .. } if *status < 500 => ErrorKind::Configuration,
            Self::Redirect(_)
            | Self::TimedOut { .. }
            | Self::Cancelled
            | Self::CodeExpired { .. } => ErrorKind::SignIn,
            Self::Refused { code, .. } if ENDS_SIGN_IN.contains(&code.as_str()) => {
                ErrorKind::SignIn
            }
            Self::Unreached(error) => error.kind(),
            // Any other refusal of a token endpoint may be temporary.
            Self::Refused { .. }
            | Self::Discovery { .. }
            | Self::Registration { .. }
            | Self::NoPort { .. }
            | Self::Unavailable { .. }
            | Self::Silent { .. }
            | Self::Malformed { .. }
            | Self::Store { .. }
            | Self::Keychain { .. }
            | Self::Busy { .. } => ErrorKind::Transient,
        }
    }

    pub(crate) fn each_text(&mut self, change: &dyn Fn(&mut String)) {
        match self {
            Self::Refused { code, description, .. } => {
                change(code);
                description.iter_mut().for_each(change);
            }
            Self::Registration { code, description, .. } => {
                code.iter_mut().chain(description).for_each(change);
            }
            Self::Redirect(redirect::RedirectError::Refused { error, description }) => {
                change(error);
                description.iter_mut().for_each(change);
            }
            Self::Discovery { url, reason } | Self::Malformed { url, reason } => {
                change(url);
                change(reason);
            }
            Self::WrongResource { found, .. } | Self::WrongIssuer { found, .. } => change(found),
            Self::Unattended(error) => error.each_text(change),
            _ => {}
        }
    }

    /// Whether the token endpoint refused with this code and a status of refusal.
    pub fn is_refusal(&self, wanted: &str) -> bool {
        matches!(self, Self::Refused { status: 400 | 401, code, .. } if code == wanted)
    }
}

fn quoted(text: Option<&String>) -> String {
    text.map(|text| format!(" ({text})")).unwrap_or_default()
}

fn refusal(code: Option<&String>, description: Option<&String>) -> String {
    let code = code.map(|code| format!(": `{code}`")).unwrap_or_default();
    code + &quoted(description)
}

fn cause_hint(cause: &LikelyCause) -> String {
    match cause {
        LikelyCause::Unknown => String::new(),
        LikelyCause::Document(document) => format!(
            "; if it showed an invalid client error, the authorization server could not use the \
             client document {document}: set `cimd: false` under `oauth` to register a client \
             instead"
        ),
        LikelyCause::Registration => "; if it showed an unknown client error, the authorization \
                                      server dropped the client registration: the next login \
                                      registers again"
            .to_owned(),
    }
}

fn retry_hint(wait: Option<Duration>) -> String {
    wait.map(|wait| format!("; retry after {} s", wait.as_secs())).unwrap_or_default()
}

#[cfg(test)]
mod tests;
