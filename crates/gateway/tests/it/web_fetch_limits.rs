//! Sites that mean harm: too much, too slow, too long, or not what they say.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use agent_test_support::wait::eventually;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::raw::Raw;
use crate::site::{Setup, Site, ok};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n";

/// A site that answers everything in one way, and a service without robots.txt.
fn setup(
    fetch: &str,
    answer: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
) -> (Site, Setup) {
    let site = Site::start(move |_, stream| answer(stream));
    let setup = Setup::new(&site, &format!("  robots: false\n{fetch}"));
    (site, setup)
}

#[track_caller]
fn check(setup: &Setup, site: &Site, expected: (u16, &str, &str)) {
    let (status, code, message) = setup.failed(&site.url("/"));
    assert_eq!((status, code.as_str(), message.as_str()), expected);
    assert_eq!(setup.paid(), 0);
}

/// Pieces of a body again and again, until nobody listens.
fn write_endlessly(stream: &mut TcpStream, piece: &[u8]) -> std::io::Result<()> {
    loop {
        stream.write_all(piece)?;
    }
}

#[test]
fn a_decompression_bomb_is_stopped() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&vec![b'a'; 200_000_000]).unwrap();
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 1_000_000);
    let (site, setup) = setup("  max_bytes: 1000000\n", move |stream| {
        let length = packed.len();
        stream.write_all(
            format!("{HEAD}content-encoding: gzip\r\ncontent-length: {length}\r\n\r\n").as_bytes(),
        )?;
        stream.write_all(&packed)
    });
    let told = "the page is larger than 1000000 bytes";
    check(&setup, &site, (400, "page_unreadable", told));
}

#[test]
fn gzip_pages_are_read_and_other_encodings_rejected() {
    let site = Site::start(|asked, stream| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(b"packed words")?;
        let encoding = asked.path.trim_start_matches('/');
        stream.write_all(format!("{HEAD}content-encoding: {encoding}\r\n\r\n").as_bytes())?;
        stream.write_all(&packed.finish()?)
    });
    let setup = Setup::new(&site, "  robots: false\n");
    assert_eq!(setup.fetch(&site.url("/gzip")).good()["content"], "packed words");
    let (status, code, message) = setup.failed(&site.url("/br"));
    assert_eq!((status, code.as_str()), (400, "page_unreadable"));
    assert_eq!(message, "the page has the unsupported encoding `br`");
}

#[test]
fn an_endless_page_is_stopped_at_the_size_limit() {
    let told = "the page is larger than 5000 bytes";
    let (site, world1) = setup("  max_bytes: 5000\n", |stream| {
        stream.write_all(format!("{HEAD}\r\n").as_bytes())?;
        write_endlessly(stream, &[b'x'; 1000])
    });
    check(&world1, &site, (400, "page_unreadable", told));
    let (site, world2) = setup("  max_bytes: 5000\n", |stream| {
        stream.write_all(format!("{HEAD}transfer-encoding: chunked\r\n\r\n").as_bytes())?;
        write_endlessly(stream, b"5\r\nwords\r\n")
    });
    check(&world2, &site, (400, "page_unreadable", told));
    let (site, world3) = setup("  max_bytes: 5000\n", |stream| {
        stream.write_all(format!("{HEAD}content-length: 5001\r\n\r\n").as_bytes())
    });
    check(&world3, &site, (400, "page_unreadable", told));
    let (site, world4) =
        setup("  max_bytes: 5000\n", |stream| stream.write_all(&ok("text/plain", &[b'x'; 5000])));
    assert_eq!(world4.fetch(&site.url("/")).good()["content"].as_str().unwrap().len(), 5000);
}

#[test]
fn a_slow_page_times_out_at_the_total_limit() {
    let (site, setup) = setup("  timeout: 1\n", |stream| {
        stream.write_all(format!("{HEAD}\r\n").as_bytes())?;
        loop {
            stream.write_all(b"x")?;
            std::thread::sleep(Duration::from_millis(50)); // sleep: the site is slow on purpose.
        }
    });
    let begun = Instant::now();
    let told = "fetching the page timed out: total time limit exceeded";
    check(&setup, &site, (503, "upstream_unavailable", told));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_silent_site_times_out() {
    let (site, setup) = setup("  timeout: 1\n", |_| {
        std::thread::sleep(Duration::from_secs(30)); // sleep: the site is silent on purpose.
        Ok(())
    });
    let told = "fetching the page timed out: total time limit exceeded";
    check(&setup, &site, (503, "upstream_unavailable", told));
}

#[test]
fn a_missing_first_byte_times_out_before_the_total_limit() {
    let (site, setup) = setup("  timeout: 60\n", |_| {
        std::thread::sleep(Duration::from_secs(30)); // sleep: the site is silent on purpose.
        Ok(())
    });
    let told = "fetching the page timed out: the host did not start to respond";
    check(&setup, &site, (503, "upstream_unavailable", told));
}

#[test]
fn attempted_addresses_of_a_host_are_limited() {
    let site = Site::of(&[("/", "text/plain", "words")]);
    let dead = ["127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6"];
    let fourth: Vec<&str> = dead[..3].iter().copied().chain(["127.0.0.2"]).collect();
    let fifth: Vec<&str> = dead.iter().copied().chain(["127.0.0.2"]).collect();
    let names =
        crate::site::Names::new(&[("fourth.org", &[fourth.as_slice()]), ("fifth.org", &[&fifth])]);
    let port = site.address.port();
    let setup = Setup::with(&format!("[\"127.0.0.0/29:{port}\"]"), "", names);
    setup.fetch(&format!("http://fourth.org:{port}/")).good();
    let (status, _, message) = setup.failed(&format!("http://fifth.org:{port}/"));
    assert_eq!((status, message.as_str()), (503, "cannot connect to the host"));
}

#[test]
fn a_stalled_page_times_out_before_the_total_limit() {
    let (site, setup) = setup("  timeout: 60\n", |stream| {
        stream.write_all(format!("{HEAD}content-length: 10\r\n\r\nhalf").as_bytes())?;
        std::thread::sleep(Duration::from_secs(30)); // sleep: the site stops on purpose.
        Ok(())
    });
    let told = "fetching the page timed out: the host stopped sending";
    check(&setup, &site, (503, "upstream_unavailable", told));
}

#[test]
fn an_endless_response_head_is_rejected() {
    let told = "the host did not send a valid HTTP response";
    let (site, world1) = setup("  timeout: 10\n", |stream| {
        stream.write_all(HEAD.as_bytes())?;
        write_endlessly(stream, b"x-more: and more and more and more and more\r\n")
    });
    check(&world1, &site, (503, "upstream_unavailable", told));
    let (site, world2) = setup("  timeout: 10\n", |stream| {
        stream.write_all(format!("{HEAD}x-long: ").as_bytes())?;
        write_endlessly(stream, &[b'x'; 1000])
    });
    check(&world2, &site, (503, "upstream_unavailable", told));
    let (site, world3) =
        setup("  timeout: 10\n", |stream| write_endlessly(stream, b"HTTP/1.1 100 Go on\r\n\r\n"));
    let begun = Instant::now();
    let (status, ..) = world3.failed(&site.url("/"));
    assert_eq!(status, 503);
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn non_http_responses_are_rejected() {
    let told = "the host did not send a valid HTTP response";
    for answer in [
        "SSH-2.0-OpenSSH_9.6\r\n",
        "+OK ready\r\n",
        "words without a head",
        "",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nwords",
        "HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nwords",
        "HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    ] {
        let (site, setup) =
            setup("  timeout: 5\n", move |stream| stream.write_all(answer.as_bytes()));
        let (status, _, message) = setup.failed(&site.url("/"));
        let is_told = message == told || message.starts_with("the page returned status 101");
        assert!(is_told && (status == 503 || status == 400), "{answer:?}: {status} {message}");
    }
}

#[test]
fn a_truncated_page_is_not_charged() {
    let (site, world1) = setup("", |stream| {
        stream.write_all(format!("{HEAD}content-length: 100\r\n\r\nwords").as_bytes())
    });
    check(
        &world1,
        &site,
        (503, "upstream_unavailable", "the connection closed before the end of the page"),
    );
    let (site, world2) = setup("", |stream| {
        stream
            .write_all(format!("{HEAD}transfer-encoding: chunked\r\n\r\n5\r\nwords\r\n").as_bytes())
    });
    check(
        &world2,
        &site,
        (503, "upstream_unavailable", "the connection closed before the end of the page"),
    );
    let (site, world3) = setup("", |stream| {
        stream.write_all(
            format!("{HEAD}transfer-encoding: chunked\r\n\r\nzz\r\nwords\r\n").as_bytes(),
        )
    });
    check(
        &world3,
        &site,
        (503, "upstream_unavailable", "the connection closed before the end of the page"),
    );
    // One that is longer is cut to what it says.
    let (site, world4) = setup("", |stream| {
        stream.write_all(format!("{HEAD}content-length: 5\r\n\r\nwords and more").as_bytes())
    });
    assert_eq!(world4.fetch(&site.url("/")).good()["content"], "words");
}

#[test]
fn closed_port_is_an_error() {
    let site = Site::of(&[]);
    let listener = std::net::TcpListener::bind("127.0.0.2:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let names = crate::site::Names::new(&[("gone.org", &[&["127.0.0.2"]])]);
    let setup = Setup::with(&format!("[\"127.0.0.2:{port}\"]"), "", names);
    let (status, code, message) = setup.failed(&format!("http://gone.org:{port}/"));
    assert_eq!((status, code.as_str()), (503, "upstream_unavailable"));
    assert_eq!(message, "cannot connect to the host");
    drop(site);
}

#[test]
fn concurrent_fetches_are_limited() {
    let gate = Arc::new(AtomicBool::new(false));
    let opened = gate.clone();
    let (site, setup) = setup("  concurrency: 2\n  concurrency_per_host: 1\n", move |stream| {
        eventually("the gate is open", || opened.load(Ordering::SeqCst));
        stream.write_all(&ok("text/plain", b"words"))
    });
    let ask = |path: &str| {
        let body = json!({"url": site.url(path)});
        Raw::post(setup.service.address, "/v1/web/fetch", setup.ada.key.as_str(), &body)
    };
    let mut first = ask("/1");
    eventually("the first is there", || site.asked().len() == 1);
    // Of two more one has a place, but not at this host; the other has none.
    let (tell, told) = mpsc::channel();
    for path in ["/2", "/3"] {
        let (mut asked, tell) = (ask(path), tell.clone());
        std::thread::spawn(move || tell.send(asked.head().status));
    }
    assert_eq!(told.recv(), Ok(503));
    assert_eq!(site.asked().len(), 1, "one at a time of one host");
    gate.store(true, Ordering::SeqCst);
    assert_eq!((first.head().status, told.recv()), (200, Ok(200)));
    assert_eq!(site.asked().len(), 2);
}
