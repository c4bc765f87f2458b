//! Supervision of servers: one task per server connects it, watches it, and reconnects it.

mod handle;
mod task;
mod tool_cache;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

pub(crate) use self::handle::{CallEffect, ServerHandle};
pub(crate) use self::task::{PublishTools, Supervisor};
use crate::error::Error;
use crate::protocol::Era;
use crate::registry::SkippedTool;
use crate::tool::QuarantinedItem;

/// Attempts to connect a new server before it is parked.
pub const MAX_FIRST_ATTEMPTS: u32 = 3;
/// Attempts to reconnect a server before it is parked.
pub const MAX_RECONNECT_ATTEMPTS: u32 = 5;
/// Delay before the next attempt to connect a parked server.
pub const PARK_DURATION: Duration = Duration::from_mins(5);
const INITIAL_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_mins(1);

/// The delay before the next attempt: one second, doubled with every failure up to a minute, with
/// 20 % jitter.
pub(crate) fn backoff(failures: u32) -> Duration {
    let doubled = INITIAL_BACKOFF.saturating_mul(1 << failures.saturating_sub(1).min(6));
    doubled.min(MAX_BACKOFF).mul_f64(0.8 + 0.4 * fastrand::f64())
}

/// The state of a server. A degraded one may still answer calls, a parked one is tried again later,
/// and a recycled one starts with the next call.
#[derive(Debug, Clone, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum ServerState {
    Disabled,
    Connecting,
    Ready,
    Degraded {
        reason: String,
    },
    Parked {
        reason: String,
        next_try: Instant,
    },
    #[strum(serialize = "needs sign-in")]
    NeedsSignIn {
        reason: String,
    },
    Recycled,
    Stopped,
}

impl ServerState {
    /// The reason of a bad state.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Degraded { reason }
            | Self::Parked { reason, .. }
            | Self::NeedsSignIn { reason } => Some(reason),
            _ => None,
        }
    }

    pub fn next_attempt_seconds(&self) -> Option<u64> {
        let Self::Parked { next_try, .. } = self else { return None };
        Some(next_try.saturating_duration_since(Instant::now()).as_secs())
    }

    /// Whether the state is known: connecting has ended.
    pub fn is_settled(&self) -> bool {
        *self != Self::Connecting
    }
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.into_str())?;
        if let Some(reason) = self.reason() {
            write!(f, ": {reason}")?;
        }
        if let Some(seconds) = self.next_attempt_seconds() {
            write!(f, " (next attempt in {seconds} s)")?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
pub struct ServerStatus {
    pub server: String,
    /// `stdio`, `http` or `sse`.
    pub transport: &'static str,
    pub state: ServerState,
    pub since: Instant,
    pub era: Option<Era>,
    pub version: Option<String>,
    /// Its name and version, as it declares them.
    pub server_info: Option<String>,
    /// Instructions for models, as received.
    pub instructions: Option<Arc<str>>,
    /// Duration of its last response to a listing or ping.
    pub latency: Option<Duration>,
    pub tools: usize,
    /// Their estimated cost in every request.
    pub tokens: u32,
    pub quarantined: Vec<QuarantinedItem>,
    pub skipped: Vec<SkippedTool>,
    pub notes: Vec<String>,
    /// The error of the last attempt to connect; `None` once the server is ready.
    pub failure: Option<Arc<Error>>,
}

#[cfg(test)]
mod tests;
