//! The search step.

use ledger::MemberId;
use serde::{Deserialize, Serialize};

use super::fault::Fault;
use crate::search::{Failure, Wanted};
use crate::web_services::WebServices;

const MAX_HITS: usize = 10;

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
