//! `POST /v1/search`.

use gateway_store::Scope;
use wire::search::{
    Domains, MAX_DOMAINS, MAX_QUERY_CHARS, MAX_RESULTS, SearchAnswer, SearchRequest, is_domain,
};

use super::admission::MemberRequest;
use super::body;
use super::fixed_price::NothingFound;
use super::json;
use crate::clock;
use crate::config::Operation;
use crate::failure::{ApiError, ApiResult};
use crate::request_info::RequestInfo;
use crate::search::{DEFAULT_RESULTS, Failure, Found, Wanted};

const FIELDS: &[&str] = &["query", "max_results", "recency", "domains"];
const DOMAIN_FIELDS: &[&str] = &["include", "exclude"];

pub(super) async fn create(request: MemberRequest) -> ApiResult {
    let received = request.receive(Scope::Search, "search").await?;
    let web = &received.service.web;
    let owner = web.search_owner(received.caller.key.member);
    let wanted = Wanted { owner, ..parse_query(body::parse(&received.bytes, wrong)?)? };
    if !web.search.can_answer(&wanted) {
        return Err(Failure::NoProvider.into());
    }
    let work = async {
        let found = web.search.search(&wanted).await?;
        let is_empty = found.results.is_empty();
        let mut response = json(&answer(&received.info, &wanted, found));
        if is_empty {
            response.extensions_mut().insert(NothingFound);
        }
        Ok(response)
    };
    received.answer(Operation::Search, work).await
}

fn wrong(path: &str, message: &str) -> ApiError {
    let known = if path.starts_with("domains") { DOMAIN_FIELDS } else { FIELDS };
    if let Some(unknown) = body::unknown(message, known) {
        return unknown;
    }
    let (name, wanted) = match path {
        "max_results" => ("max_results", format!("a whole number from 1 to {MAX_RESULTS}")),
        "recency" => ("recency", "`day`, `week`, `month` or `year`".to_owned()),
        path if path.starts_with("domains") => {
            ("domains", "an object with lists of domains as `include` and `exclude`".to_owned())
        }
        _ => ("query", format!("a string of 1 to {MAX_QUERY_CHARS} characters")),
    };
    ApiError::invalid(name, format!("`{name}` must be {wanted}"))
}

fn parse_query(request: SearchRequest) -> ApiResult<Wanted> {
    let SearchRequest { query, max_results, recency, domains } = request;
    let refuse = |name: &str, message: String| Err(ApiError::invalid(name, message));
    if query.chars().count() > MAX_QUERY_CHARS {
        return refuse("query", format!("`query` is longer than {MAX_QUERY_CHARS} characters"));
    }
    let words = query.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return refuse("query", "`query` is empty".to_owned());
    }
    let max_results = match max_results {
        None => DEFAULT_RESULTS,
        Some(number @ 1..=MAX_RESULTS) => usize::try_from(number).unwrap_or(DEFAULT_RESULTS),
        Some(_) => {
            let message = format!("`max_results` must be a whole number from 1 to {MAX_RESULTS}");
            return refuse("max_results", message);
        }
    };
    let Domains { include, exclude } = domains.unwrap_or_default();
    let domains = Domains {
        include: checked("domains.include", include)?,
        exclude: checked("domains.exclude", exclude)?,
    };
    Ok(Wanted { owner: None, query: words.join(" "), max_results, recency, domains })
}

fn checked(name: &str, domains: Vec<String>) -> ApiResult<Vec<String>> {
    let refuse = |message| Err(ApiError::invalid(name, message));
    if domains.len() > MAX_DOMAINS {
        return refuse(format!("`{name}` must be a list of at most {MAX_DOMAINS} domains"));
    }
    if !domains.iter().all(|domain| is_domain(domain)) {
        let message = format!(
            "`{name}` must contain domain names such as `example.com`, without scheme or path; \
             write non-ASCII names in their `xn--` form"
        );
        return refuse(message);
    }
    let plain = domains.into_iter().map(|domain| {
        let domain = domain.to_ascii_lowercase();
        domain.strip_prefix("www.").map_or(domain.clone(), str::to_owned)
    });
    Ok(plain.collect())
}

fn answer(info: &RequestInfo, wanted: &Wanted, found: Found) -> SearchAnswer {
    SearchAnswer {
        object: "search".to_owned(),
        id: info.id.to_string(),
        query: wanted.query.clone(),
        results: found.results,
        provider: found.provider,
        cached_at: found.cached_at.map(clock::rfc3339),
    }
}
