//! The switches of a [`FaultyAuthServer`](super::FaultyAuthServer) at each of its endpoints.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

/// The behaviour of the server. The default is a correct one.
#[derive(Debug, Clone)]
pub struct Script {
    /// `/.well-known/oauth-protected-resource/mcp`, and the same without `/mcp`.
    pub resource_metadata: Endpoint,
    /// `/.well-known/oauth-authorization-server` and `/.well-known/openid-configuration`.
    pub server_metadata: Endpoint,
    pub registration: Endpoint,
    /// `/authorize` itself; for faults of the redirect, see [`redirect`](Self::redirect).
    pub authorization: Endpoint,
    /// Changes to the query of the redirect, in order.
    pub redirect: Vec<RedirectChange>,
    pub token: Endpoint,
    /// `/device_authorization`; only announced with [`device_codes`](Self::device_codes).
    pub device_authorization: Endpoint,
    pub revocation: Endpoint,
    /// `/mcp`, before it checks the token.
    pub mcp: Endpoint,
    pub challenge: Challenge,
    pub refresh: Refresh,
    /// Real lifetime of access tokens, and the value of `expires_in` unless it is patched.
    pub access_seconds: u64,
    /// Tools and the scope that a call needs; others need none.
    pub tool_scopes: Vec<(String, String)>,
    /// Which of the two authorization servers the MCP server names and trusts.
    pub issuer: Issuer,
    /// Clients registered from the start: `client_id`, `redirect_uris`, and optionally
    /// `client_secret` and `token_endpoint_auth_method`.
    pub clients: Vec<Value>,
    /// Whether URLs of metadata documents are clients. The document is not fetched.
    pub client_documents: bool,
    /// Whether it offers device codes. They are confirmed at once, without a page.
    pub device_codes: bool,
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
            device_authorization: Endpoint::default(),
            revocation: Endpoint::default(),
            mcp: Endpoint::default(),
            challenge: Challenge::Full { scope: None },
            refresh: Refresh::Rotating,
            access_seconds: 3600,
            tool_scopes: vec![("write".to_owned(), "mcp:write".to_owned())],
            issuer: Issuer::Main,
            clients: Vec::new(),
            client_documents: false,
            device_codes: false,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Endpoint {
    pub fault: Option<Fault>,
    /// The number of affected requests; `None` means all.
    pub times: Option<u32>,
    /// A JSON merge patch over the correct response: `null` removes a member.
    pub patch: Value,
}

impl Endpoint {
    pub fn failing(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    /// Fails that many times, and then is correct.
    pub fn failing_times(times: u32, fault: Fault) -> Self {
        Self { fault: Some(fault), times: Some(times), ..Self::default() }
    }

    /// Answers correctly, except for the members of this object; `null` removes one.
    pub fn saying(patch: Value) -> Self {
        Self { patch, ..Self::default() }
    }

    pub(super) fn next_fault(&mut self) -> Option<Fault> {
        match &mut self.times {
            None => {}
            Some(0) => return None,
            Some(left) => *left -= 1,
        }
        self.fault.clone()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// An OAuth error with this status.
    Refuse {
        status: u16,
        /// Such as `invalid_grant`.
        error: String,
        description: String,
    },
    /// A status with a line of text, and optionally `Retry-After`.
    Status {
        status: u16,
        /// In seconds.
        retry_after: Option<u32>,
    },
    /// An HTML page with this status.
    Page(u16),
    /// A redirect with this status to the same path of
    /// [`other_url`](super::FaultyAuthServer::other_url).
    Redirect(u16),
    /// Reads the request and sends nothing until the client disconnects.
    Silent,
    /// The correct response after this delay.
    Late(Duration),
    /// Reads the request and closes the connection without handling it.
    HangUp,
    /// Handles the request and closes the connection without a response.
    Lost,
    /// Handles the request and responds with the first half of the JSON, as if it were complete.
    Truncated,
    /// Handles the request and closes the connection in the middle of the response.
    CutOff,
    /// The correct response with an extra member of five mebibytes.
    Huge,
}

impl Fault {
    pub fn refuse(status: u16, error: &str) -> Self {
        let description = format!("the script says {error}");
        Self::Refuse { status, error: error.to_owned(), description }
    }

    pub fn status(status: u16) -> Self {
        Self::Status { status, retry_after: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedirectChange {
    /// Replaces a parameter, or adds it.
    Set(String, String),
    /// Adds a parameter, also next to one of the same name.
    Add(String, String),
    Remove(String),
}

impl RedirectChange {
    pub fn set(name: &str, value: &str) -> Self {
        Self::Set(name.to_owned(), value.to_owned())
    }

    pub fn add(name: &str, value: &str) -> Self {
        Self::Add(name.to_owned(), value.to_owned())
    }

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

/// The `WWW-Authenticate` header of a 401 of the MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Challenge {
    /// `Bearer` with the URL of the metadata, and optionally a scope.
    Full {
        scope: Option<String>,
    },
    Bare,
    Absent,
    Text(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresh {
    Never,
    /// One for the whole login; the response to a refresh does not repeat it.
    Lasting,
    /// A new one each time; reuse of an old one ends the whole login.
    Rotating,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Issuer {
    /// The one at the origin of the MCP server.
    Main,
    Other,
}

/// Applies a JSON merge patch.
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
