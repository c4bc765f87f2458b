//! Tests of `text`.

use super::*;
use crate::tidy::finding::printed;

fn findings(path: &str, text: &str) -> Vec<String> {
    printed(&check(&Tree::of(&[(path, text)])))
}

#[test]
fn ordinary_text_has_no_findings() {
    let text = "See https://www.rust-lang.org and the crates folder.\n";
    assert_eq!(findings("README.md", text), Vec::<String>::new());
}

#[test]
fn every_registry_host_is_found_with_its_line() {
    for host in REGISTRY_HOSTS {
        let found = findings("ci.yaml", &format!("one\nurl: https://{host}/x\n"));
        assert_eq!(found, [format!("ci.yaml:2: `{host}` is the host of a package registry")]);
    }
}

#[test]
fn cargo_lock_may_name_only_the_standard_index() {
    let text = format!("[[package]]\nsource = {STANDARD_INDEX}\n");
    assert_eq!(findings("Cargo.lock", &text), Vec::<String>::new());
    assert_eq!(
        findings("Cargo.lock", &format!("{text}[[package]]\nsource = \"git+x\"\n")),
        ["Cargo.lock:4: \"git+x\" is not the standard index"]
    );
}

#[test]
fn npm_lock_files_are_found_only_with_urls() {
    let npm = "{\n  \"resolved\": \"x\"\n}\n";
    assert_eq!(
        findings("web/package-lock.json", npm),
        ["web/package-lock.json:2: a lock file with 1 download addresses"]
    );
    assert_eq!(findings("web/package-lock.json", "{}\n"), Vec::<String>::new());
}

#[test]
fn large_files_are_found() {
    assert!(findings("a.txt", &"x".repeat(MAX_FILE_BYTES)).is_empty());
    let found = findings("a.txt", &"x".repeat(MAX_FILE_BYTES + 1));
    assert_eq!(found, ["a.txt:1: 1048577 bytes, more than 1048576"]);
}

#[test]
fn binary_files_are_found_except_images_of_documents() {
    assert_eq!(findings("tool", "\0"), ["tool:1: a binary file; only docs/*.png may be one"]);
    assert_eq!(findings("logo.png", "\0").len(), 1);
    assert!(findings("docs/console.png", "\0").is_empty());
}
