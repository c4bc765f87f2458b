//! Listing of tools, resources and prompts, page by page.

use std::sync::Arc;
use std::time::Duration;

use super::{Request, Session, Timeouts};
use crate::error::Error;
use crate::message::{Params, RawJson};
use crate::protocol::Era;
use crate::registry::ServerCatalogue;
use crate::tool::{
    DecodeError, HeaderMirroring, ListPage, Prompt, QuarantinedItem, Resource, ResourceTemplate,
    prompts_page, resources_page, templates_page, tools_page,
};

pub(crate) const MAX_PAGES: usize = 50;
pub(crate) const MAX_ITEMS: usize = 20_000;

/// Timeout of a tool listing from a server that declares no tools.
const UNDECLARED_TOOLS_TIMEOUT: Duration = Duration::from_secs(5);

/// A list, read to its end or to a limit.
#[derive(Debug)]
pub struct Listing<T> {
    pub items: Vec<T>,
    /// Rejected items.
    pub quarantined: Vec<QuarantinedItem>,
    /// Remarks about the list as a whole.
    pub notes: Vec<String>,
}

impl Session {
    /// Lists the tools, bypassing the cache, and whether the server has resources and prompts.
    pub async fn list_tools(&self) -> Result<ServerCatalogue, Error> {
        self.inner.cache.clear();
        let handshake = self.handshake();
        let (resources, prompts) = (handshake.offers("resources"), handshake.offers("prompts"));
        let mut catalogue = ServerCatalogue { resources, prompts, ..ServerCatalogue::default() };
        // Some servers have tools and do not declare them.
        let is_declared = handshake.capabilities.get("tools").is_some_and(|value| !value.is_null());
        let rule = if self.mirrors() { HeaderMirroring::Mirror } else { HeaderMirroring::Ignore };
        let read = |result: &str| tools_page(result, rule);
        let listing = self.list("tools/list", read, CachePolicy::Bypass);
        let listed = if is_declared {
            listing.await
        } else {
            // A server without tools need not respond at all.
            match tokio::time::timeout(UNDECLARED_TOOLS_TIMEOUT, listing).await {
                Ok(listed) => listed,
                Err(_) => return Ok(catalogue),
            }
        };
        match listed {
            Ok(listed) => {
                let redactor = &self.inner.host.redactor;
                let redacted = listed.items.into_iter().map(|mut tool| {
                    for text in [&mut tool.description, &mut tool.title].into_iter().flatten() {
                        *text = redactor.redact_known(text).into_owned();
                    }
                    Arc::new(tool)
                });
                catalogue.tools = redacted.collect();
                catalogue.quarantined = listed.quarantined;
                catalogue.notes = listed.notes;
                if !is_declared && !catalogue.tools.is_empty() {
                    catalogue.notes.push(
                        "the server has tools but does not declare the capability".to_owned(),
                    );
                }
                Ok(catalogue)
            }
            // It never declared tools.
            Err(Error::Rpc(_) | Error::Http { .. } | Error::Malformed { .. }) if !is_declared => {
                Ok(catalogue)
            }
            Err(error) => Err(error),
        }
    }

    /// Calls `resources/list`.
    pub async fn list_resources(&self) -> Result<Listing<Resource>, Error> {
        self.list("resources/list", resources_page, CachePolicy::Use).await
    }

    /// Calls `resources/templates/list`.
    pub async fn list_templates(&self) -> Result<Listing<ResourceTemplate>, Error> {
        self.list("resources/templates/list", templates_page, CachePolicy::Use).await
    }

    /// Calls `prompts/list`.
    pub async fn list_prompts(&self) -> Result<Listing<Prompt>, Error> {
        self.list("prompts/list", prompts_page, CachePolicy::Use).await
    }

    /// Lists all pages within twice the connect timeout.
    async fn list<T>(
        &self,
        method: &str,
        read: impl Fn(&str) -> Result<ListPage<T>, DecodeError>,
        policy: CachePolicy,
    ) -> Result<Listing<T>, Error> {
        let within = self.inner.entry.connect_timeout.saturating_mul(2);
        let all = self.pages(method, read, policy);
        tokio::time::timeout(within, all)
            .await
            .unwrap_or_else(|_| Err(Error::CallTimeout { method: method.to_owned(), idle: within }))
    }

    async fn pages<T>(
        &self,
        method: &str,
        read: impl Fn(&str) -> Result<ListPage<T>, DecodeError>,
        policy: CachePolicy,
    ) -> Result<Listing<T>, Error> {
        let mut listed = Listing { items: Vec::new(), quarantined: Vec::new(), notes: Vec::new() };
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let page = read(self.page(method, cursor.as_deref(), policy).await?.text())?;
            listed.items.extend(page.items);
            listed.quarantined.extend(page.quarantined);
            listed.notes.extend(page.notes);
            if listed.items.len() > MAX_ITEMS {
                listed.items.truncate(MAX_ITEMS);
                listed.notes.push(format!("`{method}`: only the first {MAX_ITEMS} are used"));
                return Ok(listed);
            }
            match page.next_cursor {
                None => return Ok(listed),
                Some(next) if Some(&next) == cursor.as_ref() => {
                    listed
                        .notes
                        .push(format!("`{method}`: the server returned the same page twice"));
                    return Ok(listed);
                }
                Some(next) => cursor = Some(next),
            }
        }
        listed.notes.push(format!("`{method}`: only the first {MAX_PAGES} pages are used"));
        Ok(listed)
    }

    async fn page(
        &self,
        method: &str,
        cursor: Option<&str>,
        policy: CachePolicy,
    ) -> Result<RawJson, Error> {
        let key = format!("{method} {}", cursor.unwrap_or_default());
        if policy == CachePolicy::Use
            && !self.is_closed()
            && let Some(kept) = self.inner.cache.find(&key)
        {
            return Ok(kept);
        }
        let mut params = Params::default();
        if let Some(cursor) = cursor {
            params = params.with_raw("cursor", cursor);
        }
        let timeouts = Timeouts::total(self.inner.entry.connect_timeout);
        let asked_in = self.inner.cache.generation();
        let answer = self.request(Request::new(method, params, timeouts)).await?;
        if self.handshake().era == Era::Stateless {
            self.inner.cache.keep(key, &answer, asked_in);
        }
        Ok(answer)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CachePolicy {
    Bypass,
    Use,
}
