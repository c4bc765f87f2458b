//! Tests of `report`.

use super::*;
use serde_json::json;

#[test]
fn every_step_is_printed_on_one_line() {
    let told = |kind: &str, detail: Value| step_line(kind, &detail);
    assert_eq!(told("plan", json!({"queries": ["a", "b"]})), "plan: a; b");
    assert_eq!(told("search", json!({"query": "q", "found": 1})), "search: q (1 page)");
    assert_eq!(told("read", json!({"url": "u", "title": "T", "fault": null})), "read: T");
    assert_eq!(told("read", json!({"url": "u", "title": "T", "fault": "404"})), "read: u: 404");
    assert_eq!(told("note", json!({"url": "u", "quotes": 2})), "note: 2 quotations of u");
    assert_eq!(told("write", json!({"sources": 3})), "write: from 3 sources");
    assert_eq!(told("check", json!({"characters": 9})), "check: 9 characters");
    assert_eq!(told("read", json!(null)), "read");
    assert_eq!(told("new\u{1b}", json!({"x": 1})), "new\\u{1b}");
}
