//! What a site asks in its robots.txt is heeded.

use std::io::Write;

use crate::site::{Setup, Site, elsewhere, ok, plain};

/// A site with this answer to `/robots.txt`; every other path has words.
fn site(robots: Vec<u8>) -> Site {
    Site::start(move |asked, stream| match asked.path.as_str() {
        "/robots.txt" => stream.write_all(&robots),
        _ => stream.write_all(&ok("text/plain", b"words")),
    })
}

#[test]
fn a_robots_rule_is_obeyed_and_named() {
    let rules = b"User-agent: *\nDisallow: /private\nAllow: /private/open\n";
    let site = site(ok("text/plain", rules));
    let setup = Setup::new(&site, "");
    setup.fetch(&site.url("/public")).good();
    setup.fetch(&site.url("/private/open/x")).good();
    let (status, code, message) = setup.failed(&site.url("/private/x"));
    assert_eq!((status, code.as_str()), (403, "target_refused"));
    assert_eq!(message, "the robots.txt of pages.test disallows this page: `Disallow: /private`");
    assert_eq!(site.paths(), ["/public", "/private/open/x"], "what is forbidden is not asked for");
    let robots = site.asked().len() - site.paths().len();
    assert_eq!(robots, 1, "it is asked for once");
}

#[test]
fn rules_for_our_user_agent_apply() {
    let rules = b"User-agent: example-reader\nDisallow: /\n\nUser-agent: *\nDisallow:\n";
    let site = site(ok("text/plain", rules));
    let ours = Setup::new(&site, "  user_agent: Example-Reader/2\n");
    assert_eq!(ours.failed(&site.url("/a")).0, 403);
    let other = Setup::new(&site, "  user_agent: other-reader/2\n");
    other.fetch(&site.url("/a")).good();
}

#[test]
fn robots_checks_can_be_disabled() {
    let site = site(ok("text/plain", b"User-agent: *\nDisallow: /\n"));
    let setup = Setup::new(&site, "  robots: false\n");
    setup.fetch(&site.url("/a")).good();
    assert_eq!(site.asked().len(), 1, "it is not even asked for");
}

#[test]
fn missing_robots_files_allow_and_failing_ones_deny() {
    for robots in [
        plain(404, ""),
        plain(403, ""),
        ok("text/html", b"<p>not found</p>"),
        elsewhere("/robots.txt"),
    ] {
        let site = site(robots);
        let setup = Setup::new(&site, "");
        setup.fetch(&site.url("/a")).good();
    }
    for status in [500, 503, 429] {
        let site = site(plain(status, ""));
        let setup = Setup::new(&site, "");
        let (told, code, message) = setup.failed(&site.url("/a"));
        assert_eq!((told, code.as_str()), (503, "upstream_unavailable"));
        assert_eq!(message, "cannot read the robots.txt of the site");
        assert_eq!(site.paths(), Vec::<String>::new());
    }
}

#[test]
fn robots_rules_apply_to_redirect_targets() {
    let site = Site::start(|asked, stream| match asked.path.as_str() {
        "/robots.txt" => stream.write_all(&ok("text/plain", b"User-agent: *\nDisallow: /secret\n")),
        "/go" => stream.write_all(&elsewhere("/secret/page")),
        _ => stream.write_all(&ok("text/plain", b"words")),
    });
    let setup = Setup::new(&site, "");
    assert_eq!(setup.failed(&site.url("/go")).0, 403);
    assert_eq!(site.paths(), ["/go"]);
}
