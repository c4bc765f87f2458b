//! What goes wrong between us and the service, and what a person can do about it.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use wire::error::{Code, ErrorBody, ErrorDetail};

use super::settings::Settings;
use super::{credits, number};
use crate::diagnostic::{Diagnostic, Exit};
use crate::output::printable;
use crate::untrusted::escaped;

/// The longest wait that a service can ask for and get.
const MAX_WAIT: Duration = Duration::from_mins(5);

/// What went wrong.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MemberError {
    /// The service said no.
    Refused {
        status: StatusCode,
        detail: Box<ErrorDetail>,
        /// When to ask again, if it says so.
        retry_after: Option<Duration>,
    },
    /// Nobody is there.
    Unreachable { reason: String },
    /// The connection broke in the middle.
    Broken { reason: String },
    /// No answer came in time.
    Late { after: Duration },
    /// What came is no answer of a member service.
    Nonsense { what: String },
}

/// When the same request may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryAdvice {
    /// Not at all, or nobody knows.
    Never,
    /// After a while.
    Soon,
    /// When the service wants it.
    After(Duration),
}

impl RetryAdvice {
    /// How long to wait, where the service does not say as long as this.
    pub(crate) fn or(self, usual: Duration) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::Soon => Some(usual),
            Self::After(wait) => Some(wait),
        }
    }
}

impl MemberError {
    /// What a connection that failed means.
    pub(super) fn of_connection(error: &mcp_client::Error) -> Self {
        use mcp_client::Error;
        match error {
            Error::Broken { reason } => Self::Broken { reason: reason.clone() },
            Error::Unreachable { reason, .. } => Self::Unreachable { reason: reason.clone() },
            other => Self::Unreachable { reason: other.to_string() },
        }
    }

    /// What an answer that is no success means.
    pub(super) fn refused(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let seconds = number(headers, &RETRY_AFTER).and_then(|seconds| seconds.try_into().ok());
        let retry_after = seconds.map(Duration::from_secs).map(|wait| wait.min(MAX_WAIT));
        let detail = match serde_json::from_slice::<ErrorBody>(body) {
            Ok(body) => body.error,
            Err(_) => detail(format!("the answer is {status}, without a word that is understood")),
        };
        Self::Refused { status, detail: Box::new(detail), retry_after }
    }

    /// What an answer that is no document of ours means.
    pub(crate) fn nonsense(error: &serde_json::Error) -> Self {
        Self::Nonsense { what: format!("an answer that is not understood: {error}") }
    }

    /// What an error within a stream means.
    pub(crate) fn in_stream(error: &Value) -> Self {
        let detail = serde_json::from_value(error.clone()).unwrap_or_else(|_| {
            let message = error.get("message").and_then(Value::as_str);
            detail(message.unwrap_or("the stream ended with an error").to_owned())
        });
        let known = Code::ALL.iter().find(|code| Some(code.word()) == detail.code.as_deref());
        let status = known.and_then(|code| StatusCode::from_u16(code.status()).ok());
        let status = status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        Self::Refused { status, detail: Box::new(detail), retry_after: None }
    }

    /// Whether this is what the service says with such a code.
    pub(crate) fn is(&self, code: Code) -> bool {
        matches!(self, Self::Refused { detail, .. } if detail.code.as_deref() == Some(code.word()))
    }

    /// The status of a refusal.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(status.as_u16()),
            _ => None,
        }
    }

    /// Whether the same request may succeed later.
    pub(crate) fn again(&self) -> RetryAdvice {
        match self {
            Self::Refused { status, retry_after, .. } => {
                let passing = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
                match retry_after {
                    _ if !passing.contains(status) => RetryAdvice::Never,
                    Some(wait) => RetryAdvice::After(*wait),
                    None => RetryAdvice::Soon,
                }
            }
            Self::Unreachable { .. } => RetryAdvice::Soon,
            // It may have been done, and paid for.
            Self::Broken { .. } | Self::Late { .. } | Self::Nonsense { .. } => RetryAdvice::Never,
        }
    }

    /// In one line.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Refused { detail, .. } => printable(&detail.message),
            Self::Unreachable { reason } => format!("it cannot be reached: {reason}"),
            Self::Broken { reason } => format!("the connection broke: {reason}"),
            Self::Late { after } => format!("no answer within {} s", after.as_secs()),
            Self::Nonsense { what } => format!("the service sent {}", printable(what)),
        }
    }

    /// For the person who typed the command.
    pub(crate) fn diagnostic(&self, settings: &Settings) -> Diagnostic {
        let base = &settings.base_url.value;
        match self {
            Self::Refused { status, detail, retry_after } => {
                refusal(*status, detail, *retry_after, settings)
            }
            Self::Unreachable { reason } => {
                let diagnostic = Diagnostic::peer(format!("nothing answers at {base}"));
                let mut diagnostic = with_cause(diagnostic, reason);
                if settings.is_own_machine() {
                    diagnostic = diagnostic.hint("`agent up` starts a service on this machine");
                }
                diagnostic.hint(format!("the address is {}", settings.base_url.place))
            }
            other => Diagnostic::peer(format!("{base}: {}", other.line())),
        }
    }
}

fn refusal(
    status: StatusCode,
    detail: &ErrorDetail,
    retry_after: Option<Duration>,
    settings: &Settings,
) -> Diagnostic {
    // Refusals of services are bounded already.
    let message = escaped(&detail.message);
    let mut diagnostic = match status.as_u16() {
        401 => {
            let base = &settings.base_url.value;
            let of = Diagnostic::sign_in(format!("{base} does not accept the key"));
            let of = with_cause(of, &message);
            match &settings.key {
                Some(key) => of.hint(format!("the key is {}", key.place)),
                None => of,
            }
            .hint(settings.how_to_set_key())
            .hint("an operator makes keys with `agent gateway key create`")
        }
        402 => {
            let of = Diagnostic::failed(match (detail.needed_micros, detail.available_micros) {
                (Some(needed), Some(available)) => format!(
                    "this needs {} credits, and {} are available",
                    credits(needed),
                    credits(available)
                ),
                _ => message.clone(),
            });
            of.hint("`agent me` shows the account")
                .hint("an operator adds credit with `agent gateway member top-up`")
        }
        403 => forbidden(message, detail),
        429 => {
            let wait = retry_after.map_or_else(String::new, |wait| {
                format!("; it may be asked again in {} s", wait.as_secs())
            });
            Diagnostic::peer(format!("{message}{wait}"))
        }
        code if code >= 500 => {
            let of = Diagnostic::peer(message);
            match retry_after {
                Some(wait) => of.hint(format!("ask again in {} s", wait.as_secs().max(1))),
                None => of,
            }
        }
        _ => Diagnostic::failed(message),
    };
    if let Some(request) = detail.request_id.as_deref().filter(|_| status.as_u16() >= 500) {
        let line = format!("the operator finds this request as {}", printable(request));
        diagnostic = diagnostic.hint(line);
    }
    debug_assert!(diagnostic.exit != Exit::Done);
    diagnostic
}

/// What a member may not do, and who could change that.
fn forbidden(message: String, detail: &ErrorDetail) -> Diagnostic {
    let is = |code: Code| detail.code.as_deref() == Some(code.word());
    let of = Diagnostic::failed(message);
    if is(Code::ScopeMissing) || is(Code::ModelNotAllowed) {
        of.hint("`agent me` shows what the key is for")
            .hint("an operator changes that with `agent gateway key change`")
    } else {
        of
    }
}

fn with_cause(mut diagnostic: Diagnostic, cause: &str) -> Diagnostic {
    diagnostic.causes.push(cause.to_owned());
    diagnostic
}

fn detail(message: String) -> ErrorDetail {
    ErrorDetail {
        message,
        kind: String::new(),
        param: None,
        code: None,
        request_id: None,
        needed_micros: None,
        available_micros: None,
    }
}
