//! Errors of requests to the service, and the advice for a person.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use wire::error::{Code, ErrorBody, ErrorDetail};

use super::number;
use crate::untrusted::printable;

/// Maximum wait that a service can request.
const MAX_WAIT: Duration = Duration::from_mins(5);

#[derive(Debug, Clone, PartialEq)]
pub enum MemberError {
    Refused { status: StatusCode, detail: Box<ErrorDetail>, retry_after: Option<Duration> },
    Unreachable { reason: String },
    Broken { reason: String },
    Late { after: Duration },
    Nonsense { what: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAdvice {
    Never,
    Soon,
    After(Duration),
}

impl RetryAdvice {
    /// The wait before a retry: `usual` unless the service sets one.
    pub fn or(self, usual: Duration) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::Soon => Some(usual),
            Self::After(wait) => Some(wait),
        }
    }
}

impl MemberError {
    pub(super) fn of_connection(error: &mcp_client::Error) -> Self {
        use mcp_client::Error;
        match error {
            Error::Broken { reason } => Self::Broken { reason: reason.clone() },
            Error::Unreachable { reason, .. } => Self::Unreachable { reason: reason.clone() },
            other => Self::Unreachable { reason: other.to_string() },
        }
    }

    pub fn refused(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let seconds = number(headers, &RETRY_AFTER).and_then(|seconds| seconds.try_into().ok());
        let retry_after = seconds.map(Duration::from_secs).map(|wait| wait.min(MAX_WAIT));
        let detail = match serde_json::from_slice::<ErrorBody>(body) {
            Ok(body) => body.error,
            Err(_) => {
                detail(format!("the service returned {status} without a readable error message"))
            }
        };
        Self::Refused { status, detail: Box::new(detail), retry_after }
    }

    pub fn nonsense(error: &serde_json::Error) -> Self {
        Self::Nonsense { what: format!("an invalid response: {error}") }
    }

    pub(crate) fn in_stream(error: &Value) -> Self {
        let detail = serde_json::from_value(error.clone()).unwrap_or_else(|_| {
            let message = error.get("message").and_then(Value::as_str);
            detail(message.unwrap_or("the stream ended with an error").to_owned())
        });
        let known = Code::ALL.iter().find(|code| Some(code.as_str()) == detail.code.as_deref());
        let status = known.and_then(|code| StatusCode::from_u16(code.status()).ok());
        let status = status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        Self::Refused { status, detail: Box::new(detail), retry_after: None }
    }

    pub fn is(&self, code: Code) -> bool {
        matches!(self, Self::Refused { detail, .. } if detail.code.as_deref() == Some(code.as_str()))
    }

    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(status.as_u16()),
            _ => None,
        }
    }

    pub fn again(&self) -> RetryAdvice {
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
            // It may have been executed, and charged.
            Self::Broken { .. } | Self::Late { .. } | Self::Nonsense { .. } => RetryAdvice::Never,
        }
    }

    pub fn line(&self) -> String {
        match self {
            Self::Refused { detail, .. } => printable(&detail.message),
            Self::Unreachable { reason } => format!("cannot connect: {reason}"),
            Self::Broken { reason } => format!("connection lost: {reason}"),
            Self::Late { after } => format!("no response within {} s", after.as_secs()),
            Self::Nonsense { what } => format!("the service sent {}", printable(what)),
        }
    }
}

fn detail(message: String) -> ErrorDetail {
    ErrorDetail { message, ..ErrorDetail::default() }
}
