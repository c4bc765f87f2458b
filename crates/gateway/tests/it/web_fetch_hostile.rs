//! Documents that would take the memory or the time of the service.

use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent_test_support::pdf::{with_line, with_zeros};
use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::site::{Setup, Site, ok};
use crate::support::{PRICE, Running};

/// 60,000 elements in 380 others.
fn nested_page() -> String {
    "<div>".repeat(380) + &"<main></main>".repeat(60_000) + "<p>The words.</p>"
}

/// The memory of this process, in which the service runs, in MiB.
fn resident_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// The processes that this one started and that still run.
fn workers() -> Vec<Pid> {
    let own = std::process::id().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        fields.next() != Some("Z") && fields.next() == Some(own.as_str())
    })
    .filter_map(Pid::from_raw)
    .collect()
}

#[test]
fn pdf_bombs_do_not_exhaust_the_memory() {
    let bombs = [(1, 4 << 20), (30, 4 << 20), (3, 30 << 20)]
        .map(|(streams, bytes_each)| with_zeros("A bomb", streams, bytes_each));
    let site = Site::start(move |asked, stream| match asked.path.as_str() {
        "/good" => stream.write_all(&ok("application/pdf", &with_line("A good line"))),
        path => {
            let number: usize = path.trim_start_matches('/').parse().unwrap();
            stream.write_all(&ok("application/pdf", &bombs[number]))
        }
    });
    let setup = Setup::new(&site, "  robots: false\n  cache_bytes: 0\n");
    setup.fetch(&site.url("/good")).good();
    let before = resident_mib();
    std::thread::scope(|scope| {
        for number in 0..3 {
            let (setup, site) = (&setup, &site);
            scope.spawn(move || {
                let (status, code, message) = setup.failed(&site.url(&format!("/{number}")));
                assert_eq!((status, code.as_str()), (400, "page_unreadable"));
                assert_eq!(message, "the page is too large after unpacking");
            });
        }
        assert_eq!(setup.fetch(&site.url("/good")).good()["content"], "A good line");
    });
    let after = resident_mib();
    assert!(after < before + 64, "{before} MiB before, {after} MiB after");
    assert_eq!(setup.paid(), 2 * PRICE);
}

#[test]
fn a_deeply_nested_page_does_not_block_other_members() {
    let page = nested_page();
    let site = Site::start(move |asked, stream| match asked.path.as_str() {
        "/small" => stream.write_all(&ok("text/html", b"<p>Small words.</p>")),
        _ => stream.write_all(&ok("text/html", page.as_bytes())),
    });
    let setup = Setup::new(&site, "  robots: false\n  cache_bytes: 0\n");
    let bob = setup.service.holder("bob", 10 * PRICE);
    std::thread::scope(|scope| {
        for number in 0..2 {
            let (setup, site) = (&setup, &site);
            scope.spawn(move || {
                // On a slow machine it may reach the limit; it never keeps its place.
                let answer = setup.fetch(&site.url(&format!("/{number}")));
                assert!(matches!(answer.status, 200 | 400), "{}", answer.status);
            });
        }
        let asked = json!({ "url": site.url("/small") });
        let answer = setup.service.post("/v1/web/fetch", bob.key.as_str(), &asked);
        assert_eq!(answer.good()["content"], "Small words.");
    });
}

#[test]
fn a_parser_worker_is_started_in_advance() {
    let upstream = Upstream::start();
    let _service = Running::plain(&upstream);
    eventually("a parser runs", || !workers().is_empty());
}

#[test]
fn a_killed_parser_fails_only_its_page() {
    let page = nested_page();
    let site = Site::start(move |asked, stream| match asked.path.as_str() {
        "/small" => stream.write_all(&ok("text/html", b"<p>Small words.</p>")),
        _ => stream.write_all(&ok("text/html", page.as_bytes())),
    });
    let setup = Setup::new(&site, "  robots: false\n  cache_bytes: 0\n");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let answer = setup.fetch(&site.url("/large"));
            is_over.store(true, Ordering::Release);
            let (status, code) = answer.failure();
            // In the middle of the page, or while it starts.
            let expected = [(400, "page_unreadable"), (503, "unavailable")];
            assert!(expected.contains(&(status, code.as_str())), "{status} {code}");
        });
        while !is_over.load(Ordering::Acquire) {
            for worker in workers() {
                // An error means that it has just ended.
                let _ = kill_process(worker, Signal::KILL);
            }
            std::thread::yield_now();
        }
    });
    assert_eq!(setup.fetch(&site.url("/small")).good()["content"], "Small words.");
    assert_eq!(setup.paid(), PRICE);
}

#[test]
fn repeated_timeouts_of_a_key_are_rate_limited() {
    let site = Site::start(|_, _| {
        std::thread::sleep(Duration::from_secs(30)); // sleep: the site is silent on purpose.
        Ok(())
    });
    let fetch = "  robots: false\n  timeout: 0.2\n  timeouts_per_minute: 2\n";
    let setup = Setup::new(&site, fetch);
    let bob = setup.service.holder("bob", 10 * PRICE);
    for _ in 0..2 {
        assert_eq!(setup.failed(&site.url("/")).0, 503);
    }
    let answer = setup.fetch(&site.url("/"));
    assert_eq!(answer.status, 429);
    assert!(answer.headers.contains_key("retry-after"));
    let (_, code, message) = setup.failed(&site.url("/"));
    assert_eq!(code, "rate_limited");
    assert!(message.starts_with("too many fetches of this key timed out"), "{message}");
    assert_eq!(site.paths().len(), 2, "nothing is asked of the site");
    let asked = json!({ "url": site.url("/") });
    assert_eq!(setup.service.post("/v1/web/fetch", bob.key.as_str(), &asked).status, 503);
    assert_eq!(setup.paid(), 0);
}
