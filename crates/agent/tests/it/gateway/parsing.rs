//! Documents that would take the memory of the service, parsed by the real program.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use agent_test_support::pdf::{with_line, with_zeros};
use document_parser::{Error, Limits, PageJob, Pool, WorkerProgram};
use serde_json::{Value, json};
use wire::web::PageFormat;

use super::{Fixture, Served};

const MIB: u64 = 1024 * 1024;

/// A site with documents by their paths.
fn site(documents: Vec<(&'static str, &'static str, Vec<u8>)>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let path = lines.next().and_then(|line| line.split(' ').nth(1).map(str::to_owned));
            lines.find(String::is_empty);
            let found = documents.iter().find(|(known, ..)| Some(*known) == path.as_deref());
            let answer = match found {
                Some((_, kind, body)) => {
                    let length = body.len();
                    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n");
                    [format!("{head}content-length: {length}\r\n\r\n").as_bytes(), body].concat()
                }
                None => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec(),
            };
            // A reader that has left is its own affair.
            let _ = stream.write_all(&answer);
        }
    });
    address
}

fn fetch(served: &Served, key: &str, site: SocketAddr, path: &str) -> (u16, Value) {
    let body = json!({ "url": format!("http://{site}{path}"), "max_age_s": 0 }).to_string();
    let (status, answer) = served.ask("POST", "/v1/web/fetch", key, &body);
    (status, serde_json::from_str(&answer).unwrap())
}

/// The memory of a process, in MiB.
fn resident_mib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[test]
fn hostile_documents_do_not_crash_or_exhaust_the_service() {
    let nested = "<div>".repeat(380) + &"<main></main>".repeat(60_000) + "<p>The words.</p>";
    let site = site(vec![
        ("/page", "text/html", b"<p>Good words.</p>".to_vec()),
        ("/good", "application/pdf", with_line("A good line")),
        ("/one", "application/pdf", with_zeros("A bomb", 1, 4 << 20)),
        ("/thirty", "application/pdf", with_zeros("A bomb", 30, 4 << 20)),
        ("/three", "application/pdf", with_zeros("A bomb", 3, 30 << 20)),
        ("/nested", "text/html", nested.into_bytes()),
    ]);
    let fixture = Fixture::new();
    let key = fixture.alice();
    fixture.configure(&format!("fetch: {{robots: false, allow_private: [\"{site}\"]}}\n"));
    let served = fixture.serve();
    let good = |path: &str, words: &str| {
        let (status, answer) = fetch(&served, &key, site, path);
        assert_eq!((status, answer["content"].as_str()), (200, Some(words)), "{answer}");
    };
    good("/page", "Good words.");
    good("/good", "A good line");
    let before = resident_mib(served.id());
    for path in ["/one", "/thirty", "/three"] {
        let (status, answer) = fetch(&served, &key, site, path);
        let code = answer["error"]["code"].as_str();
        assert_eq!((status, code), (400, Some("page_unreadable")), "{path}: {answer}");
        good("/good", "A good line");
    }
    let (status, answer) = fetch(&served, &key, site, "/nested");
    // On a slow machine it may reach the limit; it never keeps its place.
    assert!(matches!(status, 200 | 400), "{answer}");
    good("/page", "Good words.");
    let after = resident_mib(served.id());
    assert!(after < before + 64, "{before} MiB before, {after} MiB after");
    let (code, _) = served.stop();
    assert_eq!(code, Some(0));
}

/// The allocator of the program takes memory in another way than that of the tests.
#[tokio::test]
async fn the_memory_limit_is_enforced_with_mimalloc() {
    let program = WorkerProgram {
        path: env!("CARGO_BIN_EXE_agent").into(),
        arguments: vec!["parse-worker".to_owned()],
        environment: vec![("MIMALLOC_ARENA_RESERVE".to_owned(), "65536".to_owned())],
    };
    let pdf = PageJob {
        url: "https://example.org/".to_owned(),
        content_type: Some("application/pdf".to_owned()),
        format: PageFormat::Text,
    };
    // Half a million objects: within the budget of a PDF, and more than the smaller limit.
    let large = with_zeros("Many zeros", 1, 1 << 20);
    for (memory_bytes, expected) in [(48 * MIB, None), (512 * MIB, Some("Many zeros"))] {
        // Only the memory is to run out, however slow the machine is.
        let (cpu, wall) = (Duration::from_mins(10), Duration::from_mins(10));
        let pool = Pool::new(program.clone(), Limits { memory_bytes, cpu, wall }, 2);
        assert!(pool.confinement().await.unwrap().resource_limits);
        let small = pool.page(None, pdf.clone(), &with_line("A good line")).await.unwrap();
        assert_eq!(small.content, "A good line");
        let parsed = pool.page(None, pdf.clone(), &large).await;
        let expected = expected.map(str::to_owned).ok_or(Error::Crashed);
        assert_eq!(parsed.map(|page| page.content), expected, "{memory_bytes}");
    }
}
