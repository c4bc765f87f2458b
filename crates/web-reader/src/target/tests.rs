//! Tests of `target`.

use super::*;

fn host(text: &str) -> String {
    Target::parse(text).map_or_else(|fault| fault.to_string(), |target| target.host)
}

#[test]
fn every_host_notation_is_normalised() {
    for text in [
        "http://127.0.0.1/", "http://127.1/", "http://127.0.1/", "http://2130706433/",
        "http://0x7f000001/", "http://0x7f.0.0.1/", "http://0177.0.0.1/", "http://0177.1/",
        "http://017700000001/", "http://127.0.0.1./", "http://127.0.0.1:80/", "HTTP://127.0.0.1",
        "http://１２７.0.0.1/", "http://127。0。0。1/", "http://%31%32%37.0.0.1/",
        "http:127.0.0.1", "http:/127.0.0.1", "http:///127.0.0.1", "http:\\\\127.0.0.1\\",
    ] {
        assert_eq!(host(text), "127.0.0.1", "{text}");
    }
    assert_eq!(host("http://[0:0:0:0:0:0:0:1]/"), "[::1]");
    assert_eq!(host("http://EXAMPLE.com./"), "example.com");
    assert_eq!(host("http://ⓔxample.com/"), "example.com");
    assert_eq!(host("http://bücher.example/"), "xn--bcher-kva.example");
    let mapped = Target::parse("http://[::ffff:a9fe:a9fe]/").unwrap();
    assert_eq!(mapped.address, Some("169.254.169.254".parse().unwrap()));
}

#[test]
fn invalid_page_url_is_rejected() {
    for text in [
        "", "example.com", "//example.com/", "ftp://example.com/", "file:///etc/passwd",
        "javascript:alert(1)", "data:text/html,x", "gopher://127.0.0.1:70/", "http://", "http:///",
        "https://?", "http://user@example.com/", "http://user:pw@example.com/",
        "http://:pw@example.com/", "http://exa mple.com/", "http://example.com:0/",
        "http://example.com:99999/", "http://example.com:-1/", "http://[::1", "http://[::1%25lo]/",
        "http://256.256.256.256/", "http://0x1ffffffff/", "http://a..b/", "http://.example.com/",
        "http://example.com/\u{0}", "http://exam\nple.com/", "http://1.2.3.4.5/",
    ] {
        assert!(matches!(Target::parse(text), Err(Fault::BadUrl(_))), "{text:?}");
    }
    let long = format!("http://example.com/{}", "a".repeat(MAX_URL_BYTES));
    assert!(matches!(Target::parse(&long), Err(Fault::BadUrl(_))));
    assert!(Target::parse(&long[..MAX_URL_BYTES]).is_ok());
    let label = format!("http://{}.com/", "a".repeat(64));
    assert!(Target::parse(&label).is_err());
}

#[test]
fn private_names_are_detected_by_suffix() {
    for text in
        ["localhost", "a.localhost", "metadata.google.internal", "router", "x.svc.cluster.local"]
    {
        assert!(Target::parse(&format!("http://{text}/")).unwrap().is_private_name(), "{text}");
    }
    for text in ["example.com", "localhost.com", "notlocal.org", "internal.example.org"] {
        assert!(!Target::parse(&format!("http://{text}/")).unwrap().is_private_name(), "{text}");
    }
}

#[test]
fn a_request_contains_host_and_path() {
    let target = Target::parse("https://Example.COM.:8443/a%20b/../c?q=1#part").unwrap();
    assert_eq!(target.authority(), "example.com:8443");
    assert_eq!(target.path(), "/c?q=1");
    assert_eq!(target.robots().unwrap().url.as_str(), "https://example.com.:8443/robots.txt");
    assert_eq!(Target::parse("http://example.com").unwrap().path(), "/");
    assert_eq!(Target::parse("http://[::1]:81/").unwrap().authority(), "[::1]:81");
}
