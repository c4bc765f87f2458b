//! Keeping servers alive: one keeper task per server connects it, watches it, and brings it back.

mod backoff;
mod breaker;
mod handle;
mod keeper;
mod remembered;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

pub(crate) use self::handle::{Effect, Handle};
pub(crate) use self::keeper::{Keeper, Publish};
use crate::error::Error;
use crate::protocol::Era;
use crate::registry::Skipped;
use crate::tool::Quarantined;

/// How often a server that never connected is tried before it is parked.
pub const FIRST_TRIES: u32 = 3;
/// How often one that was connected before is.
pub const LATER_TRIES: u32 = 5;
/// How long a parked server is left alone.
pub const PARKED: Duration = Duration::from_mins(5);

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The configuration says to leave it alone.
    Disabled,
    /// Being connected.
    Connecting,
    /// Its tools can be called.
    Ready,
    /// It answers calls or may, but something is wrong.
    Degraded {
        /// What.
        reason: String,
    },
    /// It failed; it is tried again later.
    Parked {
        /// Why.
        reason: String,
        /// When.
        next_try: Instant,
    },
    /// A person must sign in first.
    NeedsSignIn {
        /// What the server said.
        reason: String,
    },
    /// Stopped for now; the next call starts it.
    Recycled,
    /// Stopped for good.
    Stopped,
}

impl State {
    /// One word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Degraded { .. } => "degraded",
            Self::Parked { .. } => "parked",
            Self::NeedsSignIn { .. } => "needs sign-in",
            Self::Recycled => "recycled",
            Self::Stopped => "stopped",
        }
    }

    /// Why, where there is a why.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Degraded { reason }
            | Self::Parked { reason, .. }
            | Self::NeedsSignIn { reason } => Some(reason),
            _ => None,
        }
    }

    /// Whether something still happens before it is known how the server is.
    pub fn is_settled(&self) -> bool {
        *self != Self::Connecting
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        if let Some(reason) = self.reason() {
            write!(f, ": {reason}")?;
        }
        if let Self::Parked { next_try, .. } = self {
            let wait = next_try.saturating_duration_since(Instant::now());
            write!(f, " (next try in {} s)", wait.as_secs())?;
        }
        Ok(())
    }
}

/// All that can be said about a server.
#[derive(Debug, Clone)]
pub struct Status {
    /// Its name.
    pub server: String,
    /// `stdio`, `http` or `sse`.
    pub transport: &'static str,
    /// How it is.
    pub state: State,
    /// Since when.
    pub since: Instant,
    /// The era it speaks, once known.
    pub era: Option<Era>,
    /// The protocol version, once known.
    pub version: Option<String>,
    /// Its own name and version, as it says.
    pub server_info: Option<String>,
    /// How many tools are registered.
    pub tools: usize,
    /// About how many tokens they cost a model in every request.
    pub tokens: u32,
    /// Tools that cannot be used, and why.
    pub quarantined: Vec<Quarantined>,
    /// Tools left out for their names, and why.
    pub skipped: Vec<Skipped>,
    /// What else a person should know.
    pub notes: Vec<String>,
    /// Why the last try to connect failed; nothing once the server is ready.
    pub failure: Option<Arc<Error>>,
}
