//! What the program around this crate hands in, and is asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::config::ServerEntry;
use crate::message::RpcError;
use crate::redact::Redactor;

/// A future that a trait object hands out.
pub type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Everything this crate takes from the program around it.
#[derive(Debug, Clone)]
pub struct Host {
    /// Who we say we are.
    pub identity: Identity,
    /// The environment: the safe list of it goes to local servers, its proxy variables are obeyed.
    pub environment: BTreeMap<String, String>,
    /// Where commands are also looked for, and `~` leads.
    pub home: Option<PathBuf>,
    /// Where the standard error of each server is written.
    pub log_dir: Option<PathBuf>,
    /// Where tool definitions seen before are kept.
    pub cache_dir: Option<PathBuf>,
    /// Where tokens are kept; without it nobody can be signed in.
    pub token_dir: Option<PathBuf>,
    /// The address of the document that says who this program is, where no server has its own.
    pub client_document: Option<String>,
    /// The program that ends the servers' processes if ours dies: see [`crate::guardian`].
    pub guardian: Option<Vec<String>>,
    /// Secrets that must not appear in anything that is written.
    pub redactor: Arc<Redactor>,
    /// Answers what servers ask.
    pub requests: Arc<dyn Requests>,
    /// Decides on calls that need a person's yes.
    pub approver: Arc<dyn Approver>,
    /// Brings a person to a page to sign in; without it a server that wants that has to wait.
    pub browser: Option<Arc<dyn Browser>>,
    /// Is told what happens.
    pub observer: Arc<dyn Observer>,
}

impl Host {
    /// A host that declines everything, shows nothing and keeps nothing.
    pub fn bare(environment: BTreeMap<String, String>) -> Self {
        Self {
            identity: Identity::default(),
            environment,
            home: None,
            log_dir: None,
            cache_dir: None,
            token_dir: None,
            client_document: None,
            guardian: None,
            redactor: Arc::new(Redactor::default()),
            requests: Arc::new(Decline),
            approver: Arc::new(Refuse),
            browser: None,
            observer: Arc::new(Silent),
        }
    }
}

/// Who we say we are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The program's name.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Default for Identity {
    fn default() -> Self {
        Self { name: "agent".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// Something a server asks for: a model's answer, a person's input, the roots.
#[derive(Debug, Clone)]
pub struct ServerRequest {
    /// Who asks.
    pub server: Arc<ServerEntry>,
    /// `sampling/createMessage`, `elicitation/create` or `roots/list`.
    pub method: String,
    /// As the server sent them.
    pub params: Value,
}

/// Answers what servers ask.
pub trait Requests: fmt::Debug + Send + Sync {
    /// The client capabilities to declare to this server: exactly what [`Requests::answer`] can do.
    fn capabilities(&self, entry: &ServerEntry) -> Value;

    /// The result, or the error the server gets.
    fn answer(&self, request: ServerRequest) -> Answer<Result<Value, RpcError>>;
}

/// Declares nothing and declines everything, each in the way the protocol provides.
#[derive(Debug, Clone, Copy)]
pub struct Decline;

impl Requests for Decline {
    fn capabilities(&self, _: &ServerEntry) -> Value {
        json!({})
    }

    fn answer(&self, request: ServerRequest) -> Answer<Result<Value, RpcError>> {
        let answer = match request.method.as_str() {
            "elicitation/create" => Ok(json!({ "action": "decline" })),
            "sampling/createMessage" => {
                Err(RpcError::new(-1, "this client does not run models for servers"))
            }
            other => Err(RpcError::new(
                RpcError::METHOD_NOT_FOUND,
                format!("this client does not answer {other}"),
            )),
        };
        Box::pin(std::future::ready(answer))
    }
}

/// A call that needs a person's yes.
#[derive(Debug, Clone)]
pub struct Approval {
    /// Whose tool.
    pub server: String,
    /// As it is registered.
    pub tool: String,
    /// As the server calls it.
    pub native_name: String,
    /// What it says about itself.
    pub description: String,
    /// What it would get.
    pub arguments: Value,
}

/// What a person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Run it this once.
    Allow,
    /// Do not run it.
    Deny,
}

/// Decides on calls that need a person's yes.
pub trait Approver: fmt::Debug + Send + Sync {
    /// Asks. Whoever cannot ask denies.
    fn decide(&self, approval: Approval) -> Answer<Decision>;
}

/// Denies everything: what stands where nobody can be asked.
#[derive(Debug, Clone, Copy)]
pub struct Refuse;

impl Approver for Refuse {
    fn decide(&self, _: Approval) -> Answer<Decision> {
        Box::pin(std::future::ready(Decision::Deny))
    }
}

/// A page a person is to visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// To sign in to which server.
    pub server: String,
    /// The page.
    pub address: String,
    /// Whose page it is.
    pub issuer: String,
    /// Where the browser comes back to.
    pub redirect_uri: String,
    /// The port of this machine that listens for it.
    pub port: u16,
    /// What is asked for.
    pub scope: Option<String>,
    /// What was wrong with what the person pasted last.
    pub problem: Option<String>,
}

/// What came of a visit, besides the browser coming back by itself.
#[derive(Clone, PartialEq, Eq)]
pub enum Visited {
    /// The person pasted where they were sent.
    Pasted(String),
    /// The person gave up.
    Cancelled,
}

// What was pasted holds a code that is as good as a token.
impl fmt::Debug for Visited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pasted(_) => "Pasted",
            Self::Cancelled => "Cancelled",
        })
    }
}

/// Brings a person to a page and back.
pub trait Browser: fmt::Debug + Send + Sync {
    /// Shows the page. The answer may never come: the listener hears of who comes back.
    fn visit(&self, visit: Visit) -> Answer<Visited>;

    /// The address of the client document, where the configuration names none.
    fn default_document(&self) -> Answer<Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

/// Something that happened, worth telling. Texts have passed the redactor.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A server is in another state.
    State {
        /// Whose.
        server: String,
        /// In words, with the reason.
        state: String,
    },
    /// Tools came, went or changed after the first listing.
    Tools {
        /// Whose.
        server: String,
        /// New names.
        added: Vec<String>,
        /// Names that are gone.
        removed: Vec<String>,
        /// Names whose definition is another.
        changed: Vec<String>,
    },
    /// A log message a server sent.
    Log {
        /// Whose.
        server: String,
        /// The server's word for it: debug to emergency.
        level: String,
        /// What it said.
        text: String,
    },
    /// Something a person should know.
    Warning {
        /// About whom.
        server: String,
        /// What.
        text: String,
    },
}

/// Is told what happens. Must return at once.
pub trait Observer: fmt::Debug + Send + Sync {
    /// It happened.
    fn event(&self, event: Event);
}

/// Tells nobody.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: Event) {}
}
