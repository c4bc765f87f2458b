//! Which client document a sign-in would use: the one that the configuration names, else that of
//! the member service, else the one that was built in.

use std::time::Duration;

use mcp_client::config::{OauthOptions, Parsed, fault_of_client_document};
use mcp_client::oauth::identification::{DocumentExclusion, LoginFacts};
use serde::Deserialize;
use task_loop::member::MemberRequest;

use crate::member::Member;
use crate::member::settings::Settings;
use crate::session::Session;

/// Set at build time by distributors.
const BUILT_IN: Option<&str> = option_env!("AGENT_CLIENT_METADATA_URL");
/// Where a member service has its document, beside its API. It has one only if it is reached by
/// https.
const AT_SERVICE: &str = "/oauth/client-metadata.json";
/// How long the service may take to say so; a sign-in does not depend on it.
const MAX_WAIT: Duration = Duration::from_secs(3);
const MAX_DOCUMENT_BYTES: usize = 64 * 1024;

/// The client document of servers whose configuration names none.
#[derive(Debug, Clone)]
pub(crate) struct Source(pub(crate) Session);

#[derive(Debug, Deserialize)]
struct Document {
    client_id: String,
}

impl Source {
    /// The document that the service announces: the one it serves says where it is.
    pub(crate) async fn address(&self) -> Option<String> {
        let announced = tokio::time::timeout(MAX_WAIT, self.announced()).await.ok().flatten();
        announced.or_else(|| sound(BUILT_IN).map(str::to_owned))
    }

    async fn announced(&self) -> Option<String> {
        // Everybody may read it: the key stays here.
        let base = Settings::load(&self.0).ok()?.base_url;
        let service = Member::of(Settings::open_to_all(base).ok()?, &self.0).ok()?;
        let base = &service.settings.base_url.value;
        let root = base.strip_suffix("/v1").unwrap_or(base);
        let target = format!("{root}{AT_SERVICE}").parse().ok()?;
        let ask = MemberRequest::get(AT_SERVICE).at_most(MAX_DOCUMENT_BYTES);
        let document: Document = service.client.ask_at(&target, ask).await.ok()?.json().ok()?;
        fault_of_client_document(&document.client_id).is_none().then_some(document.client_id)
    }
}

pub(crate) fn configured(parsed: &Parsed) -> Option<&str> {
    parsed.client_metadata_url.as_ref().map(mcp_client::config::Text::value)
}

/// The address of the document of servers that name none of their own, as far as it is known
/// without asking the service.
pub(crate) fn address_for_all(parsed: &Parsed) -> Option<&str> {
    configured(parsed).or_else(|| sound(BUILT_IN))
}

/// The address of the document that a sign-in to a server would use, if any.
pub(crate) fn address<'a>(oauth: &'a OauthOptions, parsed: &'a Parsed) -> Option<&'a str> {
    let facts = LoginFacts::first_time(oauth, address_for_all(parsed));
    facts.check_document().ok().and(facts.configured_document())
}

/// The key because of which a server is never shown a document.
pub(crate) fn in_its_place(oauth: &OauthOptions) -> Option<&'static str> {
    LoginFacts::first_time(oauth, None).check_document().err().and_then(DocumentExclusion::key)
}

/// What is wrong with the address that was built in.
pub(crate) fn built_in_fault() -> Option<(&'static str, &'static str)> {
    fault(BUILT_IN)
}

fn fault(built_in: Option<&'static str>) -> Option<(&'static str, &'static str)> {
    let address = built_in.filter(|address| !address.is_empty())?;
    fault_of_client_document(address).map(|why| (address, why))
}

fn sound(built_in: Option<&'static str>) -> Option<&'static str> {
    built_in.filter(|address| !address.is_empty() && fault(Some(address)).is_none())
}

#[cfg(test)]
mod tests;
