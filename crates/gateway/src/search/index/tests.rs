//! An index over real files behind its addresses.

use std::fs;

use agent_test_support::mcp::example;
use document_parser::{Limits, WorkerProgram};
use tempfile::TempDir;

use super::*;

fn index(root: &TempDir) -> Index {
    let config = config::Index {
        name: "docs".to_owned(),
        folder: root.path().join("files"),
        base_url: None,
        index_folder: root.path().join("index"),
        rescan: Duration::from_mins(1),
        max_file_bytes: 1_000_000,
    };
    let path = example("parse_worker");
    let program = WorkerProgram { path, arguments: Vec::new(), environment: Vec::new() };
    let parser = Pool::new(program, Limits::default(), 2);
    Index::new(&config, &Uri::from_static("https://ai.example.com"), parser).unwrap()
}

/// Files, and an index that has read them.
async fn indexed(files: &[(&str, &str)]) -> (TempDir, Index) {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("files")).unwrap();
    for (path, text) in files {
        fs::write(root.path().join("files").join(path), text).unwrap();
    }
    let index = index(&root);
    let documents = index.documents.clone();
    tokio::task::spawn_blocking(move || documents.refresh()).await.unwrap();
    (root, index)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_read_by_its_url() {
    let files = [("a b.md", "# A title\n\nAll of the text."), ("broken.pdf", "no PDF")];
    let (_root, index) = indexed(&files).await;
    let url = "https://ai.example.com/docs/a%20b.md";
    let document = index.read(url).await.unwrap();
    assert_eq!(document.0, "A title");
    assert_eq!(document.1, "# A title\n\nAll of the text.");
    for other in ["broken.pdf", "none.md", "../secret.md", ""] {
        let url = format!("https://ai.example.com/docs/{other}");
        assert_eq!(index.read(&url).await, None, "{other}");
    }
    let hits = index.search(&Wanted::new("text")).await.unwrap();
    assert_eq!(index.read(&hits[0].url).await.unwrap().1, document.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn unusual_file_names_round_trip_through_urls() {
    let strange = "name\u{202e} with %41 & ü?#.txt";
    let (_root, index) = indexed(&[(strange, "alpha strange")]).await;
    let hits = index.search(&Wanted::new("strange")).await.unwrap();
    let address = &hits[0].url;
    assert_eq!(index.path(address).as_deref(), Some(strange), "{address}");
    assert!(!address.contains(['#', '?', ' ']), "{address}");
}

#[tokio::test]
async fn only_urls_of_the_index_map_to_files() {
    let index = index(&tempfile::tempdir().unwrap());
    let address = index.address("a b/c.txt");
    assert_eq!(address, "https://ai.example.com/docs/a%20b/c.txt");
    assert_eq!(index.path(&address).as_deref(), Some("a b/c.txt"));
    for other in [
        "https://ai.example.com/a.txt",
        "https://ai.example.com/docs/",
        "https://evil.example.com/docs/a.txt",
        "http://ai.example.com/docs/a.txt",
        "https://ai.example.com/docs/%ff",
        "docs/a.txt",
    ] {
        assert_eq!(index.path(other), None, "{other}");
    }
}
