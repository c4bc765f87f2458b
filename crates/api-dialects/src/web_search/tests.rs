//! Tests of `web_search`.

use super::*;

fn source(url: &str) -> SearchResult {
    SearchResult { url: url.into(), title: "T".into(), ..SearchResult::default() }
}

#[test]
fn citations_are_the_longest_urls_in_the_text() {
    let sources = [source("https://a.example"), source("https://a.example/b")];
    let text = "See https://a.example/b. Or (https://a.example), not https://a.example/bc.";
    let found: Vec<_> = citations(text, &sources)
        .into_iter()
        .map(|(start, end, n)| (&text[start..end], n))
        .collect();
    assert_eq!(found, [("https://a.example/b", 1), ("https://a.example", 0)]);
}

#[test]
fn settings_of_both_apis_are_parsed() {
    let object = |value: Value| value.as_object().cloned().unwrap_or_default();
    let messages = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 3,
        "blocked_domains": ["x.example"]});
    let tool = WebSearchTool::parse(&object(messages));
    assert_eq!((tool.max_uses, tool.blocked_domains), (Some(3), vec!["x.example".to_owned()]));
    let responses = json!({"type": "web_search", "external_web_access": false,
        "filters": {"allowed_domains": ["a.example"]}});
    let tool = WebSearchTool::parse(&object(responses));
    assert_eq!((tool.pages, tool.allowed_domains), (0, vec!["a.example".to_owned()]));
}

#[test]
fn queries_are_read_from_malformed_arguments() {
    assert_eq!(query(r#"{"query":"linnet song"}"#), "linnet song");
    assert_eq!(query("linnet song"), "linnet song");
}
