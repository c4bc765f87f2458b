//! Errors of servers and calls.
//!
//! Callers decide by [`Error::kind`]; the text is for people. Peer texts (error messages, standard
//! error, bodies) are bounded and redacted.

pub(crate) mod oauth;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::content::redact_value;
use crate::message::{RpcError, truncated};
use crate::redact::Redactor;
use crate::tool::DecodeError;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

const MAX_QUOTED_BYTES: usize = 300;
const MAX_QUOTED_MESSAGE_BYTES: usize = 8 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`{command}` not found; searched {searched}")]
    MissingExecutable { command: String, searched: String },
    #[error("`{path}` {reason}", path = path.display())]
    NotExecutable { path: PathBuf, reason: &'static str },
    #[error("cannot start `{command}`: {source}")]
    Spawn { command: String, source: io::Error },
    #[error("refused to start: {reason}")]
    Suspicious { reason: String },
    #[error("{what} `{path}` {reason}", path = path.display())]
    File { what: &'static str, path: PathBuf, reason: String },
    #[error("the client key `{path}` {reason}", path = path.display())]
    Password { path: PathBuf, reason: &'static str },
    #[error("no certificate authorities to verify {url}: {reason}")]
    NoAuthorities { url: String, reason: String },
    #[error("`{url}` is not a valid server URL: {reason}")]
    BadUrl { url: String, reason: String },
    #[error("header `{name}` {reason}")]
    BadHeader { name: String, reason: &'static str },

    #[error("the server {exit}{output}")]
    Exited { exit: ProcessExit, output: ServerOutput },
    #[error("the server closed its output but is still running{output}")]
    OutputClosed { output: ServerOutput },
    #[error("the server does not read its input: {queued} bytes are pending")]
    InputStuck { queued: usize },

    #[error("cannot reach {url}: {reason}")]
    Unreachable { url: String, reason: String },
    #[error("TLS connection to {url} failed: {reason}")]
    Tls { url: String, reason: String },
    #[error(
        "{url} returned {content_type}; an MCP server returns application/json or text/event-stream"
    )]
    NotMcp { url: String, content_type: String },
    #[error(
        "preflight: {url} responded to {method} with {content_type}, expected application/json or \
         text/event-stream"
    )]
    Preflight { method: http::Method, url: String, content_type: String },
    #[error("HTTP status {status}{}", quoted_body(body))]
    Http { status: u16, body: String },
    #[error("the server requires a sign-in (HTTP status 401)")]
    SignIn { challenge: Option<String> },
    #[error(
        "the server denied access (HTTP status 403){}{}",
        quoted_body(body),
        missing_scope(challenge.as_deref())
    )]
    Forbidden { challenge: Option<String>, body: String },
    #[error(transparent)]
    OAuth(Box<oauth::Error>),
    #[error("redirected to {to}: {reason}")]
    Redirect { to: String, reason: &'static str },
    #[error("lost the connection to the server: {reason}")]
    Broken { reason: String },
    #[error("the server no longer recognizes the session")]
    SessionGone,
    #[error("the server ended the session during the call")]
    SessionLost,

    #[error("the server returned an error: {0}")]
    Rpc(RpcError),
    #[error("invalid response from the server: {reason}")]
    Malformed { reason: String },
    #[error("the response exceeds the limit of {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the server uses the unsupported protocol version `{version}`")]
    UnknownVersion { version: String },
    #[error("{first}; then, {attempt}: {second}")]
    BothFailed { first: Box<Error>, attempt: &'static str, second: Box<Error> },
    #[error("the server requested input {rounds} times in a row without finishing")]
    TooManyRounds { rounds: u32 },

    #[error("no response to `{method}` within {} s{output}", after.as_secs_f32())]
    ConnectTimeout { method: String, after: Duration, output: ServerOutput },
    #[error("no response or progress from `{method}` for {} s", idle.as_secs_f32())]
    CallTimeout { method: String, idle: Duration },
    #[error("`{method}` exceeded the time limit of {} s", cap.as_secs_f32())]
    CallTooLong { method: String, cap: Duration },
    #[error("the server was stopped")]
    Closed,
    #[error("the connection closed before the call was sent")]
    Unsent,
    #[error(
        "the token was still being refreshed after {} s; the request was not sent",
        after.as_secs_f32()
    )]
    StillRenewing { after: Duration },

    #[error("unknown tool `{name}`")]
    UnknownTool { name: String },
    #[error("invalid arguments: {reason}")]
    BadArguments { reason: String },
    #[error("unknown server `{name}`")]
    UnknownServer { name: String },
    #[error("server `{server}` is {state}")]
    NotReady { server: String, state: String },
    #[error(
        "server `{server}` failed {failures} times in a row; next attempt in {} s",
        retry.as_secs()
    )]
    BreakerOpen { server: String, failures: u32, retry: Duration },
    #[error("`{tool}` was not approved and did not run")]
    NotApproved { tool: String },
    #[error("`{tool}` may or may not have run: {cause}")]
    OutcomeUnknown { tool: String, cause: Box<Error> },
    #[error("the server cancelled the task{}", because(message.as_deref()))]
    TaskCancelled { message: Option<String> },
    #[error("lost contact with the task `{id}`, which may still run: {cause}")]
    TaskLost { id: String, cause: Box<Error> },
}

/// What a caller can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    Configuration,
    SignIn,
    Transient,
    /// Nothing: only this call failed, the server works.
    Call,
}

impl Error {
    /// The timeout of a request to a remote server, which has no output.
    pub(crate) fn connect_timeout(method: &str, after: Duration) -> Self {
        Self::ConnectTimeout { method: method.to_owned(), after, output: ServerOutput::default() }
    }

    pub(crate) fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed { reason: reason.into() }
    }

    pub(crate) fn broken(reason: impl Into<String>) -> Self {
        Self::Broken { reason: reason.into() }
    }

    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Spawn { source, .. } if is_transient(source.kind()) => ErrorKind::Transient,
            Self::MissingExecutable { .. }
            | Self::Spawn { .. }
            | Self::NotExecutable { .. }
            | Self::Suspicious { .. }
            | Self::File { .. }
            | Self::Password { .. }
            | Self::NoAuthorities { .. }
            | Self::BadUrl { .. }
            | Self::BadHeader { .. }
            | Self::NotMcp { .. }
            | Self::Preflight { .. }
            | Self::Redirect { .. }
            | Self::UnknownVersion { .. }
            | Self::UnknownServer { .. } => ErrorKind::Configuration,
            Self::SignIn { .. } | Self::Forbidden { .. } => ErrorKind::SignIn,
            Self::OAuth(error) => error.kind(),
            Self::BothFailed { first, second, .. } => match (first.kind(), second.kind()) {
                (ErrorKind::SignIn, _) | (_, ErrorKind::SignIn) => ErrorKind::SignIn,
                (ErrorKind::Configuration, _) | (_, ErrorKind::Configuration) => {
                    ErrorKind::Configuration
                }
                _ => ErrorKind::Transient,
            },
            Self::OutcomeUnknown { cause, .. } | Self::TaskLost { cause, .. } => cause.kind(),
            Self::Rpc(_)
            | Self::Malformed { .. }
            | Self::TooLarge { .. }
            | Self::TooManyRounds { .. }
            | Self::UnknownTool { .. }
            | Self::BadArguments { .. }
            | Self::TaskCancelled { .. }
            | Self::NotApproved { .. } => ErrorKind::Call,
            Self::Exited { .. }
            | Self::OutputClosed { .. }
            | Self::InputStuck { .. }
            | Self::Unreachable { .. }
            | Self::Tls { .. }
            | Self::Http { .. }
            | Self::Broken { .. }
            | Self::SessionGone
            | Self::SessionLost
            | Self::ConnectTimeout { .. }
            | Self::CallTimeout { .. }
            | Self::CallTooLong { .. }
            | Self::Closed
            | Self::Unsent
            | Self::StillRenewing { .. }
            | Self::NotReady { .. }
            | Self::BreakerOpen { .. } => ErrorKind::Transient,
        }
    }

    /// Whether the session is unusable after this error.
    pub fn ends_session(&self) -> bool {
        matches!(
            self,
            Self::Exited { .. }
                | Self::OutputClosed { .. }
                | Self::InputStuck { .. }
                | Self::Broken { .. }
                | Self::Unreachable { .. }
                | Self::Tls { .. }
                | Self::SessionGone
                | Self::SessionLost
                | Self::Closed
                | Self::Unsent
        )
    }

    /// Redacts every text that came from a peer.
    #[must_use]
    pub(crate) fn redacted(mut self, redactor: &Redactor) -> Self {
        let clean = |text: &mut String| {
            if let std::borrow::Cow::Owned(clean) = redactor.redact(text) {
                *text = clean;
            }
        };
        // Sign-in parses the challenge, so only known secrets are redacted.
        let clean_known = |text: &mut String| *text = redactor.redact_known(text).into_owned();
        match &mut self {
            Self::Rpc(error) => {
                clean(&mut error.peer_message);
                error.peer_message = truncated(&error.peer_message, MAX_QUOTED_MESSAGE_BYTES);
                error.data.iter_mut().for_each(|data| redact_value(data, redactor));
            }
            Self::Http { body, .. } => {
                clean(body);
                *body = truncated(body, MAX_QUOTED_BYTES);
            }
            Self::Forbidden { challenge, body } => {
                challenge.iter_mut().for_each(clean_known);
                clean(body);
                *body = truncated(body, MAX_QUOTED_BYTES);
            }
            Self::SignIn { challenge } => challenge.iter_mut().for_each(clean_known),
            Self::Malformed { reason }
            | Self::Broken { reason }
            | Self::Unreachable { reason, .. }
            | Self::Tls { reason, .. } => clean(reason),
            Self::Redirect { to, .. } => clean(to),
            Self::OAuth(error) => error.each_text(&clean),
            Self::UnknownVersion { version } => clean(version),
            Self::NotMcp { content_type, .. } | Self::Preflight { content_type, .. } => {
                clean(content_type);
            }
            Self::BothFailed { first, second, .. } => {
                for error in [first, second] {
                    let inner = std::mem::replace(&mut **error, Self::Closed);
                    **error = inner.redacted(redactor);
                }
            }
            _ => {}
        }
        self
    }
}

fn is_transient(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::WouldBlock
            | io::ErrorKind::ResourceBusy
            | io::ErrorKind::ExecutableFileBusy
            | io::ErrorKind::OutOfMemory
            | io::ErrorKind::Interrupted
    )
}

impl From<oauth::Error> for Error {
    fn from(error: oauth::Error) -> Self {
        Self::OAuth(Box::new(error))
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::malformed(error.to_string())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProcessExit {
    #[error("exited with status {0}")]
    Status(i32),
    #[error("was killed by signal {0}")]
    Signal(i32),
    #[error("exited")]
    Unknown,
}

/// The output of a local server that explains its failure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerOutput {
    /// The end of its standard error.
    pub stderr: String,
    /// The first line of its standard output that is no message.
    pub noise: Option<String>,
}

impl fmt::Display for ServerOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stderr.trim() {
            "" => {}
            stderr => write!(f, "; its standard error ends with:\n{stderr}")?,
        }
        let Some(noise) = &self.noise else { return Ok(()) };
        let what = "Its standard output contained text that is not an MCP message";
        write!(f, "\n{what}, starting with: {noise}")
    }
}

fn missing_scope(challenge: Option<&str>) -> String {
    let scope = challenge.and_then(crate::oauth::scope::missing_scope);
    scope.map(|scope| format!("; required scope: `{scope}`")).unwrap_or_default()
}

fn quoted_body(body: &str) -> String {
    because((!body.is_empty()).then_some(body))
}

fn because(message: Option<&str>) -> String {
    message.map(|message| format!(": {message}")).unwrap_or_default()
}
