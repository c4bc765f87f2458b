//! Reads pages.

use ledger::MemberId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wire::web::PageFormat;

use super::find::Hit;
use super::words::head;
use crate::clock;
use crate::identity::hex;
use crate::service::Service;
use crate::web::{self, Target, Wanted};

/// The most of a page that is kept while its job runs, in bytes.
const MAX_PAGE_BYTES: usize = 128 * 1024;
/// The least that is worth a look, in characters.
const MIN_PAGE_CHARS: usize = 40;

/// A page, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Page {
    pub(super) url: String,
    pub(super) title: String,
    /// Its text; nothing if it could not be read.
    pub(super) text: Option<String>,
    /// Of its whole text.
    #[serde(default)]
    pub(super) sha256: String,
    #[serde(default)]
    pub(super) fetched_at: String,
    #[serde(default)]
    pub(super) fault: Option<String>,
}

/// Reads a page. One that cannot be read is no failure of the job: the next one is read.
pub(super) async fn read(service: &Service, member: MemberId, hit: &Hit) -> Page {
    let failed = |fault: String| Page {
        url: hit.url.clone(),
        title: hit.title.clone(),
        text: None,
        sha256: String::new(),
        fetched_at: clock::rfc3339(clock::now()),
        fault: Some(fault),
    };
    let target = match Target::parse(&hit.url) {
        Ok(target) => target,
        Err(fault) => return failed(fault.to_string()),
    };
    let owner = service.page_owner(member);
    let wanted = Wanted { owner, target, format: PageFormat::Text, max_age: None, member };
    let found = match web::page(service, &wanted).await {
        Ok(found) => found,
        Err(fault) => return failed(fault.to_string()),
    };
    let document = &found.reading.document;
    if document.content.trim().chars().count() < MIN_PAGE_CHARS {
        return failed("the page says next to nothing".to_owned());
    }
    let title = document.title.clone().filter(|title| !title.trim().is_empty());
    Page {
        url: hit.url.clone(),
        title: title.unwrap_or_else(|| hit.title.clone()),
        text: Some(head(&document.content, MAX_PAGE_BYTES).to_owned()),
        sha256: hex(&Sha256::digest(document.content.as_bytes())),
        fetched_at: clock::rfc3339(found.reading.fetched_at),
        fault: None,
    }
}
