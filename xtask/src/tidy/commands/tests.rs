//! Tests of `commands`.

use super::*;
use crate::tidy::finding::printed;

const PAGE: &str = "# Commands\n## agent\n## agent metrics\n## agent metrics show\n## agent up\n";

fn findings(text: &str) -> Vec<String> {
    printed(&check(&Tree::of(&[("docs/cli.md", PAGE), ("README.md", text)])))
}

#[test]
fn existing_commands_have_no_findings() {
    let text = "```sh\nagent\nagent up now\nagent --help\nagent metrics show --json\n\
                    agent help\nagents everywhere\n```\n\
                    ```console\n$ agent metrics show file.json\nwrote it\n```\n";
    assert_eq!(findings(text), Vec::<String>::new());
}

#[test]
fn missing_commands_are_found_with_their_line() {
    let text = "# A\n```sh\nagent down\n```\n```console\n$ agent metrics hide x\n```\n";
    assert_eq!(
        findings(text),
        [
            "README.md:3: `agent down` is not in docs/cli.md",
            "README.md:6: `agent metrics hide` is not in docs/cli.md"
        ]
    );
}

#[test]
fn other_blocks_and_prose_are_not_checked() {
    let text = "agent down\n```text\nagent down\n```\n";
    assert_eq!(findings(text), Vec::<String>::new());
}

#[test]
fn templates_of_pages_are_checked() {
    let page = "<p>agent down</p>\n<p><code>agent up now</code> or <code>agent down</code></p>\n";
    let path = "crates/a/templates/b.html";
    let found = printed(&check(&Tree::of(&[("docs/cli.md", PAGE), (path, page)])));
    assert_eq!(found, ["crates/a/templates/b.html:2: `agent down` is not in docs/cli.md"]);
}

#[test]
fn missing_reference_is_found() {
    let found = printed(&check(&Tree::of(&[("README.md", "")])));
    assert_eq!(found, ["docs/cli.md:1: missing; run `cargo xtask docs`"]);
}
