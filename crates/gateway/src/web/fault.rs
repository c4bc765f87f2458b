//! Why a page was not read, and what a member is told about it.

use std::time::Duration;

use document_parser::{Error as ParseError, Rejection};
use thiserror::Error;
use wire::error::Code;

use crate::failure::ApiError;

/// The most of a page's own word that is said again, in characters.
const MAX_SHOWN: usize = 200;

/// Why a page was not read. No message tells an address that a name was found to have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Fault {
    /// The address cannot be one of a page.
    #[error("`url` {0}")]
    BadUrl(&'static str),
    /// The address may not be read. Names that do not exist and names of private hosts are told
    /// the same, so that nobody can ask this service which names there are in its network.
    #[error("`{0}` has no address on the public internet that may be read")]
    NotPublic(String),
    /// The port may not be read.
    #[error("pages at port {0} may not be read")]
    Port(u16),
    /// The site does not want it.
    #[error("the robots.txt of {host} does not allow it: `{rule}`")]
    Robots { host: String, rule: String },
    /// A redirect that may not be followed.
    #[error("the page redirects to an address that may not be read: {0}")]
    Redirect(Box<Fault>),
    /// A redirect from https to http.
    #[error("the page redirects from https to http, which is not followed")]
    Downgrade,
    /// One redirect too many.
    #[error("the page redirects more than {0} times")]
    TooManyRedirects(u32),
    /// The page says that it failed.
    #[error("the page answered with status {0}")]
    Status(u16),
    /// More than may be read.
    #[error("the page is larger than {0} bytes")]
    TooLarge(u64),
    /// Nothing that can become text.
    #[error("the page is `{}`, which is not read", shown(.0))]
    MediaType(String),
    /// An encoding that was not offered.
    #[error("the page is encoded as `{}`, which is not read", shown(.0))]
    Encoding(String),
    /// It cannot be understood.
    #[error("the page {0}")]
    Unreadable(&'static str),
    /// Parsing it exceeds a limit.
    #[error("the page {0}")]
    Overrun(&'static str),
    /// Too many pages of this key came to nothing.
    #[error(
        "too many fetches of this key timed out or are still running; try again in {} s",
        .0.as_secs() + 1
    )]
    TooManyTimeouts(Duration),
    /// It begins later than the page ends.
    #[error("`start_index` is behind the end: the content has {0} characters")]
    BehindEnd(u64),
    /// The host could not be looked up, reached or understood.
    #[error("{0}")]
    Unreachable(&'static str),
    /// It took too long.
    #[error("the page was not read in time: {0}")]
    Late(&'static str),
    /// No parser can be started.
    #[error("pages cannot be parsed at the moment")]
    NoParser,
    /// Too much is being read already.
    #[error("too many pages are being read at the moment")]
    Busy,
}

fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(MAX_SHOWN).collect()
}

impl Fault {
    /// Whether another try may have another end.
    fn is_temporary(status: u16) -> bool {
        matches!(status, 408 | 425 | 429) || status >= 500
    }

    fn code(&self) -> Code {
        match self {
            Self::BadUrl(_) | Self::BehindEnd(_) => Code::InvalidRequest,
            Self::NotPublic(_)
            | Self::Port(_)
            | Self::Robots { .. }
            | Self::Redirect(_)
            | Self::Downgrade => Code::TargetRefused,
            Self::Status(status) if Self::is_temporary(*status) => Code::UpstreamUnavailable,
            Self::Status(_)
            | Self::TooManyRedirects(_)
            | Self::TooLarge(_)
            | Self::MediaType(_)
            | Self::Encoding(_)
            | Self::Unreadable(_)
            | Self::Overrun(_) => Code::PageUnreadable,
            Self::TooManyTimeouts(_) => Code::RateLimited,
            Self::Unreachable(_) | Self::Late(_) => Code::UpstreamUnavailable,
            Self::Busy | Self::NoParser => Code::Unavailable,
        }
    }
}

impl From<ParseError> for Fault {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::Rejected(Rejection::UnsupportedType(name)) => Self::MediaType(name),
            ParseError::Rejected(rejection) => Self::Unreadable(match rejection {
                Rejection::NoText => "has no text",
                Rejection::EncryptedPdf => "is a PDF that needs a password",
                Rejection::PdfWithoutText => "is a PDF without text; it may be a scan",
                Rejection::DamagedPdf => "is a PDF that cannot be opened",
                Rejection::TooLarge => "unpacks to more than is parsed",
                _ => "could not be understood",
            }),
            ParseError::TimedOut => Self::Overrun("takes too long to parse"),
            ParseError::Crashed => {
                Self::Overrun("needs too much memory to parse, or crashes the parser")
            }
            ParseError::Busy => Self::Busy,
            ParseError::Unavailable => Self::NoParser,
        }
    }
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        let param = if matches!(fault, Fault::BehindEnd(_)) { "start_index" } else { "url" };
        let error = match fault.code() {
            code @ (Code::Unavailable | Code::RateLimited) => Self::new(code, fault.to_string()),
            code => Self::of_param(code, param, fault.to_string()),
        };
        match fault {
            Fault::Busy => error.retry_after(Duration::from_secs(1)),
            Fault::TooManyTimeouts(wait) => error.retry_after(wait),
            Fault::Status(_) | Fault::Unreachable(_) | Fault::Late(_) | Fault::NoParser => {
                error.retry_after(Duration::from_secs(5))
            }
            _ => error,
        }
    }
}
