//! The web search of a model: one search, and its first pages. Each is an operation of the
//! member's key like any other, with a price and a receipt.

use std::sync::Arc;

use api_dialects::{Search, SearchError, SearchOutcome, SearchResult, WebSearchTool};
use axum::body::to_bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wire::error::Code;
use wire::search::{MAX_QUERY_CHARS, SearchAnswer};
use wire::web::Page;

use super::admission::MemberRequest;
use super::internal_call::{InternalCalls, post};
use crate::clock;
use crate::failure::{ApiError, ApiResult};
use crate::identity::API_KEY;
use crate::proxy::rounds::Searcher;
use crate::request_info::RequestInfo;

/// Maximum search results that the model sees.
const MAX_RESULTS: usize = 6;
/// Maximum characters of a page that the model sees.
const MAX_PAGE_CHARS: usize = 6000;
/// Maximum size of a response of our own routes.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// Searches with the key of a request.
#[derive(Clone)]
pub(super) struct MemberSearcher {
    calls: Arc<InternalCalls>,
    info: RequestInfo,
    headers: HeaderMap,
}

impl MemberSearcher {
    /// The searcher of a request; `None` without a search provider, and for internal requests,
    /// which may not search.
    pub(super) fn of_request(asked: &MemberRequest) -> Option<Searcher> {
        let MemberRequest { service, info, request } = asked;
        let calls = request.extensions().get::<Arc<InternalCalls>>();
        let calls = calls.filter(|_| service.web.search.is_usable())?.clone();
        let headers = request.headers();
        let key = [&AUTHORIZATION, &API_KEY]
            .into_iter()
            .filter_map(|name| headers.get(name).map(|value| (name.clone(), value.clone())));
        let searcher = Self { calls, info: *info, headers: key.collect() };
        Some(Arc::new(move |search, tool| searcher.clone().find(search, tool).boxed()))
    }

    async fn call<T: DeserializeOwned>(&self, address: &str, body: &Value) -> ApiResult<T> {
        let info =
            RequestInfo { id: clock::new_hold_id(), parent: Some(self.info.id), ..self.info };
        tracing::info!(request = %info.id, parent = %self.info.id, "model searches the web");
        let response =
            self.calls.send(&info, &self.headers, post(address, body.to_string())?).await?;
        let body = to_bytes(response.into_body(), MAX_ANSWER_BYTES).await;
        let body = body.map_err(|_| ApiError::internal())?;
        serde_json::from_slice(&body).map_err(|_| ApiError::internal())
    }

    async fn find(self, search: Search, tool: WebSearchTool) -> SearchOutcome {
        let query: String = search.query.chars().take(MAX_QUERY_CHARS).collect();
        let WebSearchTool { allowed_domains, blocked_domains, .. } = &tool;
        let request = json!({
            "query": query, "max_results": MAX_RESULTS,
            "domains": { "include": allowed_domains, "exclude": blocked_domains },
        });
        let found: ApiResult<SearchAnswer> = self.call("/v1/search", &request).await;
        let found = found.map_err(|error| {
            tracing::info!(error = error.message(), "web search of a model failed");
            match error.code() {
                Code::InvalidRequest => SearchError::InvalidInput,
                Code::RateLimited => SearchError::TooManyRequests,
                _ => SearchError::Unavailable,
            }
        })?;
        let results = found.results.into_iter().enumerate().map(|(place, found)| {
            let wants_page = place < tool.pages;
            self.result(found, wants_page)
        });
        Ok(join_all(results).await)
    }

    /// A result, with the text of its page if requested and readable.
    async fn result(&self, found: wire::search::SearchResult, wants_page: bool) -> SearchResult {
        let mut result = SearchResult {
            url: found.url,
            title: found.title,
            page_age: found.published_at,
            content: found.snippet,
        };
        if wants_page {
            let request = json!({ "url": result.url, "max_chars": MAX_PAGE_CHARS });
            if let Ok(page) = self.call::<Page>("/v1/web/fetch", &request).await {
                result.content = page.content;
            }
        }
        result
    }
}
