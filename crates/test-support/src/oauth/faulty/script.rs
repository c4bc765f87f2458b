//! The switches: what a [`Faulty`](super::Faulty) server does at each of its endpoints.

use std::time::Duration;

use serde_json::{Value, json};

/// What the server is like. The default is a correct one.
#[derive(Debug, Clone)]
pub struct Script {
    /// `/.well-known/oauth-protected-resource/mcp`, and the same without `/mcp`.
    pub resource_metadata: Endpoint,
    /// `/.well-known/oauth-authorization-server` and `/.well-known/openid-configuration`.
    pub server_metadata: Endpoint,
    /// `/register`.
    pub registration: Endpoint,
    /// `/authorize` itself; for what is wrong with the redirect, see [`redirect`](Self::redirect).
    pub authorization: Endpoint,
    /// What is changed in the query of the redirect, one after another.
    pub redirect: Vec<Twist>,
    /// `/token`.
    pub token: Endpoint,
    /// `/revoke`.
    pub revocation: Endpoint,
    /// `/mcp`, before it looks at the token.
    pub mcp: Endpoint,
    /// What a 401 of the MCP server says.
    pub challenge: Challenge,
    /// The refresh tokens it gives.
    pub refresh: Refresh,
    /// How long access tokens really live, and what `expires_in` says unless it is patched.
    pub access_seconds: u64,
    /// Tools and the scope that a call needs; others need none.
    pub tool_scopes: Vec<(String, String)>,
    /// Which of the two authorization servers the MCP server names and believes.
    pub issuer: Issuer,
    /// Clients that are registered from the beginning: `client_id`, `redirect_uris`, and perhaps
    /// `client_secret` and `token_endpoint_auth_method`.
    pub clients: Vec<Value>,
    /// Whether addresses of metadata documents are clients. The document is not fetched.
    pub client_documents: bool,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            resource_metadata: Endpoint::default(),
            server_metadata: Endpoint::default(),
            registration: Endpoint::default(),
            authorization: Endpoint::default(),
            redirect: Vec::new(),
            token: Endpoint::default(),
            revocation: Endpoint::default(),
            mcp: Endpoint::default(),
            challenge: Challenge::Full { scope: None },
            refresh: Refresh::Rotating,
            access_seconds: 3600,
            tool_scopes: vec![("write".to_owned(), "mcp:write".to_owned())],
            issuer: Issuer::Main,
            clients: Vec::new(),
            client_documents: false,
        }
    }
}

/// What one endpoint does.
#[derive(Debug, Clone, Default)]
pub struct Endpoint {
    /// What goes wrong, if anything.
    pub fault: Option<Fault>,
    /// For how many requests; `None` is for all.
    pub times: Option<u32>,
    /// A JSON merge patch over the correct answer: `null` removes a member.
    pub patch: Value,
}

impl Endpoint {
    /// Fails every time.
    pub fn failing(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    /// Fails that many times, and then is correct.
    pub fn failing_times(times: u32, fault: Fault) -> Self {
        Self { fault: Some(fault), times: Some(times), ..Self::default() }
    }

    /// Answers correctly, but for the members of this object; `null` removes one.
    pub fn saying(patch: Value) -> Self {
        Self { patch, ..Self::default() }
    }

    /// The fault for the next request.
    pub(super) fn next_fault(&mut self) -> Option<Fault> {
        match &mut self.times {
            None => {}
            Some(0) => return None,
            Some(left) => *left -= 1,
        }
        self.fault.clone()
    }
}

/// One way to fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// An OAuth error with this status.
    Refuse {
        /// The status.
        status: u16,
        /// The code, as in `invalid_grant`.
        error: String,
        /// What stands beside it.
        description: String,
    },
    /// A status with a line of text, and `Retry-After` if there are seconds.
    Status {
        /// The status.
        status: u16,
        /// What `Retry-After` says.
        retry_after: Option<u32>,
    },
    /// A web page with this status.
    Page(u16),
    /// A redirect with this status to the same path of [`other_url`](super::Faulty::other_url).
    Redirect(u16),
    /// Reads the request and says nothing until the client goes.
    Silent,
    /// The correct answer, this much later.
    Late(Duration),
    /// Reads the request and closes the connection. Nothing was done.
    HangUp,
    /// Does what was asked, and closes the connection without an answer.
    Lost,
    /// Does what was asked, and answers with the first half of the JSON, as if it were whole.
    Truncated,
    /// Does what was asked, and closes the connection in the middle of the answer.
    CutOff,
    /// The correct answer, made five mebibytes long by a member that nobody needs.
    Huge,
}

impl Fault {
    /// An OAuth error with this status and code.
    pub fn refuse(status: u16, error: &str) -> Self {
        let description = format!("the script says {error}");
        Self::Refuse { status, error: error.to_owned(), description }
    }

    /// A bare status.
    pub fn status(status: u16) -> Self {
        Self::Status { status, retry_after: None }
    }
}

/// A change to the query of a redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Twist {
    /// Replaces a parameter, or adds it.
    Set(String, String),
    /// Adds a parameter, also beside one of the same name.
    Add(String, String),
    /// Takes a parameter away.
    Remove(String),
}

impl Twist {
    /// Replaces a parameter, or adds it.
    pub fn set(name: &str, value: &str) -> Self {
        Self::Set(name.to_owned(), value.to_owned())
    }

    /// Adds a parameter, also beside one of the same name.
    pub fn add(name: &str, value: &str) -> Self {
        Self::Add(name.to_owned(), value.to_owned())
    }

    /// Takes a parameter away.
    pub fn remove(name: &str) -> Self {
        Self::Remove(name.to_owned())
    }

    /// An error instead of a code.
    pub fn error(code: &str, description: &str) -> Vec<Self> {
        vec![
            Self::remove("code"),
            Self::set("error", code),
            Self::set("error_description", description),
        ]
    }

    pub(super) fn apply(&self, query: &mut Vec<(String, String)>) {
        match self {
            Self::Set(name, value) => {
                query.retain(|(found, _)| found != name);
                query.push((name.clone(), value.clone()));
            }
            Self::Add(name, value) => query.push((name.clone(), value.clone())),
            Self::Remove(name) => query.retain(|(found, _)| found != name),
        }
    }
}

/// What a 401 of the MCP server says in `WWW-Authenticate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Challenge {
    /// `Bearer` with the address of the metadata, and perhaps a scope.
    Full {
        /// The scope that is asked for.
        scope: Option<String>,
    },
    /// Only `Bearer`.
    Bare,
    /// There is no such header.
    Absent,
    /// This.
    Text(String),
}

/// What becomes of refresh tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresh {
    /// There are none.
    Never,
    /// One for the whole login; an answer to a refresh does not repeat it.
    Lasting,
    /// A new one each time; an old one that comes again ends the whole login.
    Rotating,
}

/// One of the two authorization servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Issuer {
    /// The one at the origin of the MCP server.
    Main,
    /// The one at the other origin.
    Other,
}

impl Issuer {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Other => "other",
        }
    }
}

/// Lays a merge patch over a value.
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Some(changes) = patch.as_object() else { return };
    if !target.is_object() {
        *target = json!({});
    }
    let Some(members) = target.as_object_mut() else { return };
    for (name, change) in changes {
        match change {
            Value::Null => {
                members.remove(name);
            }
            Value::Object(_) => merge(members.entry(name.clone()).or_insert(json!({})), change),
            other => {
                members.insert(name.clone(), other.clone());
            }
        }
    }
}
