//! Tests of `manifests`.

use super::*;
use crate::tidy::finding::printed;

fn findings(text: &str) -> Vec<String> {
    printed(&check_manifest("Cargo.toml", text))
}

#[test]
fn workspace_dependencies_have_no_findings() {
    let text = "\
[package]
version = \"1\"

[dependencies]
# A comment.
a.workspace = true
b = { workspace = true, features = [\"x\"] }
c.workspace = true
c.features = [
    \"x\",
]

[target.'cfg(unix)'.dev-dependencies]
d = { features = [\"x\"], workspace=true }

[build-dependencies.e]
workspace = true

[lints]
workspace = true
";
    assert_eq!(findings(text), Vec::<String>::new());
}

#[test]
fn dependencies_with_a_version_or_path_are_found() {
    let text = "\
[dependencies]
a = \"1\"
b = { version = \"1\" } # not workspace = true
[dev-dependencies]
c = { path = \"../c\" }
[target.'cfg(unix)'.dependencies]
d.version = \"1\"
[dependencies.e]
version = \"1\"
";
    let taken = "is not taken from the workspace (`workspace = true`)";
    assert_eq!(
        findings(text),
        [(2, 'a'), (3, 'b'), (5, 'c'), (7, 'd'), (8, 'e')]
            .map(|(line, name)| format!("Cargo.toml:{line}: `{name}` {taken}"))
    );
}

#[test]
fn dependency_is_checked_in_each_section() {
    let text = "[dependencies]\na.workspace = true\n[dev-dependencies]\na = \"1\"\n";
    assert_eq!(findings(text).len(), 1);
}
