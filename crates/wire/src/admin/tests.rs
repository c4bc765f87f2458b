//! Tests of `admin`.

use super::*;

#[test]
fn null_differs_from_a_missing_field() {
    let patch: KeyBody = serde_json::from_str(r#"{"models":null,"concurrency":3}"#).unwrap();
    assert_eq!((patch.models, patch.expires_at), (Some(None), None));
    assert_eq!(patch.concurrency, Some(Some(3)));
}

#[test]
fn integers_are_accepted_in_every_notation() {
    let amount = |text: &str| {
        let body = format!(r#"{{"amount_micros":{text},"reason":"a"}}"#);
        serde_json::from_str::<TopUp>(&body).map(|top_up| top_up.amount_micros).ok()
    };
    assert_eq!(amount("9223372036854775807"), Some(i64::MAX));
    assert_eq!((amount("5.0"), amount("-2e3")), (Some(5), Some(-2000)));
    for wrong in ["1.5", "1e16", "9223372036854775808", "\"1\"", "null", "1e-3", "true"] {
        assert_eq!(amount(wrong), None, "{wrong}");
    }
    let patch = |text: &str| serde_json::from_str::<KeyBody>(text).ok();
    assert_eq!(patch(r#"{"concurrency":-1}"#), None);
    let changed = patch(r#"{"concurrency":2.0,"spend_limit_micros":null}"#).unwrap();
    assert_eq!((changed.concurrency, changed.spend_limit_micros), (Some(Some(2)), Some(None)));
}

#[test]
fn a_scope_round_trips_through_its_name() {
    for word in ["models", "chat", "responses", "research", "media", "search", "fetch", "mcp"] {
        let scope: ScopeWord = serde_json::from_str(&format!("\"{word}\"")).unwrap();
        assert_eq!(<&str>::from(scope), word);
    }
}

#[test]
fn debug_output_of_an_issued_key_is_redacted() {
    let record: KeyRecordView = serde_json::from_value(serde_json::json!({
        "object": "key", "id": "abc", "member": "mem_1", "name": "k", "scopes": [],
        "models": null, "created_at": "", "expires_at": null, "revoked_at": null,
        "spend_limit_micros": null, "spent_micros": 0, "requests_per_minute": null,
        "concurrency": null,
    }))
    .unwrap();
    let issued = IssuedKey { record, key: "agk_abc_secret".to_owned() };
    assert!(!format!("{issued:?}").contains("secret"));
}
