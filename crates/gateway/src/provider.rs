//! Providers at run time: the connections to an upstream, what it may be asked, and its health.

mod client;
mod clean;
mod health;
mod send;

use std::sync::Arc;
use std::time::Duration;

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Uri};
use tokio::sync::Semaphore;

pub(crate) use clean::Cleaner;
pub(crate) use client::Client;
pub(crate) use health::Health;
pub(crate) use send::{Failure, Upstream};

/// Which interface an upstream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    OpenAi,
    Anthropic,
}

/// Whether an upstream speaks the responses interface itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Responses {
    Native,
    Bridged,
}

/// How long to wait for an upstream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// Until it begins to answer.
    pub(crate) first_byte: Duration,
    /// Between two pieces of an answer.
    pub(crate) idle: Duration,
}

/// An upstream at run time.
pub(crate) struct Provider {
    pub(crate) name: Arc<str>,
    pub(crate) kind: Kind,
    pub(crate) responses: Responses,
    /// Whether a stream may be asked for its usage.
    pub(crate) stream_usage: bool,
    pub(crate) timeouts: Timeouts,
    pub(crate) max_answer_bytes: usize,
    pub(crate) base: Base,
    /// Sent with every request; holds the key.
    pub(crate) headers: HeaderMap,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) health: Health,
    pub(crate) client: Client,
    pub(crate) cleaner: Cleaner,
}

/// The address of an upstream, taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
    /// Without a slash at its end.
    pub(crate) path: String,
}

impl Base {
    pub(crate) fn new(uri: &Uri) -> Option<Self> {
        Some(Self {
            scheme: uri.scheme()?.clone(),
            authority: uri.authority()?.clone(),
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// The address of a path below it.
    pub(crate) fn join(&self, path: &str) -> Option<Uri> {
        let path = PathAndQuery::try_from(format!("{}{path}", self.path)).ok()?;
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
            .ok()
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Provider").field("name", &self.name).finish_non_exhaustive()
    }
}
