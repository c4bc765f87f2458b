//! The steps that search and that read a page.

use ledger::MemberId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use web_reader::{ReadRequest, Target};
use wire::web::PageFormat;

use super::Fault;
use super::words::head;
use crate::clock;
use crate::identity::hex;
use crate::search::{Failure, Wanted};
use crate::web_services::WebServices;

const MAX_HITS: usize = 10;
/// Maximum size of a page that is stored while its job runs.
const MAX_PAGE_BYTES: usize = 128 * 1024;
/// A shorter page is useless.
const MIN_PAGE_CHARS: usize = 40;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hit {
    pub(super) title: String,
    pub(super) url: String,
}

/// Searches; no results are not a failure.
pub(super) async fn find(
    web: &WebServices,
    member: MemberId,
    query: &str,
) -> Result<Vec<Hit>, Fault> {
    let owner = web.search_owner(member);
    let wanted = Wanted { owner, max_results: MAX_HITS, ..Wanted::new(query) };
    match web.search.search(&wanted).await {
        Ok(found) => {
            let hits = found.results.into_iter();
            Ok(hits.map(|hit| Hit { title: hit.title, url: hit.url }).collect())
        }
        Err(Failure::NoProvider) => Err(Fault::temporary("no search provider is available")),
        Err(Failure::AllFailed { .. }) => Err(Fault::temporary("no search provider responded")),
    }
}

/// A page, or why it could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Page {
    pub(super) url: String,
    pub(super) title: String,
    pub(super) text: Option<String>,
    /// The digest of its whole text.
    #[serde(default)]
    pub(super) sha256: String,
    #[serde(default)]
    pub(super) fetched_at: String,
    pub(super) fault: Option<String>,
}

/// Reads a page. One that cannot be read does not fail the job: the next one is read.
pub(super) async fn read(web: &WebServices, member: MemberId, hit: &Hit) -> Page {
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
    let owner = web.page_owner(member);
    let client = member.0;
    let wanted = ReadRequest { owner, target, format: PageFormat::Text, max_age: None, client };
    let found = match web.page(&wanted).await {
        Ok(found) => found,
        Err(fault) => return failed(fault.to_string()),
    };
    let document = &found.reading.document;
    if document.content.trim().chars().count() < MIN_PAGE_CHARS {
        return failed("the page has almost no text".to_owned());
    }
    let title = document.title.clone().filter(|title| !title.trim().is_empty());
    Page {
        url: hit.url.clone(),
        title: title.unwrap_or_else(|| hit.title.clone()),
        text: Some(head(&document.content, MAX_PAGE_BYTES).to_owned()),
        sha256: hex(&Sha256::digest(document.content.as_bytes())),
        fetched_at: clock::rfc3339(clock::at(found.reading.fetched_at)),
        fault: None,
    }
}
