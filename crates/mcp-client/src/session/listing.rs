//! Listing of tools, resources and prompts, page by page.

use std::time::Duration;

use super::{Request, Session, Timeouts};
use crate::error::Error;
use crate::message::{Params, RawJson};
use crate::protocol::Era;
use crate::registry::ServerCatalogue;
use crate::tool::{
    DecodeError, HeaderMirroring, ListPage, Prompt, Resource, ResourceTemplate, prompts_page,
    resources_page, templates_page, tools_page,
};

pub(crate) const MAX_PAGES: usize = 50;
pub(crate) const MAX_ITEMS: usize = 20_000;

/// Timeout of a tool listing from a server that declares no tools.
const UNDECLARED_TOOLS_TIMEOUT: Duration = Duration::from_secs(5);

impl Session {
    /// Lists the tools anew, and whether the server has resources and prompts.
    pub async fn list_tools(&self) -> Result<ServerCatalogue, Error> {
        self.inner.cache.clear();
        let mut catalogue = self.catalogue_without_tools();
        // Some servers have tools and do not declare them.
        let is_declared = !self.handshake().capabilities["tools"].is_null();
        let rule = if self.mirrors() { HeaderMirroring::Mirror } else { HeaderMirroring::Ignore };
        let read = |result: &str| tools_page(result, rule);
        let listing = self.list("tools/list", read);
        // A server without tools need not respond at all.
        let within = if is_declared { Duration::MAX } else { UNDECLARED_TOOLS_TIMEOUT };
        let Ok(listed) = tokio::time::timeout(within, listing).await else { return Ok(catalogue) };
        match listed {
            Ok(mut listed) => {
                let texts = listed.items.iter_mut();
                let texts = texts.flat_map(|tool| [&mut tool.description, &mut tool.title]);
                for text in texts.flatten() {
                    *text = self.inner.host.redactor.redact_known(text).into_owned();
                }
                catalogue.add_page(listed);
                if !is_declared && !catalogue.tools.is_empty() {
                    let note = "the server has tools but does not declare the capability";
                    catalogue.notes.push(note.to_owned());
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

    pub(crate) fn catalogue_without_tools(&self) -> ServerCatalogue {
        let handshake = self.handshake();
        let (resources, prompts) = (handshake.offers("resources"), handshake.offers("prompts"));
        ServerCatalogue { resources, prompts, ..ServerCatalogue::default() }
    }

    pub async fn list_resources(&self) -> Result<ListPage<Resource>, Error> {
        self.list("resources/list", resources_page).await
    }

    pub async fn list_templates(&self) -> Result<ListPage<ResourceTemplate>, Error> {
        self.list("resources/templates/list", templates_page).await
    }

    pub async fn list_prompts(&self) -> Result<ListPage<Prompt>, Error> {
        self.list("prompts/list", prompts_page).await
    }

    /// Lists all pages, to the end or to a limit, within twice the connect timeout.
    async fn list<T>(
        &self,
        method: &str,
        read: impl Fn(&str) -> Result<ListPage<T>, DecodeError>,
    ) -> Result<ListPage<T>, Error> {
        let within = self.inner.entry.connect_timeout.saturating_mul(2);
        let all = self.pages(method, read);
        let late = || Error::CallTimeout { method: method.to_owned(), idle: within };
        tokio::time::timeout(within, all).await.unwrap_or_else(|_| Err(late()))
    }

    async fn pages<T>(
        &self,
        method: &str,
        read: impl Fn(&str) -> Result<ListPage<T>, DecodeError>,
    ) -> Result<ListPage<T>, Error> {
        let mut listed = ListPage::default();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let page = read(self.page(method, cursor.as_deref()).await?.text())?;
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
                    let note = format!("`{method}`: the server returned the same page twice");
                    listed.notes.push(note);
                    return Ok(listed);
                }
                Some(next) => cursor = Some(next),
            }
        }
        listed.notes.push(format!("`{method}`: only the first {MAX_PAGES} pages are used"));
        Ok(listed)
    }

    async fn page(&self, method: &str, cursor: Option<&str>) -> Result<RawJson, Error> {
        let key = format!("{method} {}", cursor.unwrap_or_default());
        if !self.is_closed()
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
