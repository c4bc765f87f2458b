//! Remote search providers: their request and response formats.

use std::sync::Arc;

use bytes::Bytes;
use form_urlencoded::Serializer;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, Request};
use http_body_util::{BodyExt, Limited};
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;
use wire::search::{MAX_RESULTS, Recency, SearchResult};

use super::Wanted;
use super::canonical;
use super::plain::{self, MAX_SNIPPET, MAX_TITLE};
use crate::config::SearchKind;
use crate::provider::{AskedBy, Failure, Provider, retry_after};
use crate::upstream_pool::RequestError;

/// Maximum query length of Brave, in characters and in words.
const BRAVE_CHARS: usize = 400;
const BRAVE_WORDS: usize = 50;
const MAX_URL: usize = 4096;
pub(super) const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// A path with its query, and the body to post, if any.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) path: String,
    pub(super) body: Option<String>,
}

pub(super) fn question(kind: SearchKind, wanted: &Wanted) -> Question {
    match kind {
        SearchKind::Searxng => searxng(wanted),
        SearchKind::Brave => brave(wanted),
        SearchKind::Tavily => tavily(wanted),
    }
}

fn searxng(wanted: &Wanted) -> Question {
    let mut query = Serializer::new(String::new());
    query.append_pair("q", &wanted.with_sites()).append_pair("format", "json");
    if let Some(recency) = wanted.recency {
        query.append_pair("time_range", json!(recency).as_str().unwrap_or_default());
    }
    Question { path: format!("/search?{}", query.finish()), body: None }
}

fn brave(wanted: &Wanted) -> Question {
    let with_sites = wanted.with_sites();
    let fits = with_sites.chars().count() <= BRAVE_CHARS
        && with_sites.split_whitespace().count() <= BRAVE_WORDS;
    let words = if fits { &with_sites } else { &wanted.query };
    let mut query = Serializer::new(String::new());
    query
        .append_pair("q", words)
        .append_pair("count", &requested_results(wanted).to_string())
        .append_pair("result_filter", "web")
        .append_pair("text_decorations", "false");
    if let Some(recency) = wanted.recency {
        let freshness = match recency {
            Recency::Day => "pd",
            Recency::Week => "pw",
            Recency::Month => "pm",
            Recency::Year => "py",
        };
        query.append_pair("freshness", freshness);
    }
    Question { path: format!("/web/search?{}", query.finish()), body: None }
}

fn tavily(wanted: &Wanted) -> Question {
    let mut body = json!({
        "query": wanted.query,
        "search_depth": "basic",
        "max_results": requested_results(wanted),
        "include_answer": false,
        "include_raw_content": false,
        "include_images": false,
    });
    if let Some(recency) = wanted.recency {
        body["time_range"] = json!(recency);
    }
    for (name, domains) in
        [("include_domains", &wanted.domains.include), ("exclude_domains", &wanted.domains.exclude)]
    {
        if !domains.is_empty() {
            body[name] = domains.as_slice().into();
        }
    }
    Question { path: "/search".to_owned(), body: Some(body.to_string()) }
}

/// Number of results to request: more if they are filtered afterwards.
fn requested_results(wanted: &Wanted) -> usize {
    let all = usize::try_from(MAX_RESULTS).unwrap_or(wanted.max_results);
    let is_filtered = !wanted.domains.include.is_empty() || !wanted.domains.exclude.is_empty();
    if is_filtered { all } else { wanted.max_results.min(all) }
}

/// The response of `SearXNG` or Tavily.
#[derive(Deserialize)]
struct Flat {
    results: Vec<Item>,
    /// `SearXNG`: the engines without an answer.
    #[serde(default)]
    unresponsive_engines: Vec<serde::de::IgnoredAny>,
}

/// The response of Brave; without results `web` is absent.
#[derive(Deserialize)]
struct Nested {
    #[serde(rename = "type")]
    _kind: SearchWord,
    web: Option<Web>,
}

/// The type of every response of Brave.
#[derive(Deserialize)]
enum SearchWord {
    #[serde(rename = "search")]
    Search,
}

#[derive(Deserialize)]
struct Web {
    results: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    url: Option<String>,
    title: Option<String>,
    #[serde(alias = "description")]
    content: Option<String>,
    #[serde(alias = "publishedDate", alias = "page_age")]
    published_date: Option<String>,
    score: Option<f64>,
}

pub(super) fn results(kind: SearchKind, body: &[u8]) -> Result<Vec<SearchResult>, Failure> {
    const WRONG: Failure = Failure::Malformed("invalid response");
    let items = match kind {
        SearchKind::Searxng | SearchKind::Tavily => {
            let answer: Flat = serde_json::from_slice(body).map_err(|_| WRONG)?;
            if answer.results.is_empty() && !answer.unresponsive_engines.is_empty() {
                return Err(Failure::Malformed("none of its search engines responded"));
            }
            answer.results
        }
        SearchKind::Brave => {
            let answer: Nested = serde_json::from_slice(body).map_err(|_| WRONG)?;
            answer.web.map(|web| web.results).unwrap_or_default()
        }
    };
    Ok(items.into_iter().filter_map(hit).collect())
}

/// A result; `None` without a URL.
fn hit(item: Item) -> Option<SearchResult> {
    let url = canonical::page(&item.url?).filter(|url| url.as_str().len() <= MAX_URL)?;
    let source = canonical::host(&url)?;
    let title = plain::from_html(&item.title.unwrap_or_default(), MAX_TITLE);
    Some(SearchResult {
        title: if title.is_empty() { source.clone() } else { title },
        snippet: plain::from_html(&item.content.unwrap_or_default(), MAX_SNIPPET),
        published_at: item.published_date.as_deref().and_then(plain::published),
        score: item.score.filter(|score| score.is_finite()),
        url: url.into(),
        source,
    })
}

#[derive(Debug)]
pub(super) struct Remote {
    pub(super) kind: SearchKind,
    pub(super) provider: Arc<Provider>,
}

impl Remote {
    /// Sends one request, within the timeout for the first byte.
    pub(super) async fn search(&self, wanted: &Wanted) -> Result<Vec<SearchResult>, Failure> {
        let provider = &self.provider;
        let _slot = provider.slot()?;
        let body = timeout(provider.timeouts.first_byte, self.ask(wanted))
            .await
            .map_err(|_| Failure::Gone("the response timed out"))??;
        results(self.kind, &body)
    }

    async fn ask(&self, wanted: &Wanted) -> Result<Bytes, Failure> {
        let provider = &self.provider;
        let question = question(self.kind, wanted);
        let address = provider.base.join(&question.path);
        let mut request = Request::new(Bytes::new().into());
        *request.uri_mut() = address.ok_or(Failure::Gone("invalid URL"))?;
        *request.headers_mut() = provider.headers.clone();
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        match question.body {
            Some(body) => {
                *request.method_mut() = Method::POST;
                *request.body_mut() = body.into();
            }
            None => {
                request.headers_mut().remove(CONTENT_TYPE);
            }
        }
        let answer = provider.pool.request(request).await.map_err(|error| match error {
            RequestError::Connect(_) => Failure::Gone("cannot connect"),
            RequestError::Broken(_) => Failure::Gone("the connection was closed"),
        })?;
        let (head, body) = answer.into_parts();
        provider.note_status(AskedBy::Request, head.status.as_u16());
        match head.status.as_u16() {
            200 => {}
            429 => return Err(Failure::Busy { retry_after: retry_after(&head.headers) }),
            // Another provider may accept the request.
            400 | 413 | 414 | 422 => return Err(Failure::Refused { message: None }),
            status => return Err(Failure::Broken { status }),
        }
        let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await.map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                Failure::Malformed("the response is too large")
            } else {
                Failure::Gone("the connection was closed")
            }
        })?;
        Ok(body.to_bytes())
    }
}
