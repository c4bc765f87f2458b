//! The interface to the embedding program: its environment, and traits that answer for it.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::config::{ApprovalMode, ServerEntry};
use crate::message::RpcError;
use crate::redact::Redactor;

pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Everything this crate takes from the embedding program.
#[derive(Debug, Clone)]
pub struct Host {
    pub identity: ClientIdentity,
    /// Local servers inherit a safe list of it; its proxy variables apply to remote ones.
    pub environment: BTreeMap<String, String>,
    /// For `~`, and as a fallback search path of commands.
    pub home: Option<PathBuf>,
    /// The folder that servers with `roots: true` learn as their root.
    pub workspace: Option<PathBuf>,
    pub log_dir: Option<PathBuf>,
    pub cache_dir: Option<PathBuf>,
    /// Folder of OAuth tokens; without it sign-in is impossible.
    pub token_dir: Option<PathBuf>,
    pub keychain: Option<Arc<dyn SecretStore>>,
    /// Where new tokens are stored; stored ones are found in either place.
    pub token_place: TokenPlace,
    pub client_document: Option<String>,
    /// Command of the guardian process: see [`crate::guardian`].
    pub guardian: Option<Vec<String>>,
    pub redactor: Arc<Redactor>,
    pub requests: Arc<dyn RequestHandler>,
    pub approver: Arc<dyn Approver>,
    /// Opens sign-in pages; without it a server that needs a sign-in stays unavailable.
    pub browser: Option<Arc<dyn Browser>>,
    pub observer: Arc<dyn Observer>,
    /// Remembers running tasks; without it a task is lost with this process.
    pub tasks: Option<Arc<dyn TaskStore>>,
}

impl Host {
    /// A host that declines every request, ignores events and stores nothing.
    pub fn bare(environment: BTreeMap<String, String>) -> Self {
        Self {
            identity: ClientIdentity::default(),
            environment,
            home: None,
            workspace: None,
            log_dir: None,
            cache_dir: None,
            token_dir: None,
            keychain: None,
            token_place: TokenPlace::Files,
            client_document: None,
            guardian: None,
            redactor: Arc::new(Redactor::default()),
            requests: Arc::new(DeclineRequests),
            approver: Arc::new(DeclineRequests),
            browser: None,
            observer: Arc::new(IgnoreEvents),
            tasks: None,
        }
    }

    pub(crate) fn warn(&self, server: &str, text: impl Into<String>) {
        let (server, text) = (server.to_owned(), text.into());
        self.observer.event(ClientEvent::Warning { server, text });
    }
}

/// A task that a server runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTask {
    pub server: String,
    /// The registered name of its tool.
    pub tool: String,
    pub id: String,
}

/// Remembers the tasks that servers run, so that a later process can get their results.
pub trait TaskStore: fmt::Debug + Send + Sync {
    fn started(&self, task: &ServerTask);
    fn ended(&self, task: &ServerTask);
}

/// Stores secrets by the path of the file that would hold them otherwise.
pub trait SecretStore: fmt::Debug + Send + Sync {
    /// `None` if nothing is stored.
    fn read(&self, path: &Path) -> io::Result<Option<String>>;
    fn write(&self, path: &Path, secret: &str) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenPlace {
    Files,
    /// [`Host::keychain`], with a reference in the file.
    Keychain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientIdentity {
    pub name: String,
    pub version: String,
}

impl Default for ClientIdentity {
    fn default() -> Self {
        Self { name: "agent".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// A request of a server: sampling, elicitation or roots.
#[derive(Debug, Clone)]
pub struct ServerRequest {
    pub server: Arc<ServerEntry>,
    /// `sampling/createMessage`, `elicitation/create` or `roots/list`.
    pub method: String,
    pub params: Value,
}

pub trait RequestHandler: fmt::Debug + Send + Sync {
    /// The client capabilities to declare to this server: exactly those that
    /// [`RequestHandler::answer`] implements.
    fn capabilities(&self, entry: &ServerEntry) -> Value;

    /// The result, or the error to return to the server.
    fn answer(&self, request: ServerRequest) -> BoxFuture<Result<Value, RpcError>>;
}

/// Declares no capabilities, declines every request as the protocol specifies, and denies every
/// call.
#[derive(Debug, Clone, Copy)]
pub struct DeclineRequests;

impl RequestHandler for DeclineRequests {
    fn capabilities(&self, _: &ServerEntry) -> Value {
        json!({})
    }

    fn answer(&self, request: ServerRequest) -> BoxFuture<Result<Value, RpcError>> {
        let answer = match request.method.as_str() {
            "elicitation/create" => Ok(json!({ "action": "decline" })),
            "sampling/createMessage" => {
                Err(RpcError::new(-1, "this client does not support sampling"))
            }
            other => Err(RpcError::unsupported(other)),
        };
        Box::pin(std::future::ready(answer))
    }
}

#[derive(Debug, Clone)]
pub struct ApprovalRequest {
    pub server: String,
    /// The registered name.
    pub tool: String,
    /// The name that the server uses.
    pub native_name: String,
    pub description: String,
    pub arguments: Value,
    pub approval: Option<ApprovalMode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalDecision {
    Allow,
    Deny,
}

pub trait Approver: fmt::Debug + Send + Sync {
    /// Decides on one call. Implementations that cannot ask deny.
    fn decide(&self, approval: ApprovalRequest) -> BoxFuture<ApprovalDecision>;
}

impl Approver for DeclineRequests {
    fn decide(&self, _: ApprovalRequest) -> BoxFuture<ApprovalDecision> {
        Box::pin(std::future::ready(ApprovalDecision::Deny))
    }
}

/// An authorization page to open in a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInPage {
    pub server: String,
    pub address: String,
    pub issuer: String,
    pub redirect_uri: String,
    pub port: u16,
    pub scope: Option<String>,
    /// The authorization server also offers a sign-in with a device code.
    pub offers_device_code: bool,
    /// Why the last pasted text was rejected.
    pub problem: Option<String>,
}

/// How the person answered, if not by the browser's redirect.
#[derive(Clone, PartialEq, Eq)]
pub enum SignInReply {
    Pasted(String),
    Cancelled,
}

// A pasted URL holds an authorization code, which is a secret.
impl fmt::Debug for SignInReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pasted(_) => "Pasted",
            Self::Cancelled => "Cancelled",
        })
    }
}

pub trait Browser: fmt::Debug + Send + Sync {
    /// Shows the page. The future may stay pending: the callback listener receives the redirect.
    fn open_sign_in(&self, page: SignInPage) -> BoxFuture<SignInReply>;

    /// URL of the client document if the configuration names none.
    fn default_document(&self) -> BoxFuture<Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

/// An event for the embedding program. Texts are redacted.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientEvent {
    State { server: String, state: String },
    Tools { server: String, added: Vec<String>, removed: Vec<String>, changed: Vec<String> },
    Log { server: String, level: String, text: String },
    Warning { server: String, text: String },
}

/// Receives events. Must not block.
pub trait Observer: fmt::Debug + Send + Sync {
    fn event(&self, event: ClientEvent);
}

#[derive(Debug, Clone, Copy)]
pub struct IgnoreEvents;

impl Observer for IgnoreEvents {
    fn event(&self, _: ClientEvent) {}
}
