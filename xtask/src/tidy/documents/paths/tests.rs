//! Tests of `paths`.

use super::*;
use crate::tidy::finding::printed;

fn findings(document: &str, text: &str) -> Vec<String> {
    let tree = Tree::of(&[
        (document, text),
        (".ci/run", ""),
        (".gitignore", "/target\n/fuzz/corpus/\n"),
        ("crates/agent/src/main.rs", ""),
        ("fuzz/Cargo.toml", ""),
    ]);
    printed(&check(&tree))
}

#[test]
fn existing_paths_have_no_findings() {
    let text = "`crates/agent/src/main.rs:12` `crates/` `./.ci/run` `crates/*/benches` \
                    `crates/agent/src/<command>.rs` `fuzz/corpus/validate` `and/or` \
                    `crates/agent or not` `target/debug/agent` `agent`\n";
    assert_eq!(findings("ARCHITECTURE.md", text), Vec::<String>::new());
}

#[test]
fn missing_paths_are_found() {
    let text = "Text.\n`crates/gone` and `fuzz/corpuses` and `crates/gone/<name>.rs`\n";
    assert_eq!(
        findings("docs/page.md", text),
        [
            "docs/page.md:2: `crates/gone` does not exist",
            "docs/page.md:2: `fuzz/corpuses` does not exist",
            "docs/page.md:2: `crates/gone/<name>.rs` does not exist",
        ]
    );
}

#[test]
fn other_documents_may_name_missing_paths() {
    assert_eq!(findings("CHANGELOG.md", "`crates/gone`\n"), Vec::<String>::new());
}
