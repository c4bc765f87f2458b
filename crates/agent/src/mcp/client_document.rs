//! The client document for sign-ins: the configured one, else that of the member service, else
//! the built-in one.

use std::time::Duration;

use mcp_client::config::{OauthOptions, Parsed, fault_of_client_document};
use mcp_client::oauth::identification::{DocumentExclusion, LoginFacts};
use serde::Deserialize;
use task_loop::member::MemberRequest;

use crate::member::Member;
use crate::member::settings::Settings;
use crate::session::Session;

/// Set at build time by distributors.
pub(crate) const BUILT_IN: Option<&str> = option_env!("AGENT_CLIENT_METADATA_URL");
/// Path of the document of a member service, beside its API. A service has one only if it is
/// reached by https.
const AT_SERVICE: &str = "/oauth/client-metadata.json";
/// Timeout of the request to the service; a sign-in does not depend on it.
const MAX_WAIT: Duration = Duration::from_secs(3);
const MAX_DOCUMENT_BYTES: usize = 64 * 1024;

/// The address of the document for servers without a configured one.
pub(crate) async fn default_address(session: &Session) -> Option<String> {
    let announced = tokio::time::timeout(MAX_WAIT, announced(session)).await.ok().flatten();
    announced.or_else(|| sound(BUILT_IN).map(str::to_owned))
}

/// The document that the service announces: it contains its own address.
async fn announced(session: &Session) -> Option<String> {
    #[derive(Debug, Deserialize)]
    struct Document {
        client_id: String,
    }
    // It is public: do not send the key.
    let base = Settings::load(session).ok()?.base_url;
    let service = Member::of(Settings::open_to_all(base).ok()?, session).ok()?;
    let base = &service.settings.base_url.value;
    let root = base.strip_suffix("/v1").unwrap_or(base);
    let target = format!("{root}{AT_SERVICE}").parse().ok()?;
    let ask = MemberRequest::get(AT_SERVICE).at_most(MAX_DOCUMENT_BYTES);
    let document: Document = service.client.ask_at(&target, ask).await.ok()?.json().ok()?;
    fault_of_client_document(&document.client_id).is_none().then_some(document.client_id)
}

pub(crate) fn configured(parsed: &Parsed) -> Option<&str> {
    parsed.client_metadata_url.as_ref().map(mcp_client::config::Text::value)
}

/// The address of the default document, if it is known without asking the service.
pub(crate) fn address_for_all(parsed: &Parsed) -> Option<&str> {
    configured(parsed).or_else(|| sound(BUILT_IN))
}

/// The address of the document for a sign-in to a server, if any.
pub(crate) fn address<'a>(oauth: &'a OauthOptions, parsed: &'a Parsed) -> Option<&'a str> {
    let facts = LoginFacts::first_time(oauth, address_for_all(parsed));
    facts.check_document().ok().and(facts.configured_document())
}

/// The configured key that excludes a document.
pub(crate) fn in_its_place(oauth: &OauthOptions) -> Option<&'static str> {
    LoginFacts::first_time(oauth, None).check_document().err().and_then(DocumentExclusion::key)
}

/// The built-in address and its problem.
pub(crate) fn fault(built_in: Option<&'static str>) -> Option<(&'static str, &'static str)> {
    let address = built_in.filter(|address| !address.is_empty())?;
    fault_of_client_document(address).map(|why| (address, why))
}

fn sound(built_in: Option<&'static str>) -> Option<&'static str> {
    built_in.filter(|address| !address.is_empty() && fault(Some(address)).is_none())
}

#[cfg(test)]
mod tests;
