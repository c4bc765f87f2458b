//! Tests of `sbom`.

use super::*;
use crate::workspace::Workspace;

#[test]
fn document_lists_dependencies_but_not_those_of_tests() {
    let metadata = Workspace::load().unwrap().resolved_metadata().unwrap();
    let document = document(&metadata, "agent", "2026-01-01T00:00:00Z").unwrap();
    let names: Vec<&str> = document["components"]
        .as_array()
        .unwrap()
        .iter()
        .map(|component| component["name"].as_str().unwrap())
        .collect();
    for name in ["clap", "gateway", "ring"] {
        assert!(names.contains(&name), "{name}");
    }
    for name in ["agent", "agent-test-support", "insta", "xtask"] {
        assert!(!names.contains(&name), "{name}");
    }
    assert_eq!(document["metadata"]["component"]["name"], "agent");
}
