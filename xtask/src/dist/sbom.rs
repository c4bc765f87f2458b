//! The software bill of materials: the crates in the binary, as CycloneDX JSON.
//!
//! `cargo metadata` has all that is listed here. `cargo-cyclonedx` must be compiled first and writes
//! one document per member of the workspace instead of one for the binary.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, Package, PackageId};
use serde_json::{Value, json};

use super::Artifact;
use super::release::Release;
use crate::failure::Failure;

pub(super) fn build(release: &Release) -> Result<Artifact, Failure> {
    let document = document(&release.metadata, "agent", &release.timestamp)?;
    let name = format!("{}.cdx.json", release.stem());
    Ok(Artifact { name, bytes: format!("{document:#}\n").into_bytes() })
}

fn document(metadata: &Metadata, root: &str, timestamp: &str) -> Result<Value, Failure> {
    let packages: BTreeMap<&PackageId, &Package> =
        metadata.packages.iter().map(|package| (&package.id, package)).collect();
    let members = metadata.workspace_packages();
    let root = members.iter().find(|package| package.name == root).map(|package| &package.id);
    let root = root.ok_or_else(|| Failure::work("the workspace lacks the package of the SBOM"))?;
    let graph = linked_packages(metadata, root);
    let component = |id: &PackageId| packages.get(id).map(|package| describe(package));
    let components: Vec<Value> =
        graph.keys().filter(|&&id| id != root).filter_map(|id| component(id)).collect();
    let reference = |id: &PackageId| packages.get(id).map(|package| purl(package));
    let dependencies: Vec<Value> = graph
        .iter()
        .map(|(id, targets)| {
            let targets: Vec<String> = targets.iter().filter_map(|id| reference(id)).collect();
            json!({ "ref": reference(id), "dependsOn": targets })
        })
        .collect();
    let mut main = component(root).unwrap_or_default();
    main["type"] = json!("application");
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "timestamp": timestamp, "component": main },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// The packages that are linked into the root, with their dependencies. Build scripts, procedural
/// macros and what only they use are listed too: they decide what is compiled.
fn linked_packages<'m>(
    metadata: &'m Metadata,
    root: &'m PackageId,
) -> BTreeMap<&'m PackageId, BTreeSet<&'m PackageId>> {
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let nodes: BTreeMap<&PackageId, _> = nodes.map(|node| (&node.id, node)).collect();
    let mut graph = BTreeMap::new();
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        let Some(node) = nodes.get(id).filter(|_| !graph.contains_key(id)) else { continue };
        let is_used = |dependency: &&cargo_metadata::NodeDep| {
            dependency.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development)
        };
        let targets: BTreeSet<&PackageId> =
            node.deps.iter().filter(is_used).map(|dependency| &dependency.pkg).collect();
        pending.extend(&targets);
        graph.insert(id, targets);
    }
    graph
}

fn describe(package: &Package) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(package),
        "name": package.name,
        "version": package.version,
        "purl": purl(package),
    });
    if let Some(licence) = &package.license {
        // Old manifests separate alternatives with a slash.
        let expression = licence.replace('/', " OR ");
        component["licenses"] = json!([{ "expression": expression }]);
    }
    component
}

/// The package URL, which identifies a component.
fn purl(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

#[cfg(test)]
mod tests {
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
}
