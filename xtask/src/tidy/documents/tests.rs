//! Tests of `documents`.

use super::*;
use crate::tidy::finding::printed;

const README: &str = "```sh\ncargo run --release -- up\ncargo xtask test\n```\n";
const CHANGELOG: &str = "# Changelog\n\n## [Unreleased]\n";

fn findings(readme: &str, changelog: &str, architecture: &str) -> Vec<String> {
    let tree = Tree::of(&[
        ("README.md", readme),
        ("CHANGELOG.md", changelog),
        ("ARCHITECTURE.md", architecture),
        ("crates/agent/Cargo.toml", ""),
    ]);
    printed(&check(&tree, &["crates/agent".to_owned()]))
}

#[test]
fn complete_documents_have_no_findings() {
    assert_eq!(findings(README, CHANGELOG, "The `crates/agent/` folder."), Vec::<String>::new());
}

#[test]
fn missing_contents_are_found() {
    assert_eq!(
        findings("cargo xtask test", "## Unreleased", "crates/agent-fuzz"),
        [
            "README.md:1: does not show `cargo run --release -- up`",
            "CHANGELOG.md:1: has no heading `## [Unreleased]`",
            "ARCHITECTURE.md:1: does not mention `crates/agent`",
        ]
    );
}

#[test]
fn missing_documents_are_found() {
    let found = printed(&check(&Tree::of(&[]), &[]));
    assert_eq!(
        found,
        ["README.md:1: missing", "CHANGELOG.md:1: missing", "ARCHITECTURE.md:1: missing"]
    );
}
