//! What is kept of a sign-in, in words and as JSON.

use mcp_client::config::ServerEntry;
use mcp_client::oauth::{ClientKind, Grant, SignInStatus};
use serde_json::{Value, json};

use crate::duration::length;
use crate::mcp::is_alone;
use crate::session::Session;

/// Now, in seconds since 1970.
pub(super) fn now(session: &Session) -> u64 {
    u64::try_from(session.clock.now().as_ms() / 1000).unwrap_or(0)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// There is a grant that holds, or renews itself.
    SignedIn,
    /// There was one; a person has to sign in again.
    Expired,
    /// The program gets one when it needs it.
    Alone,
    /// There is a file, and it cannot be used.
    Unreadable,
    SignedOut,
}

impl State {
    pub(super) fn of(entry: &ServerEntry, standing: &SignInStatus, now: u64) -> Self {
        match (&standing.granted, &standing.unreadable) {
            (Some(granted), _) if has_ended(granted, now) => Self::Expired,
            (Some(_), _) => Self::SignedIn,
            (None, Some(_)) => Self::Unreadable,
            (None, None) if is_alone(entry) => Self::Alone,
            (None, None) => Self::SignedOut,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::SignedIn => "signed in",
            Self::Expired => "expired",
            Self::Alone => "signs in by itself",
            Self::Unreadable => "unreadable",
            Self::SignedOut => "not signed in",
        }
    }

    pub(super) fn is_good(self) -> bool {
        matches!(self, Self::SignedIn | Self::Alone)
    }
}

/// Whether a grant has ended and cannot renew itself.
fn has_ended(granted: &Grant, now: u64) -> bool {
    !granted.renewable && granted.expires_at.is_some_and(|end| end <= now)
}

/// When a grant ends, and what happens then.
pub(super) fn expiry(granted: &Grant, session: &Session) -> String {
    ends(granted, now(session))
}

fn ends(granted: &Grant, now: u64) -> String {
    match (granted.expires_at, granted.renewable) {
        (None, _) => "unknown".to_owned(),
        (Some(end), true) if end > now => {
            format!("in {}, renewed automatically", length(end - now))
        }
        (Some(end), false) if end > now => format!("in {}", length(end - now)),
        (Some(end), true) => format!("expired {} ago, renewed automatically", length(now - end)),
        (Some(end), false) => format!("expired {} ago; sign in again", length(now - end)),
    }
}

/// How we are known to the authorization server.
pub(super) fn known_by(client: &ClientKind) -> (&'static str, Option<&str>) {
    match client {
        ClientKind::Configured(id) => ("configured client", Some(id)),
        ClientKind::Document(url) => ("document", Some(url)),
        ClientKind::Registered(id) => ("registration", Some(id)),
        ClientKind::Unknown => ("-", None),
    }
}

pub(super) fn standing_json(
    entry: &ServerEntry,
    standing: &SignInStatus,
    session: &Session,
) -> Value {
    let (kind, id) = known_by(&standing.client);
    let kind = id.map(|_| kind.replace(' ', "_"));
    let granted = standing.granted.as_ref();
    let now = now(session);
    json!({
        "server": entry.name,
        "state": State::of(entry, standing, now).word(),
        "signed_in": granted.is_some_and(|granted| !has_ended(granted, now)),
        "needs_person": !is_alone(entry),
        "unreadable": standing.unreadable,
        "issuer": granted.map(|granted| &granted.issuer),
        "scope": granted.and_then(|granted| granted.scope.as_ref()),
        "expires_at": granted.and_then(|granted| granted.expires_at),
        "expired": granted.and_then(|granted| granted.expires_at).map(|end| end <= now),
        "obtained_at": granted.map(|granted| granted.obtained_at),
        "renewable": granted.map(|granted| granted.renewable),
        "bound_to_key": granted.map(|granted| granted.bound),
        "client": { "kind": kind, "id": id },
        "document_refused": standing.document_refused,
        "file": standing.file,
    })
}

#[cfg(test)]
mod tests;
