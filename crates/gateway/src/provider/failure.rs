//! Why an upstream returned no answer.

use std::time::Duration;

use crate::failure::ApiError;

#[derive(Debug, Clone)]
#[cfg_attr(
    not(feature = "local-model"),
    expect(dead_code, reason = "some variants are of local models only")
)]
pub(crate) enum Failure {
    /// The upstream rejects the request itself; so would any other.
    Refused { message: Option<String> },
    /// It names the model as unknown.
    NoModel,
    /// Unknown path, or unspecified what is unknown.
    NotThere,
    /// It is overloaded.
    Busy { retry_after: Option<Duration> },
    /// No connection could be opened. The cause is for operators only.
    Unreachable { cause: String },
    /// No stream began in time.
    Late,
    /// The connection broke, or an answer took too long.
    Gone(&'static str),
    /// It failed, or refused our key.
    Broken { status: u16 },
    /// Its answer violates the interface.
    Malformed(&'static str),
    /// It cannot take this request, though another upstream may; the error if none can.
    Unfit(ApiError),
    /// The queue of models in this process is full.
    Full,
    /// A local model file cannot be used. The cause is for operators only.
    Unusable { cause: String },
}

impl Failure {
    /// Whether this counts against the health of the upstream.
    ///
    /// Only failures that no member can provoke count; otherwise one member could take an upstream
    /// from all others. The content of a request decides how long an answer takes, how large it is
    /// and whether a filter cuts it, so nothing counts after an answer has begun:
    ///
    /// - unreachable (TCP, TLS, DNS): counts;
    /// - no stream begins in time: counts, because a stream begins before the work is done. A whole
    ///   answer begins when it is complete, and its length is the member's choice;
    /// - a broken connection: does not count, because a request body that is too large causes it
    ///   too. If the upstream died, the next attempt is unreachable and counts;
    /// - a status: see [`is_its_own`];
    /// - overload, rejection, unknown model or path: does not count;
    /// - a malformed or oversized answer, or an error in its stream: does not count;
    /// - local models: do not count, because one bad file says nothing about the others.
    ///
    /// Probes find the rest: members have no influence on them.
    pub(crate) fn is_its_fault(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Late => true,
            Self::Broken { status } => is_its_own(*status),
            _ => false,
        }
    }

    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Broken { status } => Some(*status),
            _ => None,
        }
    }

    pub(crate) fn cause(&self) -> Option<&str> {
        match self {
            Self::Unreachable { cause } | Self::Unusable { cause } => Some(cause),
            Self::Gone(what) | Self::Malformed(what) => Some(what),
            _ => None,
        }
    }

    /// The label for logs and metrics.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "refused",
            Self::NoModel => "no_model",
            Self::NotThere => "not_there",
            Self::Busy { .. } => "busy",
            Self::Unreachable { .. } => "unreachable",
            Self::Late => "late",
            Self::Gone(_) => "gone",
            Self::Broken { .. } => "broken",
            Self::Malformed(_) => "malformed",
            Self::Unfit(_) => "unfit",
            Self::Full => "full",
            Self::Unusable { .. } => "unusable",
        }
    }
}

/// Whether a status is a fault that no request can provoke: our key or account is refused (401, 402,
/// 407), a redirect (3xx), or an internal failure (5xx). Exceptions: the request may cause a timeout
/// (504, 524, 408) or need what is not implemented (501), and filters reject by content (403). A
/// stream that begins with an error has status 200.
fn is_its_own(status: u16) -> bool {
    match status {
        501 | 504 | 524 => false,
        300..=399 | 401 | 402 | 407 | 500..=599 => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
