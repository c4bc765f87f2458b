//! Tests of `arrows`.

use super::*;
use crate::tidy::finding::printed;

fn member(name: &str, dependencies: &[(&str, DependencyKind)]) -> Member {
    Member {
        name: name.to_owned(),
        manifest: format!("crates/{name}/Cargo.toml"),
        dependencies: dependencies.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect(),
    }
}

const TOP_TO_BOTTOM: &[(&str, &[&str])] = &[("top", &["bottom"]), ("bottom", &[])];

fn findings(members: &[Member]) -> Vec<String> {
    printed(&check_members(TOP_TO_BOTTOM, members))
}

#[test]
fn allowed_dependencies_have_no_findings() {
    let members = [
        member(
            "top",
            &[
                ("bottom", DependencyKind::Normal),
                ("agent-test-support", DependencyKind::Development),
            ],
        ),
        member("bottom", &[("agent-test-support", DependencyKind::Development)]),
    ];
    assert_eq!(findings(&members), Vec::<String>::new());
}

#[test]
fn other_dependencies_are_found() {
    let members = [
        member("top", &[("agent-test-support", DependencyKind::Normal)]),
        member("bottom", &[("top", DependencyKind::Development)]),
    ];
    assert_eq!(
        findings(&members),
        [
            "crates/top/Cargo.toml:1: `top` must not depend on `agent-test-support`",
            "crates/bottom/Cargo.toml:1: `bottom` must not depend on `top`",
        ]
    );
}

#[test]
fn table_and_workspace_have_the_same_members() {
    let members = [member("top", &[]), member("side", &[])];
    assert_eq!(
        findings(&members),
        [
            "crates/side/Cargo.toml:1: `side` is not in the table of arrows \
                 (xtask/src/tidy/arrows.rs)",
            "xtask/src/tidy/arrows.rs:1: the table of arrows names `bottom`, which is no \
                 member",
        ]
    );
}
