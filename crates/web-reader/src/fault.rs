//! Why a page was not read.

use std::time::Duration;

use document_parser::{Error as ParseError, Rejection};
use thiserror::Error;

pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

/// Maximum characters quoted from a page in an error.
const MAX_SHOWN: usize = 200;

/// Why a page was not read. No message reveals the addresses of a name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    #[error("`url` {0}")]
    BadUrl(&'static str),
    /// The host may not be read. Unknown names and names of private hosts get the same message,
    /// so that names of the operator's network cannot be probed.
    #[error("`{0}` has no public address that may be fetched")]
    NotPublic(String),
    #[error("fetching from port {0} is not allowed")]
    Port(u16),
    #[error("the robots.txt of {host} disallows this page: `{rule}`")]
    Robots { host: String, rule: String },
    #[error("the page redirects to a URL that may not be fetched: {0}")]
    Redirect(Box<Fault>),
    #[error("the page redirects from https to http, which is not allowed")]
    Downgrade,
    #[error("the page redirects more than {0} times")]
    TooManyRedirects(u32),
    #[error("the page returned status {0}")]
    Status(u16),
    #[error("the page is larger than {0} bytes")]
    TooLarge(u64),
    #[error("the page has the unsupported type `{}`", shown(.0))]
    MediaType(String),
    #[error("the page has the unsupported encoding `{}`", shown(.0))]
    Encoding(String),
    #[error("the page {0}")]
    Unreadable(&'static str),
    #[error("the page {0}")]
    Overrun(&'static str),
    #[error(
        "too many fetches of this key timed out or are still running; try again in {} s",
        .0.as_secs() + 1
    )]
    TooManyTimeouts(Duration),
    #[error("`start_index` is past the end: the content has {0} characters")]
    BehindEnd(u64),
    #[error("{0}")]
    Unreachable(&'static str),
    #[error("fetching the page timed out: {0}")]
    Late(&'static str),
    #[error("the page parser is unavailable")]
    NoParser,
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
