//! Searches.

use ledger::MemberId;
use serde::{Deserialize, Serialize};

use super::engine::Fault;
use crate::search::{Failure, Wanted};
use crate::service::Service;

/// How many results of each search are looked at.
const MAX_HITS: usize = 10;

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hit {
    pub(super) title: String,
    pub(super) url: String,
}

/// Searches; nothing found is an answer too.
pub(super) async fn find(
    service: &Service,
    member: MemberId,
    query: &str,
) -> Result<Vec<Hit>, Fault> {
    let owner = service.search_owner(member);
    let wanted = Wanted { owner, max_results: MAX_HITS, ..Wanted::new(query) };
    match service.search.search(&wanted).await {
        Ok(found) => {
            let hits = found.results.into_iter();
            Ok(hits.map(|hit| Hit { title: hit.title, url: hit.url }).collect())
        }
        Err(Failure::NoProvider) => Err(Fault::later("no provider of results is usable")),
        Err(Failure::AllFailed { .. }) => Err(Fault::later("no provider answered the search")),
    }
}
