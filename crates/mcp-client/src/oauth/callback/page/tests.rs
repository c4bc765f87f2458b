//! Tests of `page`.

use super::*;

fn signed_in(server: &str) -> Page {
    for_outcome(&LoginOutcome::SignedIn { server: server.to_owned() })
}

fn failed(server: &str, what: &str) -> Page {
    let (server, what) = (server.to_owned(), what.to_owned());
    for_outcome(&LoginOutcome::Failed { server, what })
}

fn headers(page: Page) -> http::HeaderMap {
    page.into_response().headers().clone()
}

#[test]
fn peer_text_is_escaped() {
    let evil = "<img src=x onerror=alert(1)>\"'&\u{0}";
    let Page { status, html, .. } = failed(evil, evil);
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let safe = "&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp; ";
    assert_eq!(html.matches(safe).count(), 3, "title, heading and words: {html}");
    assert!(!html.contains("<img") && !html.contains('\0'));
}

#[test]
fn long_peer_text_is_truncated() {
    let html = failed("s", &"x".repeat(100_000)).html;
    assert_eq!(html.matches("xxxxxxxxxx").count(), MAX_TEXT_CHARS / 10);
}

#[test]
fn every_page_is_complete_and_loads_no_resources() {
    let pages = [signed_in("docs"), failed("docs", "w"), already_used(), unfinished(), not_found()];
    for page in pages {
        for part in ["<!doctype html>", "<html lang=\"en\">", "<title>", "<main", "<h1>", "</html>"]
        {
            assert_eq!(page.html.matches(part).count(), 1, "{part}: {}", page.html);
        }
        for part in ["<script", "http:", "https:", "src=", "href=", "url(", "@import", " style="] {
            assert!(!page.html.contains(part), "{part}: {}", page.html);
        }
        let headers = headers(page);
        let policy = headers[CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
        assert_eq!(headers[CACHE_CONTROL], "no-store");
        assert_eq!(headers[REFERRER_POLICY], "no-referrer");
        assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
    }
}

#[test]
fn the_browser_is_redirected_only_to_http_urls() {
    let address = "https://login.example.com/authorize?a=b&c=d";
    let page = redirect_to(address);
    assert_eq!(page.status, StatusCode::FOUND);
    assert_eq!(headers(page)[LOCATION], address);
    for address in ["javascript:alert(1)", "file:///etc/passwd", "/relative", "", "https://x\r\ny"]
    {
        assert_eq!(redirect_to(address), unfinished(), "{address}");
    }
}
