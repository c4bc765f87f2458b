//! Files that everybody may download.

use std::sync::Arc;

use agent_test_support::upstream::Upstream;
use gateway::downloads::{Publication, make_key, publish};
use http::{Method, Request};
use wire::download::{Manifest, read_public_key};

use crate::fixture::{PLAIN, with_one};
use crate::support::{Answer, Running, read};

const CONTENT: &[u8] = b"#!/bin/sh\necho this is the program\n";

fn get(service: &Running, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::builder().method(Method::GET).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    service.send_raw(request.body(Vec::new()).unwrap())
}

#[test]
fn published_files_are_public_and_verifiable() {
    let upstream = Upstream::start();
    let text = with_one(&upstream, PLAIN, "downloads: {}\n");
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let downloads = read(&text, folder.path()).downloads.unwrap();
    let service = Running::start_in(folder.clone(), &text);
    let nothing = get(&service, "/v1/downloads/manifest.json", &[]);
    assert_eq!(nothing.failure(), (404, "not_found".to_owned()));

    let public = read_public_key(&make_key(&downloads.key_file).unwrap()).unwrap();
    let program = folder.path().join("agent-linux-x86_64");
    std::fs::write(&program, CONTENT).unwrap();
    let publication = Publication {
        version: "1.0.0".to_owned(),
        published_at: "2026-11-15T12:00:00Z".to_owned(),
        expires_at: "2027-02-13T12:00:00Z".to_owned(),
        files: vec![program],
        platform: None,
    };
    publish(&downloads, &publication).unwrap();

    let answer = get(&service, "/v1/downloads/manifest.json", &[]);
    let manifest: Manifest = serde_json::from_value(answer.good()).unwrap();
    assert_eq!(manifest.verify(&public), Ok(()));
    let file = &manifest.files[0];
    assert_eq!((file.platform.as_str(), file.bytes), ("linux-x86_64", CONTENT.len() as u64));
    let path = &file.url[file.url.find("/v1/").unwrap()..];
    assert_eq!(path, "/v1/downloads/1.0.0/agent-linux-x86_64");
    let whole = get(&service, path, &[]);
    assert_eq!((whole.status, &whole.body[..]), (200, CONTENT));
    assert_eq!(whole.header("content-type"), "application/octet-stream");
    assert_eq!(whole.header("etag"), format!("\"{}\"", file.sha256));
    // A transfer that broke is gone on with.
    let rest = get(&service, path, &[("range", "bytes=10-"), ("if-range", whole.header("etag"))]);
    assert_eq!((rest.status, &rest.body[..]), (206, &CONTENT[10..]));
    // What came before can still be had.
    let next = folder.path().join("other-program");
    std::fs::write(&next, "next").unwrap();
    let publication = Publication { version: "1.1.0".to_owned(), files: vec![next], ..publication };
    publish(&downloads, &publication).unwrap();
    assert_eq!(get(&service, "/v1/downloads/manifest.json", &[]).good()["version"], "1.1.0");
    assert_eq!(get(&service, path, &[]).body, CONTENT);
    for absent in [
        "/v1/downloads/1.0.0/other",
        "/v1/downloads/0.9.0/agent-linux-x86_64",
        "/v1/downloads/1.0.0/..%2f..%2fdownloads.key",
        "/v1/downloads/../downloads.key",
        "/v1/downloads/%2e%2e/downloads.key",
        "/v1/downloads/1.0.0/.manifest.json",
        "/v1/downloads/1.0.0/",
    ] {
        assert_eq!(get(&service, absent, &[]).status, 404, "{absent}");
    }
}

#[test]
fn without_the_section_downloads_are_not_served() {
    let upstream = Upstream::start();
    let service = Running::start(&with_one(&upstream, PLAIN, ""));
    assert_eq!(get(&service, "/v1/downloads/manifest.json", &[]).status, 404);
    let document = get(&service, "/openapi.json", &[]).good();
    assert!(document["paths"]["/v1/downloads/manifest.json"].is_null());
}
