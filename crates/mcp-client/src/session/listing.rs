//! What a server offers, page by page.

use std::sync::Arc;
use std::time::Duration;

use super::{Ask, Limit, Session};
use crate::error::Error;
use crate::message::{Params, Payload};
use crate::protocol::Era;
use crate::registry::Catalogue;
use crate::tool::{
    DecodeError, HeaderRule, Page, Prompt, Quarantined, Resource, ResourceTemplate, prompts_page,
    resources_page, templates_page, tools_page,
};

/// The most pages of one list that are followed.
pub(crate) const MAX_PAGES: usize = 50;
/// The most items of one list that are taken.
pub(crate) const MAX_ITEMS: usize = 20_000;

/// How long a server that announces no tools may take to list them.
const MAX_UNDECLARED: Duration = Duration::from_secs(5);

/// A list, followed to its end or to a limit.
#[derive(Debug)]
pub struct Listed<T> {
    /// What can be used.
    pub items: Vec<T>,
    /// What cannot, and why.
    pub quarantined: Vec<Quarantined>,
    /// What a person should know about the list as a whole.
    pub notes: Vec<String>,
}

impl Session {
    /// The server's tools, and whether it has resources and prompts. Always asked anew.
    pub async fn list_tools(&self) -> Result<Catalogue, Error> {
        self.inner.cache.clear();
        let agreed = self.agreed();
        let (resources, prompts) = (agreed.offers("resources"), agreed.offers("prompts"));
        let mut catalogue = Catalogue { resources, prompts, ..Catalogue::default() };
        // Some servers have tools and do not say so.
        let is_declared = agreed.capabilities.get("tools").is_some_and(|value| !value.is_null());
        let rule = if self.mirrors() { HeaderRule::Mirror } else { HeaderRule::Ignore };
        let read = |result: &str| tools_page(result, rule);
        let listing = self.list("tools/list", read, Freshness::Asked);
        let listed = if is_declared {
            listing.await
        } else {
            // A server without tools need not answer at all.
            match tokio::time::timeout(MAX_UNDECLARED, listing).await {
                Ok(listed) => listed,
                Err(_) => return Ok(catalogue),
            }
        };
        match listed {
            Ok(listed) => {
                let redactor = &self.inner.host.redactor;
                let cleaned = listed.items.into_iter().map(|mut tool| {
                    for text in [&mut tool.description, &mut tool.title].into_iter().flatten() {
                        *text = redactor.clean_known(text).into_owned();
                    }
                    Arc::new(tool)
                });
                catalogue.tools = cleaned.collect();
                catalogue.quarantined = listed.quarantined;
                catalogue.notes = listed.notes;
                if !is_declared && !catalogue.tools.is_empty() {
                    catalogue.notes.push("it has tools, but does not announce them".to_owned());
                }
                Ok(catalogue)
            }
            // It never said it had any.
            Err(Error::Rpc(_) | Error::Http { .. } | Error::Malformed { .. }) if !is_declared => {
                Ok(catalogue)
            }
            Err(error) => Err(error),
        }
    }

    /// The server's resources.
    pub async fn list_resources(&self) -> Result<Listed<Resource>, Error> {
        self.list("resources/list", resources_page, Freshness::AsServerSays).await
    }

    /// The server's resource templates.
    pub async fn list_templates(&self) -> Result<Listed<ResourceTemplate>, Error> {
        self.list("resources/templates/list", templates_page, Freshness::AsServerSays).await
    }

    /// The server's prompts.
    pub async fn list_prompts(&self) -> Result<Listed<Prompt>, Error> {
        self.list("prompts/list", prompts_page, Freshness::AsServerSays).await
    }

    /// Follows a list to its end within twice what connecting may take, however many pages it has.
    async fn list<T>(
        &self,
        method: &str,
        read: impl Fn(&str) -> Result<Page<T>, DecodeError>,
        freshness: Freshness,
    ) -> Result<Listed<T>, Error> {
        let within = self.inner.entry.connect_timeout.saturating_mul(2);
        let all = self.pages(method, read, freshness);
        tokio::time::timeout(within, all)
            .await
            .unwrap_or_else(|_| Err(Error::CallTimeout { method: method.to_owned(), idle: within }))
    }

    async fn pages<T>(
        &self,
        method: &str,
        read: impl Fn(&str) -> Result<Page<T>, DecodeError>,
        freshness: Freshness,
    ) -> Result<Listed<T>, Error> {
        let mut listed = Listed { items: Vec::new(), quarantined: Vec::new(), notes: Vec::new() };
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let page = read(self.page(method, cursor.as_deref(), freshness).await?.text())?;
            listed.items.extend(page.items);
            listed.quarantined.extend(page.quarantined);
            listed.notes.extend(page.notes);
            if listed.items.len() > MAX_ITEMS {
                listed.items.truncate(MAX_ITEMS);
                listed.notes.push(format!("`{method}`: only the first {MAX_ITEMS} are taken"));
                return Ok(listed);
            }
            match page.next_cursor {
                None => return Ok(listed),
                Some(next) if Some(&next) == cursor.as_ref() => {
                    listed.notes.push(format!("`{method}`: the server gives the same page again"));
                    return Ok(listed);
                }
                Some(next) => cursor = Some(next),
            }
        }
        listed.notes.push(format!("`{method}`: only the first {MAX_PAGES} pages are taken"));
        Ok(listed)
    }

    async fn page(
        &self,
        method: &str,
        cursor: Option<&str>,
        freshness: Freshness,
    ) -> Result<Payload, Error> {
        let key = format!("{method} {}", cursor.unwrap_or_default());
        if freshness == Freshness::AsServerSays
            && !self.is_over()
            && let Some(kept) = self.inner.cache.find(&key)
        {
            return Ok(kept);
        }
        let mut params = Params::new();
        if let Some(cursor) = cursor {
            params = params.with_raw("cursor", cursor);
        }
        let limit = Limit::within(self.inner.entry.connect_timeout);
        let asked_in = self.inner.cache.generation();
        let answer = self.ask(Ask::new(method, params, limit)).await?;
        if self.agreed().era == Era::Stateless {
            self.inner.cache.keep(key, &answer, asked_in);
        }
        Ok(answer)
    }
}

/// Whether an answer that may be kept is good enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Freshness {
    Asked,
    AsServerSays,
}
