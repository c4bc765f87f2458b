//! The web search that a request offers and the service executes.

use serde_json::{Value, json};

use super::fields::{Object, object, present, text};

/// Longest page quotation in a citation.
pub const MAX_CITED_CHARS: usize = 150;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebSearchTool {
    pub max_uses: Option<u64>,
    /// Search only these domains; empty means all.
    pub allowed_domains: Vec<String>,
    /// Never return pages of these domains.
    pub blocked_domains: Vec<String>,
    /// Number of found pages to read, from `search_context_size` and `external_web_access`.
    pub pages: usize,
}

/// A search that the model called for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    pub call_id: String,
    pub query: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchResult {
    pub url: String,
    pub title: String,
    /// Time of the last change of the page, free text.
    pub page_age: Option<String>,
    /// Text of the page, or an extract of it.
    pub content: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchError {
    /// The answer reached its search limit.
    MaxUsesExceeded,
    /// Too many searches in a short time.
    TooManyRequests,
    InvalidInput,
    Unavailable,
}

impl SearchError {
    /// The name of the error in the Messages API.
    pub fn code(self) -> &'static str {
        match self {
            Self::MaxUsesExceeded => "max_uses_exceeded",
            Self::TooManyRequests => "too_many_requests",
            Self::InvalidInput => "invalid_tool_input",
            Self::Unavailable => "unavailable",
        }
    }
}

pub type SearchOutcome = Result<Vec<SearchResult>, SearchError>;

impl WebSearchTool {
    /// Reads the settings of a tool of the Messages or the Responses API.
    pub(crate) fn parse(tool: &Object) -> Self {
        let filters = object(tool, "filters").unwrap_or(tool);
        let is_live = present(tool, "external_web_access") != Some(&Value::Bool(false));
        Self {
            max_uses: present(tool, "max_uses").and_then(Value::as_u64),
            allowed_domains: texts(filters, "allowed_domains"),
            blocked_domains: texts(filters, "blocked_domains"),
            pages: match text(tool, "search_context_size") {
                _ if !is_live => 0,
                Some("low") => 0,
                Some("high") => 4,
                _ => 2,
            },
        }
    }
}

fn texts(object: &Object, name: &str) -> Vec<String> {
    let list = present(object, name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The function with which a chat model requests a search.
pub(crate) fn function(name: &str) -> Value {
    json!({ "type": "function", "function": {
        "name": name,
        "description": "Search the web. Returns pages with their URLs and text. \
            Write the URL of every page that your answer relies on.",
        "parameters": {
            "type": "object",
            "properties": { "query": { "type": "string", "description": "What to search for" } },
            "required": ["query"],
            "additionalProperties": false,
        },
    }})
}

/// The query in the arguments of a call; other than a JSON object, they are the query.
pub(crate) fn query(arguments: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(arguments).ok();
    let query = parsed.as_ref().and_then(|parsed| parsed.get("query")).and_then(Value::as_str);
    query.unwrap_or(arguments).to_owned()
}

/// The outcome of a search for the model.
pub(crate) fn tool_text(outcome: &SearchOutcome) -> String {
    match outcome {
        Err(error) => format!("Error: the search failed ({})", error.code()),
        Ok(results) if results.is_empty() => "No results found.".to_owned(),
        Ok(results) => {
            let pages = results.iter().map(|result| {
                page_text(&result.title, &result.url, &result.content, result.page_age.as_deref())
            });
            pages.collect::<Vec<_>>().join("\n\n")
        }
    }
}

/// One result for the model.
pub(crate) fn page_text(title: &str, url: &str, content: &str, age: Option<&str>) -> String {
    let age = age.map(|age| format!(" ({age})")).unwrap_or_default();
    format!("{title}{age}\n{url}\n{content}").trim_end().to_owned()
}

/// Mentions of found pages in a text: byte range and index of the page.
pub(crate) fn citations(text: &str, sources: &[SearchResult]) -> Vec<(usize, usize, usize)> {
    let mut found: Vec<(usize, usize, usize)> = Vec::new();
    for (n, source) in sources.iter().enumerate().filter(|(_, source)| !source.url.is_empty()) {
        for (start, url) in text.match_indices(&source.url) {
            let end = start + url.len();
            let goes_on = |next: char| next.is_ascii_alphanumeric() || "/-_%=&#?~".contains(next);
            if !text[end..].starts_with(goes_on) {
                found.push((start, end, n));
            }
        }
    }
    found.sort_by_key(|(start, end, n)| (*start, usize::MAX - end, *n));
    found.dedup_by(|later, first| later.0 < first.1);
    found
}

#[cfg(test)]
mod tests;
