//! The errors that members get when a page was not read.

use std::time::Duration;

use web_reader::Fault;
use wire::error::Code;

use crate::failure::ApiError;

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        let param = if matches!(fault, Fault::BehindEnd(_)) { "start_index" } else { "url" };
        let error = match code(&fault) {
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

fn code(fault: &Fault) -> Code {
    match fault {
        Fault::BadUrl(_) | Fault::BehindEnd(_) => Code::InvalidRequest,
        Fault::NotPublic(_)
        | Fault::Port(_)
        | Fault::Robots { .. }
        | Fault::Redirect(_)
        | Fault::Downgrade => Code::TargetRefused,
        Fault::Status(status) if is_temporary(*status) => Code::UpstreamUnavailable,
        Fault::Status(_)
        | Fault::TooManyRedirects(_)
        | Fault::TooLarge(_)
        | Fault::MediaType(_)
        | Fault::Encoding(_)
        | Fault::Unreadable(_)
        | Fault::Overrun(_) => Code::PageUnreadable,
        Fault::TooManyTimeouts(_) => Code::RateLimited,
        Fault::Unreachable(_) | Fault::Late(_) => Code::UpstreamUnavailable,
        Fault::Busy | Fault::NoParser => Code::Unavailable,
    }
}

/// Whether a request after this status may succeed.
fn is_temporary(status: u16) -> bool {
    matches!(status, 408 | 425 | 429) || status >= 500
}
