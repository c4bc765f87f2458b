//! Tests of `layers`.

use super::*;
use crate::tidy::finding::printed;

fn graph(edges: &[(&str, &str)]) -> Graph {
    let mut graph = Graph::default();
    for (from, to) in edges {
        graph.dependencies.entry((*from).to_owned()).or_default().push((*to).to_owned());
    }
    graph
}

#[test]
fn unreachable_package_has_no_chain() {
    let graph = graph(&[("metrics", "serde"), ("agent", "tokio"), ("serde", "metrics")]);
    assert_eq!(graph.chain("metrics", "tokio"), None);
    assert_eq!(graph.chain("unknown", "tokio"), None);
}

#[test]
fn reachable_package_has_a_chain() {
    let graph = graph(&[("metrics", "bar"), ("bar", "client"), ("client", "tokio")]);
    let chain = graph.chain("metrics", "tokio").unwrap();
    assert_eq!(chain, ["metrics", "bar", "client", "tokio"]);
}

/// One member and one package, as `cargo metadata` prints them.
fn metadata(kind: &str) -> Metadata {
    let package = |name: &str| {
        format!(
            r#"{{"name":"{name}","version":"0.1.0","id":"{name}","dependencies":[],"targets":[],
                "features":{{}},"manifest_path":"/w/{name}/Cargo.toml","edition":"2024"}}"#
        )
    };
    let text = format!(
        r#"{{"packages":[{},{}],"workspace_members":["usage-metrics"],"target_directory":"/w/t",
            "workspace_root":"/w","version":1,"resolve":{{"root":null,"nodes":[
            {{"id":"usage-metrics","dependencies":["tokio"],
              "deps":[{{"name":"tokio","pkg":"tokio","dep_kinds":[{{"kind":{kind},"target":null}}]}}]}},
            {{"id":"tokio","dependencies":[],"deps":[]}}]}}}}"#,
        package("usage-metrics"),
        package("tokio"),
    );
    cargo_metadata::MetadataCommand::parse(text).unwrap()
}

#[test]
fn only_normal_dependencies_are_findings() {
    let findings = |kind| printed(&check(&metadata(kind)));
    assert_eq!(
        findings("null"),
        ["Cargo.lock:1: `usage-metrics` must not depend on `tokio`: it cannot \
              send anything (usage-metrics → tokio)"]
    );
    assert_eq!(findings("\"dev\""), Vec::<String>::new());
}
