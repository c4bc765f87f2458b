//! What was made: parts of it, whose it is, and when it goes.

use std::io::{Read, Write};
use std::net::TcpStream;

use agent_test_support::upstream::media::png;
use agent_test_support::upstream::{Step, Upstream};
use agent_test_support::wait::eventually;
use http::{Method, Request};
use serde_json::Value;

use super::{paint, path_of, run, service, speak, stored};
use crate::support::{Answer, Holder, Running};

fn ask(service: &Running, holder: &Holder, path: &str, headers: &[(&str, &str)]) -> Answer {
    ask_by(Method::GET, service, holder, path, headers)
}

fn ask_by(
    method: Method,
    service: &Running,
    holder: &Holder,
    path: &str,
    headers: &[(&str, &str)],
) -> Answer {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {}", holder.key.as_str()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    service.send_raw(request.body(Vec::new()).unwrap())
}

fn made(service: &Running, holder: &Holder, prompt: &str) -> Value {
    run(service, holder, &paint(prompt)).good()
}

#[test]
fn artifact_supports_ranges_and_etags() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let made = made(&service, &ada, "x");
    let (path, image) = (path_of(&made["artifacts"][0]), png("x"));
    let whole = ask(&service, &ada, &path, &[]);
    let etag = whole.header("etag").to_owned();
    assert_eq!((whole.status, &whole.body), (200, &image));
    assert_eq!(etag, format!("\"{}\"", made["artifacts"][0]["sha256"].as_str().unwrap()));
    assert_eq!(whole.header("accept-ranges"), "bytes");
    assert_eq!(whole.header("x-content-type-options"), "nosniff");
    assert!(whole.header("cache-control").contains("private"));

    let part = ask(&service, &ada, &path, &[("range", "bytes=4-9")]);
    assert_eq!((part.status, &part.body[..]), (206, &image[4..10]));
    assert_eq!(part.header("content-range"), format!("bytes 4-9/{}", image.len()));
    assert_eq!(part.header("content-length"), "6");
    let end = ask(&service, &ada, &path, &[("range", "bytes=-5"), ("if-range", &etag)]);
    assert_eq!((end.status, &end.body[..]), (206, &image[image.len() - 5..]));
    let changed = ask(&service, &ada, &path, &[("range", "bytes=0-1"), ("if-range", "\"x\"")]);
    assert_eq!((changed.status, changed.body.len()), (200, image.len()));
    let beyond = ask(&service, &ada, &path, &[("range", "bytes=99999-")]);
    assert_eq!(beyond.failure(), (416, "range_not_satisfiable".to_owned()));
    assert_eq!(beyond.header("content-range"), format!("bytes */{}", image.len()));

    let known = ask(&service, &ada, &path, &[("if-none-match", &etag)]);
    assert_eq!((known.status, known.body.len(), known.header("etag")), (304, 0, etag.as_str()));
    let head = ask_by(Method::HEAD, &service, &ada, &path, &[]);
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), image.len().to_string());
    assert_eq!(head.header("content-type"), "image/png");
}

/// A WAV file of some megabytes, no two parts of which are alike.
fn long_sound() -> Vec<u8> {
    let mut bytes = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    bytes.extend([0x22, 0x56, 0, 0, 0x44, 0xac, 0, 0, 2, 0, 16, 0]);
    bytes.extend(b"data\xff\xff\xff\xff");
    bytes.extend((0..800_000_u32).flat_map(u32::to_be_bytes));
    bytes.push(7);
    bytes
}

fn said(service: &Running, holder: &Holder, upstream: &Upstream, body: Vec<u8>) -> Value {
    let media_type = "audio/wav".to_owned();
    upstream.script("speak", vec![Step::Raw { status: 200, media_type, body }]);
    run(service, holder, &speak("x")).good()
}

#[test]
fn a_large_file_is_served_completely_and_in_ranges() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let sound = long_sound();
    let path = path_of(&said(&service, &ada, &upstream, sound.clone())["artifacts"][0]);
    // The connection stays the same, and serves other things in between.
    for _ in 0..3 {
        let whole = ask(&service, &ada, &path, &[]);
        assert_eq!((whole.status, whole.body.len()), (200, sound.len()));
        assert!(whole.body == sound);
        for (first, last) in [(0, 65_535), (1, 65_535), (77, 2_000_001), (700_000, 700_000)] {
            let range = format!("bytes={first}-{last}");
            let part = ask(&service, &ada, &path, &[("range", &range)]);
            assert_eq!(part.status, 206);
            assert!(part.body == sound[first..=last], "{range}");
        }
        let head = ask_by(Method::HEAD, &service, &ada, &path, &[]);
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(service.get("/v1/me", ada.key.as_str()).status, 200);
    }
    // Also to those who ask before they were answered, and take their time.
    let mut slow = TcpStream::connect(service.address).unwrap();
    let request = |path: &str| {
        let key = ada.key.as_str();
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n")
    };
    let all = format!("{}\r\n{}connection: close\r\n\r\n", request(&path), request("/v1/me"));
    slow.write_all(all.as_bytes()).unwrap();
    let mut got = Vec::new();
    slow.read_to_end(&mut got).unwrap();
    let begin = got.windows(4).position(|four| four == b"RIFF").unwrap();
    assert!(got[begin..begin + sound.len()] == sound);
    let rest = String::from_utf8_lossy(&got[begin + sound.len()..]);
    assert!(rest.starts_with("HTTP/1.1 200 OK\r\n") && rest.contains("balance_micros"), "{rest}");
}

#[test]
fn truncated_file_is_an_error() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let sound = long_sound();
    let path = path_of(&said(&service, &ada, &upstream, sound.clone())["artifacts"][0]);
    let mut places = vec![service.folder.path().join("artifacts")];
    while let Some(place) = places.pop() {
        if place.is_dir() {
            places.extend(std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let file = std::fs::OpenOptions::new().write(true).open(place).unwrap();
            file.set_len(sound.len() as u64 / 2).unwrap();
        }
    }
    let whole = ask(&service, &ada, &path, &[]);
    assert_eq!(whole.failure(), (503, "unavailable".to_owned()));
    let beyond = ask(&service, &ada, &path, &[("range", "bytes=1000000-2000000")]);
    assert_eq!(beyond.failure(), (503, "unavailable".to_owned()));
    let part = ask(&service, &ada, &path, &[("range", "bytes=1000-200000")]);
    assert!(part.status == 206 && part.body == sound[1000..=200_000]);
}

#[test]
fn artifacts_and_runs_belong_to_their_member() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let bob = service.holder("bob", 0);
    let made = made(&service, &ada, "x");
    let manifest = format!("/v1/media/runs/{}/manifest.json", made["id"].as_str().unwrap());
    assert_eq!(service.get(&manifest, ada.key.as_str()).good(), made);
    for path in [
        path_of(&made["artifacts"][0]),
        manifest,
        "/v1/media/artifacts/art_0".to_owned(),
        "/v1/media/runs/run_0/manifest.json".to_owned(),
    ] {
        assert_eq!(service.get(&path, bob.key.as_str()).failure(), (404, "not_found".to_owned()));
        let nobody = service.send(Method::GET, &path, None, None);
        assert_eq!(nobody.failure(), (401, "invalid_key".to_owned()));
        let chats =
            service.key_with(ada.member, |new| new.scopes = vec![gateway_store::Scope::Chat]);
        let answer = service.get(&path, chats.as_str());
        assert_eq!(answer.failure(), (403, "scope_missing".to_owned()));
    }
}

#[test]
fn equal_files_are_stored_once_and_privately() {
    use std::os::unix::fs::PermissionsExt;
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let bob = service.holder("bob", 1_000_000);
    let first = made(&service, &ada, "x");
    let second = made(&service, &bob, "x");
    assert_eq!(stored(&service).len(), 1);
    assert_ne!(first["artifacts"][0]["id"], second["artifacts"][0]["id"]);
    for (holder, made) in [(&ada, &first), (&bob, &second)] {
        let got = service.get(&path_of(&made["artifacts"][0]), holder.key.as_str());
        assert_eq!((got.status, got.body), (200, png("x")));
    }
    let folder = service.folder.path().join("artifacts");
    assert_eq!(std::fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn missing_file_is_an_error() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let made = made(&service, &ada, "x");
    std::fs::remove_dir_all(service.folder.path().join("artifacts")).unwrap();
    let answer = service.get(&path_of(&made["artifacts"][0]), ada.key.as_str());
    assert_eq!(answer.status, 503);
}

/// Makes everything of one run, or all objects, older than it is.
fn age(service_folder: &std::path::Path, sql: &str) {
    let books = rusqlite::Connection::open(service_folder.join("gateway.sqlite3")).unwrap();
    books.execute_batch(sql).unwrap();
}

#[test]
fn files_are_deleted_with_their_last_run() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let bob = service.holder("bob", 1_000_000);
    let shared = made(&service, &ada, "shared");
    made(&service, &ada, "single");
    let of_bob = made(&service, &bob, "shared");
    assert_eq!(stored(&service).len(), 2);
    let folder = service.folder.clone();
    service.stop();
    // All that ada made is over.
    age(
        folder.path(),
        &format!(
            "UPDATE media_runs SET expires_at = 1 WHERE member = {0}; \
             UPDATE artifacts SET expires_at = 1 WHERE member = {0}; \
             UPDATE media_objects SET touched_at = 1",
            ada.member.0
        ),
    );
    let service = Running::start_in(folder, &super::text(&upstream, ""));
    let gone = service.get(&path_of(&shared["artifacts"][0]), ada.key.as_str());
    assert_eq!(gone.failure(), (404, "not_found".to_owned()));
    eventually("the file of nobody is gone", || stored(&service) == [png("shared")]);
    let got = service.get(&path_of(&of_bob["artifacts"][0]), bob.key.as_str());
    assert_eq!((got.status, got.body), (200, png("shared")));
    let left = rusqlite::Connection::open(service.folder.path().join("gateway.sqlite3")).unwrap();
    let count = |table: &str| -> i64 {
        left.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    eventually("its row is gone too", || count("media_objects") == 1);
    assert_eq!((count("media_runs"), count("artifacts")), (1, 1));
    service.check_ledger();
}

#[test]
fn uncharged_files_are_deleted() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    made(&service, &ada, "kept");
    // As after a crash between the storing and the charge: bytes and their claim, and no run.
    let lost = service.folder.path().join("artifacts/aa/lost");
    std::fs::create_dir_all(lost.parent().unwrap()).unwrap();
    std::fs::write(&lost, "lost").unwrap();
    let folder = service.folder.clone();
    service.stop();
    age(
        folder.path(),
        "INSERT INTO media_objects VALUES ('aa/lost', zeroblob(32), 0, 1); \
         UPDATE media_objects SET touched_at = 1",
    );
    let service = Running::start_in(folder, &super::text(&upstream, ""));
    eventually("only what was charged is left", || stored(&service) == [png("kept")]);
}
