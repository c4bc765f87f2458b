//! Reading pages: what is answered, what it costs, and what is refused.

use std::io::Write;

use gateway_store::Scope;
use http::{Method, Request};
use serde_json::json;

use crate::fixture::receipt;
use crate::site::{HOST, Names, PUBLIC, Setup, Site, elsewhere, ok, plain};
use crate::support::PRICE;

const ARTICLE: &str = "<html lang=en><head><title>A page</title><meta name=author content=Ada>\
     <meta property=article:published_time content=2024-05-06T07:08:09Z></head><body>\
     <main><h1>A page</h1><p>Some words, and <a href=/more>more of them</a>.</p></main></body>\
     </html>";

#[test]
fn page_has_all_metadata_and_is_charged_once() {
    let site = Site::of(&[("/a", "text/html; charset=utf-8", ARTICLE)]);
    let setup = Setup::new(&site, "");
    let answer = setup.fetch(&site.url("/a#part"));
    let mut page = answer.good();
    assert!(page["id"].as_str().unwrap().starts_with("page_"));
    assert!(page["fetched_at"].as_str().unwrap().ends_with('Z'));
    page["id"] = "id".into();
    page["fetched_at"] = "now".into();
    let more = site.url("/more");
    assert_eq!(
        page,
        json!({
            "object": "web.page", "id": "id", "url": site.url("/a#part"),
            "final_url": site.url("/a"), "status": 200, "media_type": "text/html",
            "title": "A page", "byline": "Ada", "published_at": "2024-05-06T07:08:09Z",
            "language": "en",
            "content": format!("# A page\n\nSome words, and [more of them]({more})."),
            "truncated": false, "next_index": null,
            "links": [{"text": "more of them", "url": more}],
            "fetched_at": "now", "from_cache": false,
        })
    );
    assert_eq!(answer.header("x-charge-micros"), PRICE.to_string());
    let id = answer.header("x-receipt-id");
    assert_eq!(receipt(&setup.service, &setup.ada, id), ("answered".to_owned(), PRICE));
    assert_eq!(setup.paid(), PRICE);
}

#[test]
fn fetch_identifies_itself_and_sends_nothing_of_the_member() {
    let site = Site::of(&[("/a", "text/plain", "words")]);
    let setup = Setup::new(&site, "  user_agent: example-reader/3 (+https://a.b)\n");
    setup.fetch(&site.url("/a")).good();
    for asked in site.asked() {
        assert_eq!(asked.headers["user-agent"], "example-reader/3 (+https://a.b)");
        assert_eq!(asked.headers["host"], format!("{HOST}:{}", site.address.port()));
        assert_eq!(asked.headers["connection"], "close");
        for name in ["authorization", "cookie", "referer", "x-request-id", "x-forwarded-for"] {
            assert!(!asked.headers.contains_key(name), "{name}");
        }
    }
    assert_eq!(site.asked().len(), 2, "robots.txt and the page");
}

#[test]
fn later_parts_of_a_long_page_are_cached() {
    let words: Vec<String> = (0..1000).map(|number| format!("wörd{number}")).collect();
    let words = words.join(" ");
    let site = Site::of(&[("/long", "text/plain", &words)]);
    let setup = Setup::new(&site, "");
    let (mut whole, mut start, mut parts) = (String::new(), 0, 0);
    loop {
        let body = json!({"url": site.url("/long"), "max_chars": 3000, "start_index": start});
        let page = setup.ask(&body).good();
        whole.push_str(page["content"].as_str().unwrap());
        assert_eq!(page["from_cache"], parts > 0);
        parts += 1;
        assert_eq!(page["truncated"], page["next_index"].is_number());
        let Some(next) = page["next_index"].as_u64() else { break };
        start = next;
    }
    assert_eq!(whole, words);
    assert_eq!(site.paths().len(), 1);
    assert_eq!(setup.paid(), parts * PRICE, "a kept page costs what any page costs");
    let body = json!({"url": site.url("/long"), "start_index": 1_000_000});
    let answer = setup.ask(&body);
    assert_eq!(answer.failure(), (400, "invalid_request".to_owned()));
    assert_eq!(answer.json()["error"]["param"], "start_index");
}

#[test]
fn page_cache_obeys_max_age_and_cache_headers() {
    let site = Site::start(|asked, stream| {
        let more = if asked.path == "/private" { "cache-control: private\r\n" } else { "" };
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n{more}\r\n");
        stream.write_all(format!("{head}words").as_bytes())
    });
    let setup = Setup::new(&site, "  robots: false\n");
    let url = site.url("/a");
    assert_eq!(setup.fetch(&url).good()["from_cache"], false);
    assert_eq!(setup.fetch(&url).good()["from_cache"], true);
    assert_eq!(setup.ask(&json!({"url": url, "max_age_s": 0})).good()["from_cache"], false);
    assert_eq!(setup.ask(&json!({"url": url, "max_age_s": 60})).good()["from_cache"], true);
    assert_eq!(setup.ask(&json!({"url": url, "format": "text"})).good()["from_cache"], false);
    for _ in 0..2 {
        assert_eq!(setup.fetch(&site.url("/private")).good()["from_cache"], false);
    }
    let off = Setup::new(&site, "  cache_bytes: 0\n  robots: false\n");
    for _ in 0..2 {
        assert_eq!(off.fetch(&url).good()["from_cache"], false);
    }
}

#[test]
fn page_cache_is_private_unless_shared() {
    let site = Site::of(&[("/a", "text/plain", "words")]);
    let url = site.url("/a");
    for (more, is_shared) in [("", false), ("  share_cache: true\n", true)] {
        let setup = Setup::new(&site, &format!("  robots: false\n{more}"));
        assert_eq!(setup.fetch(&url).good()["from_cache"], false);
        let bob = setup.service.holder("bob", 1_000_000);
        let ask = || setup.service.post("/v1/web/fetch", bob.key.as_str(), &json!({"url": url}));
        assert_eq!(ask().good()["from_cache"], is_shared);
        assert_eq!(ask().good()["from_cache"], true);
    }
}

#[test]
fn failed_page_reports_its_status_and_is_free() {
    let site = Site::start(|asked, stream| {
        let status = asked.path.trim_start_matches('/').parse().unwrap_or(404);
        stream.write_all(&plain(status, "words of the page"))
    });
    let setup = Setup::new(&site, "");
    for (page, status, code) in [
        (404, 400, "page_unreadable"),
        (403, 400, "page_unreadable"),
        (410, 400, "page_unreadable"),
        (304, 400, "page_unreadable"),
        (206, 400, "page_unreadable"),
        (429, 503, "upstream_unavailable"),
        (500, 503, "upstream_unavailable"),
        (503, 503, "upstream_unavailable"),
    ] {
        let url = site.url(&format!("/{page}"));
        let message = format!("the page returned status {page}");
        assert_eq!(setup.failed(&url), (status, code.to_owned(), message));
    }
    assert_eq!(setup.paid(), 0);
    let answer = setup.fetch(&site.url("/404"));
    let id = answer.header("x-receipt-id");
    assert_eq!(receipt(&setup.service, &setup.ada, id), ("request_refused".to_owned(), 0));
}

#[test]
fn non_html_formats_are_supported() {
    let feed = "<?xml version=\"1.0\" encoding=\"utf-8\"?><rss><item>News</item></rss>";
    let site = Site::of(&[
        ("/json", "application/json", r#"{"b":1,"a":[true,null]}"#),
        ("/badjson", "application/json", "{not json"),
        ("/text", "text/plain; charset=utf-8", "plain\r\nwords"),
        ("/markdown", "text/markdown", "# Title\n\n* as *it* is"),
        ("/feed", "application/rss+xml", feed),
        ("/none", "", "<!doctype html><p>No type at all, but a paragraph.</p>"),
        ("/image", "image/png", "\u{1}"),
        ("/zip", "application/octet-stream", "PK\u{3}\u{4}\u{0}"),
        ("/empty", "text/html", "<html><body><script>x</script></body></html>"),
        ("/nothing", "text/plain", ""),
    ]);
    let setup = Setup::new(&site, "");
    let content = |path: &str| setup.fetch(&site.url(path)).good()["content"].clone();
    assert_eq!(content("/json"), "{\n  \"b\": 1,\n  \"a\": [\n    true,\n    null\n  ]\n}");
    assert_eq!(content("/badjson"), "{not json");
    assert_eq!(content("/text"), "plain\nwords");
    assert_eq!(content("/markdown"), "# Title\n\n* as *it* is");
    assert_eq!(content("/feed"), feed);
    assert_eq!(content("/none"), "No type at all, but a paragraph.");
    let unreadable = |path: &str, message: &str| {
        let expected = (400, "page_unreadable".to_owned(), message.to_owned());
        assert_eq!(setup.failed(&site.url(path)), expected);
    };
    unreadable("/image", "the page has the unsupported type `image/png`");
    unreadable("/zip", "the page has the unsupported type `application/octet-stream`");
    unreadable("/empty", "the page has no text");
    unreadable("/nothing", "the page has no text");
}

#[test]
fn redirects_are_followed_up_to_the_limit() {
    let site = Site::start(|asked, stream| {
        let step: Option<u32> =
            asked.path.strip_prefix("/step/").and_then(|step| step.parse().ok());
        match (asked.path.as_str(), step) {
            (_, Some(0)) => stream.write_all(&ok("text/plain", b"there")),
            (_, Some(step)) => stream.write_all(&elsewhere(&format!("{}", step - 1))),
            ("/circle", _) => stream.write_all(&elsewhere("/circle")),
            ("/nowhere", _) => stream.write_all(&plain(302, "")),
            _ => stream.write_all(&plain(404, "")),
        }
    });
    let setup = Setup::new(&site, "");
    let page = setup.fetch(&site.url("/step/5")).good();
    assert_eq!((page["content"].as_str(), page["status"].as_u64()), (Some("there"), Some(200)));
    assert_eq!(page["final_url"], site.url("/step/0"));
    assert_eq!(page["url"], site.url("/step/5"));
    let many =
        (400, "page_unreadable".to_owned(), "the page redirects more than 5 times".to_owned());
    assert_eq!(setup.failed(&site.url("/step/6")), many);
    assert_eq!(setup.failed(&site.url("/circle")), many);
    let (status, _, message) = setup.failed(&site.url("/nowhere"));
    assert_eq!((status, message.as_str()), (400, "the page returned status 302"));
    let none = Setup::new(&site, "  max_redirects: 0\n");
    assert_eq!(none.failed(&site.url("/step/1")).2, "the page redirects more than 0 times");
}

#[test]
fn scope_body_and_balance_are_checked() {
    let site = Site::of(&[("/a", "text/plain", "words")]);
    let setup = Setup::new(&site, "");
    let chats = setup.service.key_with(setup.ada.member, |key| key.scopes = vec![Scope::Chat]);
    let body = json!({"url": site.url("/a")});
    let answer = setup.service.post("/v1/web/fetch", chats.as_str(), &body);
    assert_eq!(answer.failure(), (403, "scope_missing".to_owned()));
    let answer = setup.service.send(Method::POST, "/v1/web/fetch", None, Some(&body));
    assert_eq!(answer.failure(), (401, "invalid_key".to_owned()));
    let answer = setup.ask(&json!({"url": site.url("/a"), "max_char": 5}));
    assert_eq!(answer.failure(), (400, "invalid_request".to_owned()));
    let error = &answer.json()["error"];
    assert_eq!(error["message"], "unknown field `max_char`; did you mean `max_chars`?");
    assert_eq!(error["param"], "max_char");
    assert_eq!(setup.ask(&json!([])).failure(), (400, "invalid_request".to_owned()));
    let poor = setup.service.holder("poor", 1);
    let answer = setup.service.post("/v1/web/fetch", poor.key.as_str(), &body);
    assert_eq!(answer.failure(), (402, "insufficient_balance".to_owned()));
    assert_eq!(site.asked().len(), 0, "nobody was asked for any of these");
}

#[test]
fn idempotency_key_of_a_fetch_is_charged_once() {
    let site = Site::of(&[("/a", "text/plain", "words")]);
    let setup = Setup::new(&site, "  cache_bytes: 0\n");
    let ask = |word: &str, path: &str| {
        let request = Request::post("/v1/web/fetch")
            .header("authorization", format!("Bearer {}", setup.ada.key.as_str()))
            .header("idempotency-key", word)
            .body(json!({"url": site.url(path)}).to_string().into_bytes());
        setup.service.send_raw(request.unwrap())
    };
    let first = ask("one", "/a");
    let second = ask("one", "/a");
    assert_eq!(first.good(), second.good());
    assert_eq!(second.header("idempotent-replayed"), "true");
    assert_eq!(first.header("x-receipt-id"), second.header("x-receipt-id"));
    assert_eq!((site.paths().len(), setup.paid()), (1, PRICE));
    assert_eq!(ask("one", "/b").failure(), (422, "idempotency_mismatch".to_owned()));
    // What failed was not answered, and may be tried again.
    assert_eq!(ask("two", "/gone").failure(), (400, "page_unreadable".to_owned()));
    assert_eq!(ask("two", "/gone").failure(), (400, "page_unreadable".to_owned()));
    assert_eq!((site.paths().len(), setup.paid()), (3, PRICE));
}

#[test]
fn a_page_is_free_with_a_price_of_zero() {
    let site = Site::of(&[("/a", "text/plain", "words")]);
    let names = Names::new(&[(HOST, &[&[PUBLIC]])]);
    let text = format!(
        "listen: 127.0.0.1:0\nprices: {{default_micros: {{fetch: 0}}}}\n\
         fetch: {{allow_private: [\"{HOST}:{}\"]}}\n",
        site.address.port()
    );
    let setup = Setup::start(std::sync::Arc::new(tempfile::tempdir().unwrap()), &text, names);
    assert_eq!(setup.fetch(&site.url("/a")).good()["content"], "words");
    assert_eq!(setup.paid(), 0);
}
