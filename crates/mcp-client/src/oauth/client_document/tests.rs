//! Tests of `client_document`.

use super::*;

const URL: &str = "https://me.example.com/oauth/client.json";

fn served(body: &[u8]) -> FetchedDocument {
    let content_type = Some("application/json".to_owned());
    let body = Bytes::copy_from_slice(body);
    FetchedDocument { status: 200, content_type, location: None, body }
}

fn made() -> Value {
    build(URL, "My agent", Some("https://me.example.com/"))
}

fn judged(document: &Value) -> Vec<RuleViolation> {
    check(URL, &served(document.to_string().as_bytes()))
}

#[test]
fn generated_documents_satisfy_every_rule() {
    let document = made();
    assert_eq!(judged(&document), []);
    assert_eq!(judged(&build(URL, "My agent", None)), []);
    assert_eq!(document["client_uri"], "https://me.example.com/");
    assert!(build(URL, "My agent", None).get("client_uri").is_none());
    let uris = redirect_uris();
    assert_eq!(uris[0], "http://127.0.0.1:27890/callback");
    assert_eq!(uris[9], "http://localhost:27894/callback");
    for port in PINNED_PORTS {
        assert_eq!(uris.iter().filter(|uri| uri.contains(&port.to_string())).count(), 2);
    }
}

#[test]
fn rule_1_rejects_invalid_document_urls() {
    for url in [
        "http://me.example.com/client.json",
        "https://me.example.com",
        "https://me.example.com/",
        "https://me.example.com/client.json#x",
        "https://me@me.example.com/client.json",
        "https://me.example.com/a/../client.json",
        "https://me.example.com/./client.json",
        "https://me.example.com/%2e%2e/client.json",
        "client.json",
    ] {
        let broken = check_address(url).unwrap();
        assert_eq!(broken.rule(), 1, "{url}");
        let document = build(url, "x", None).to_string();
        assert_eq!(check(url, &served(document.as_bytes())), [broken], "{url}");
    }
    assert_eq!(check_address(URL), None);
}

#[test]
fn rule_2_requires_status_200_and_json() {
    let body = made().to_string();
    let good = served(body.as_bytes());
    for status in [201, 204, 304, 401, 404, 500] {
        let found = check(URL, &FetchedDocument { status, ..good.clone() });
        assert_eq!(found, [RuleViolation::Status(status)]);
        assert_eq!(found[0].rule(), 2);
    }
    for status in [301, 302, 303, 307, 308] {
        let location = Some("https://elsewhere.test/\u{1b}x".to_owned());
        let found = check(URL, &FetchedDocument { status, location, ..good.clone() });
        assert_eq!(
            found,
            [RuleViolation::Redirected { to: "https://elsewhere.test/x".to_owned() }]
        );
    }
    for (kind, is_good) in [
        (Some("application/json"), true),
        (Some("Application/JSON; charset=utf-8"), true),
        (Some("text/html"), false),
        (Some("application/ld+json"), false),
        (Some("text/plain; application/json"), false),
        (None, false),
    ] {
        let content_type = kind.map(str::to_owned);
        let broken = RuleViolation::ContentType { found: content_type.clone() };
        let found = check(URL, &FetchedDocument { content_type, ..good.clone() });
        assert_eq!(found, if is_good { vec![] } else { vec![broken] });
    }
    for body in ["", "<!doctype html>", "[]", "\"x\"", "{"] {
        assert_eq!(check(URL, &served(body.as_bytes())), [RuleViolation::NotJson], "{body}");
    }
}

#[test]
fn rule_3_requires_all_ten_redirect_uris_exactly() {
    let uris = redirect_uris();
    for (index, uri) in uris.iter().enumerate() {
        let mut document = made();
        document["redirect_uris"][index] = format!("{uri}/").into();
        let missing = vec![uri.clone()];
        assert_eq!(judged(&document), [RuleViolation::MissingRedirects { missing }]);
    }
    for wrong in [Value::Null, json!([]), json!("http://127.0.0.1:27890/callback")] {
        let mut document = made();
        document["redirect_uris"] = wrong;
        assert_eq!(judged(&document), [RuleViolation::MissingRedirects { missing: uris.to_vec() }]);
    }
    let mut more = made();
    more["redirect_uris"].as_array_mut().unwrap().push("http://localhost:1/x".into());
    assert_eq!(judged(&more), []);
}

#[test]
fn rule_4_requires_its_own_url_exactly() {
    for (wrong, found) in [
        (
            json!("https://me.example.com/oauth/client.json/"),
            Some("https://me.example.com/oauth/client.json/"),
        ),
        (
            json!("https://ME.example.com/oauth/client.json"),
            Some("https://ME.example.com/oauth/client.json"),
        ),
        (json!(""), Some("")),
        (json!(7), None),
        (Value::Null, None),
    ] {
        let mut document = made();
        document["client_id"] = wrong;
        let broken = RuleViolation::ClientId { found: found.map(str::to_owned) };
        assert_eq!(broken.rule(), 4);
        assert_eq!(judged(&document), [broken]);
    }
}

#[test]
fn violations_are_listed_in_rule_order() {
    let content_type = Some("text/plain".to_owned());
    let fetched = FetchedDocument { content_type, ..served(b"{}") };
    let rules: Vec<u8> = check("http://x/y", &fetched).iter().map(RuleViolation::rule).collect();
    assert_eq!(rules, [1, 2, 3, 4]);
}
