//! Why a page was not read.

use std::time::Duration;

use document_parser::{Error as ParseError, Rejection};
use thiserror::Error;

/// The most characters of a page's own text in an error.
const MAX_SHOWN: usize = 200;

/// Why a page was not read. No message reveals the addresses of a name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// The address is invalid.
    #[error("`url` {0}")]
    BadUrl(&'static str),
    /// The host may not be read. Unknown names and names of private hosts get the same message, so
    /// that nobody can find out the names of the operator's network.
    #[error("`{0}` has no public address that may be fetched")]
    NotPublic(String),
    /// The port may not be read.
    #[error("fetching from port {0} is not allowed")]
    Port(u16),
    /// The robots.txt of the site forbids it.
    #[error("the robots.txt of {host} disallows this page: `{rule}`")]
    Robots {
        /// The host of the site.
        host: String,
        /// The rule that forbids it.
        rule: String,
    },
    /// A redirect that may not be followed.
    #[error("the page redirects to a URL that may not be fetched: {0}")]
    Redirect(Box<Fault>),
    /// A redirect from https to http.
    #[error("the page redirects from https to http, which is not allowed")]
    Downgrade,
    /// Too many redirects.
    #[error("the page redirects more than {0} times")]
    TooManyRedirects(u32),
    /// The page answered with an error.
    #[error("the page returned status {0}")]
    Status(u16),
    /// The page is too large.
    #[error("the page is larger than {0} bytes")]
    TooLarge(u64),
    /// The type has no text.
    #[error("the page has the unsupported type `{}`", shown(.0))]
    MediaType(String),
    /// An unsupported encoding.
    #[error("the page has the unsupported encoding `{}`", shown(.0))]
    Encoding(String),
    /// The page cannot be parsed.
    #[error("the page {0}")]
    Unreadable(&'static str),
    /// Parsing it exceeds a limit.
    #[error("the page {0}")]
    Overrun(&'static str),
    /// Too many fetches of this key timed out.
    #[error(
        "too many fetches of this key timed out or are still running; try again in {} s",
        .0.as_secs() + 1
    )]
    TooManyTimeouts(Duration),
    /// The requested part begins after the end of the page.
    #[error("`start_index` is past the end: the content has {0} characters")]
    BehindEnd(u64),
    /// The host could not be resolved, reached or understood.
    #[error("{0}")]
    Unreachable(&'static str),
    /// It took too long.
    #[error("fetching the page timed out: {0}")]
    Late(&'static str),
    /// No parser can be started.
    #[error("the page parser is unavailable")]
    NoParser,
    /// Too many pages are being read.
    #[error("too many pages are being fetched")]
    Busy,
}

fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(MAX_SHOWN).collect()
}

impl From<ParseError> for Fault {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::Rejected(Rejection::UnsupportedType(name)) => Self::MediaType(name),
            ParseError::Rejected(rejection) => Self::Unreadable(match rejection {
                Rejection::NoText => "has no text",
                Rejection::EncryptedPdf => "is a password-protected PDF",
                Rejection::PdfWithoutText => "is a PDF without text; it may be a scan",
                Rejection::DamagedPdf => "is an invalid PDF",
                Rejection::TooLarge => "is too large after unpacking",
                _ => "cannot be parsed",
            }),
            ParseError::TimedOut => Self::Overrun("takes too long to parse"),
            ParseError::Crashed => {
                Self::Overrun("needs too much memory to parse or crashes the parser")
            }
            ParseError::Busy => Self::Busy,
            ParseError::Unavailable => Self::NoParser,
        }
    }
}
