//! What can go wrong with a server, by what went wrong.
//!
//! Callers decide by [`Error::kind`]; the text is for people. Texts of peers (error messages,
//! standard error, bodies) are bounded and have passed the redactor before they stand here.

pub(crate) mod oauth;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::content::clean_value;
use crate::message::{RpcError, head};
use crate::redact::Redactor;
use crate::tool::DecodeError;

/// How much of the body of a refusal is quoted.
const MAX_QUOTED_BYTES: usize = 300;
/// How much of a server's error message is quoted.
const MAX_QUOTED_MESSAGE_BYTES: usize = 8 * 1024;

/// What went wrong with a server or a call.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Error {
    // Before anything is started.
    #[error("`{command}` was not found; looked in {searched}")]
    MissingExecutable { command: String, searched: String },
    #[error("`{path}` {reason}", path = path.display())]
    NotExecutable { path: PathBuf, reason: &'static str },
    #[error("`{command}` could not be started: {source}")]
    Spawn { command: String, source: io::Error },
    #[error("refused to start: {reason}")]
    Suspicious { reason: String },
    #[error("{what} `{path}` {reason}", path = path.display())]
    File { what: &'static str, path: PathBuf, reason: String },
    #[error("the client key `{path}` {reason}", path = path.display())]
    Password { path: PathBuf, reason: &'static str },
    #[error("no certificate authority to verify {url} with: {reason}")]
    NoAuthorities { url: String, reason: String },
    #[error("`{url}` is not an address of a server: {reason}")]
    BadUrl { url: String, reason: String },
    #[error("header `{name}` {reason}")]
    BadHeader { name: String, reason: &'static str },
    #[error("proxy `{proxy}` {reason}")]
    BadProxy { proxy: String, reason: &'static str },

    // A process.
    #[error("the server {}{}", exit, Tail(stderr, noise.as_ref()))]
    Exited { exit: Exit, stderr: String, noise: Option<String> },
    #[error("the server closed its output but still runs{}", Tail(stderr, noise.as_ref()))]
    OutputClosed { stderr: String, noise: Option<String> },
    #[error("the server does not read its input: {queued} bytes are waiting")]
    InputStuck { queued: usize },

    // A network.
    #[error("cannot reach {url}: {reason}")]
    Unreachable { url: String, reason: String },
    #[error("TLS with {url} failed: {reason}")]
    Tls { url: String, reason: String },
    #[error(
        "{url} answered {content_type} where MCP answers application/json or text/event-stream"
    )]
    NotMcp { url: String, content_type: String },
    #[error(
        "pre-flight: {url} answered {method} with {content_type}, not application/json or \
         text/event-stream"
    )]
    Preflight { method: http::Method, url: String, content_type: String },
    #[error("HTTP status {status}{}", Quoted(body))]
    Http { status: u16, body: String },
    #[error("the server wants a sign-in (HTTP status 401)")]
    SignIn { challenge: Option<String> },
    #[error("the server refuses us (HTTP status 403){}{}", Quoted(body), Wanted(challenge.as_deref()))]
    Forbidden { challenge: Option<String>, body: String },
    #[error(transparent)]
    OAuth(Box<oauth::Error>),
    #[error("redirected to {to}: {reason}")]
    Redirect { to: String, reason: &'static str },
    #[error("the connection to the server broke: {reason}")]
    Broken { reason: String },
    #[error("the server no longer knows our session")]
    SessionGone,
    #[error("the server ended our session while the call was on its way")]
    SessionLost,

    // The protocol.
    #[error("the server answered with an error: {0}")]
    Rpc(RpcError),
    #[error("the server's answer cannot be used: {reason}")]
    Malformed { reason: String },
    #[error("the server's answer is over the limit of {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the server speaks protocol version `{version}`, which this client does not know")]
    UnknownVersion { version: String },
    #[error("{first}; then, {attempt}: {second}")]
    BothFailed { first: Box<Error>, attempt: &'static str, second: Box<Error> },
    #[error("the server wanted input {rounds} times in a row without finishing")]
    TooManyRounds { rounds: u32 },

    // Time.
    #[error("no answer to `{method}` within {} s{}", after.as_secs_f32(), Tail(stderr, noise.as_ref()))]
    ConnectTimeout { method: String, after: Duration, stderr: String, noise: Option<String> },
    #[error("no sign of life from `{method}` for {} s", idle.as_secs_f32())]
    CallTimeout { method: String, idle: Duration },
    #[error("`{method}` was still running after {} s, the most it may take", cap.as_secs_f32())]
    CallTooLong { method: String, cap: Duration },
    #[error("the server was stopped")]
    Closed,
    #[error("the server was gone before the call was sent")]
    Unsent,
    #[error("the sign-in was still being renewed after {} s; nothing was sent", after.as_secs_f32())]
    StillRenewing { after: Duration },

    // The set of servers.
    #[error("there is no tool `{name}`")]
    UnknownTool { name: String },
    #[error("the arguments cannot be used: {reason}")]
    BadArguments { reason: String },
    #[error("there is no server `{name}`")]
    UnknownServer { name: String },
    #[error("server `{server}` is {state}")]
    NotReady { server: String, state: String },
    #[error("server `{server}` failed {failures} times in a row; next try in {} s", retry.as_secs())]
    BreakerOpen { server: String, failures: u32, retry: Duration },
    #[error("`{tool}` was not approved and was not run")]
    NotApproved { tool: String },
    #[error("`{tool}` may or may not have run: {cause}")]
    OutcomeUnknown { tool: String, cause: Box<Error> },
}

/// What a caller can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The configuration must change first.
    Configuration,
    /// A person must sign in first.
    SignIn,
    /// Trying again later may help.
    Transient,
    /// Only this call failed; the server is fine.
    Call,
}

impl Error {
    /// What can be done about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Spawn { source, .. } if is_passing(source.kind()) => Kind::Transient,
            Self::MissingExecutable { .. }
            | Self::Spawn { .. }
            | Self::NotExecutable { .. }
            | Self::Suspicious { .. }
            | Self::File { .. }
            | Self::Password { .. }
            | Self::NoAuthorities { .. }
            | Self::BadUrl { .. }
            | Self::BadHeader { .. }
            | Self::BadProxy { .. }
            | Self::NotMcp { .. }
            | Self::Preflight { .. }
            | Self::Redirect { .. }
            | Self::UnknownVersion { .. }
            | Self::UnknownServer { .. } => Kind::Configuration,
            Self::SignIn { .. } | Self::Forbidden { .. } => Kind::SignIn,
            Self::OAuth(error) => error.kind(),
            Self::BothFailed { first, second, .. } => match (first.kind(), second.kind()) {
                (Kind::SignIn, _) | (_, Kind::SignIn) => Kind::SignIn,
                (Kind::Configuration, _) | (_, Kind::Configuration) => Kind::Configuration,
                _ => Kind::Transient,
            },
            Self::OutcomeUnknown { cause, .. } => cause.kind(),
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
            | Self::BreakerOpen { .. } => Kind::Transient,
            Self::Rpc(_)
            | Self::Malformed { .. }
            | Self::TooLarge { .. }
            | Self::TooManyRounds { .. }
            | Self::UnknownTool { .. }
            | Self::BadArguments { .. }
            | Self::NotApproved { .. } => Kind::Call,
        }
    }

    /// Whether the session the error came from is of no more use.
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
}

/// Whether a process that could not be started may start a moment later.
fn is_passing(kind: io::ErrorKind) -> bool {
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
        Self::Malformed { reason: error.to_string() }
    }
}

impl Error {
    /// The same error with every secret taken out of what peers said.
    #[must_use]
    pub(crate) fn cleaned(mut self, redactor: &Redactor) -> Self {
        let clean = |text: &mut String| {
            if let std::borrow::Cow::Owned(clean) = redactor.clean(text) {
                *text = clean;
            }
        };
        // A challenge is read by who signs in: what merely looks like a secret stays.
        let clean_known = |text: &mut String| *text = redactor.clean_known(text).into_owned();
        match &mut self {
            Self::Rpc(error) => {
                clean(&mut error.peer_message);
                error.peer_message = head(&error.peer_message, MAX_QUOTED_MESSAGE_BYTES);
                error.data.iter_mut().for_each(|data| clean_value(data, redactor));
            }
            Self::Http { body, .. } => {
                clean(body);
                *body = head(body, MAX_QUOTED_BYTES);
            }
            Self::Forbidden { challenge, body } => {
                challenge.iter_mut().for_each(clean_known);
                clean(body);
                *body = head(body, MAX_QUOTED_BYTES);
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
                    **error = inner.cleaned(redactor);
                }
            }
            _ => {}
        }
        self
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
    /// In a way the system does not tell.
    Unknown,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "exited with status {status}"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}"),
            Self::Unknown => f.write_str("exited"),
        }
    }
}

/// What a process said before it failed.
struct Tail<'a>(&'a str, Option<&'a String>);

impl fmt::Display for Tail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stderr = self.0.trim();
        if !stderr.is_empty() {
            write!(f, "; its standard error ends with:\n{stderr}")?;
        }
        if let Some(noise) = self.1 {
            write!(f, "\nIts standard output held text that is no message, first: {noise}")?;
        }
        Ok(())
    }
}

/// The scopes that a refusal says are missing.
struct Wanted<'a>(Option<&'a str>);

impl fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.and_then(crate::oauth::scope::missing_scope) {
            Some(scope) => write!(f, "; it wants the scope `{scope}`"),
            None => Ok(()),
        }
    }
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ": {}", self.0) }
    }
}
