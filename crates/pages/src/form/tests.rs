//! Tests of `form`.

use super::*;

#[test]
fn fields_are_trimmed_and_may_repeat() {
    let fields = Fields::parse(b"name=+a+&scope=chat&scope=media");
    assert_eq!(fields.get("name"), "a");
    assert_eq!(fields.get("missing"), "");
    assert_eq!(fields.all("scope").collect::<Vec<_>>(), ["chat", "media"]);
}

#[test]
fn only_the_own_origin_is_same_site() {
    let request = |origin: &str, site: &str| {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("host", "127.0.0.1:80"), ("origin", origin), ("sec-fetch-site", site)]
        {
            if !value.is_empty() {
                headers
                    .insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
            }
        }
        headers
    };
    for (origin, site, public, is_same) in [
        ("http://127.0.0.1:80", "same-origin", None, true),
        ("http://127.0.0.1:80", "", None, true),
        ("https://a.example", "same-origin", Some("a.example"), true),
        ("", "", None, false),
        ("null", "", None, false),
        ("http://127.0.0.1:81", "", None, false),
        ("http://127.0.0.1:80", "cross-site", None, false),
        ("https://a.example", "same-origin", Some("b.example"), false),
    ] {
        assert_eq!(is_same_site(&request(origin, site), public), is_same, "{origin} {site}");
    }
}

#[test]
fn host_must_be_this_machine_with_our_port() {
    let is_ours = |host: &str, port| {
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_str(host).unwrap())]);
        is_for_this_machine(&headers, &Uri::from_static("/"), port)
    };
    assert!(is_ours("127.0.0.1:8800", 8800) && is_ours("localhost:8800", 8800));
    for host in [
        "", ":8800", "127.0.0.1", "localhost", "127.0.0.1:88000", "127.0.0.1:8801",
        "127.0.0.1:8800:8800", "127.0.0.1.example:8800", "user@127.0.0.1:8800", "[::1]:8800",
    ] {
        assert!(!is_ours(host, 8800), "{host}");
    }
    assert!(is_ours("127.0.0.1", 80) && is_ours("localhost:80", 80));
    let (none, foreign) = (HeaderMap::new(), Uri::from_static("http://example.com:8800/"));
    assert!(!is_for_this_machine(&none, &Uri::from_static("/"), 8800));
    let own = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost:8800"))]);
    assert!(!is_for_this_machine(&own, &foreign, 8800));
}
