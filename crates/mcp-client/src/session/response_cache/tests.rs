//! Tests of `response_cache`.

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::message::{Message, parse_single};

fn response(result: &Value) -> RawJson {
    let text = json!({ "id": 1, "result": result }).to_string();
    match parse_single(&Bytes::from(text)) {
        Some(Message::Response { outcome: Ok(result), .. }) => result,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn responses_are_cached_for_the_announced_time() {
    let cache = ResponseCache::default();
    let answer = response(&json!({ "ttlMs": 1500.0, "tools": [] }));
    cache.keep("a".to_owned(), &answer, cache.generation());
    assert_eq!(cache.find("a"), Some(answer.clone()));
    tokio::time::advance(Duration::from_millis(1400)).await;
    assert!(cache.find("a").is_some());
    tokio::time::advance(Duration::from_millis(200)).await;
    assert!(cache.find("a").is_none());
    for none in [json!({}), json!({ "ttlMs": -5 }), json!({ "ttlMs": 0 }), json!({ "ttlMs": "9" })]
    {
        cache.keep("b".to_owned(), &response(&none), cache.generation());
        assert_eq!(cache.find("b"), None, "{none}");
    }
    let before = cache.generation();
    cache.keep("c".to_owned(), &answer, before);
    cache.clear();
    assert_eq!(cache.find("c"), None);
    cache.keep("d".to_owned(), &answer, before);
    assert_eq!(cache.find("d"), None, "it was asked for before the change");
}
