//! The software bill of materials: the crates in the binary, as `CycloneDX` JSON.
//!
//! `cargo metadata` has all that is listed here. `cargo-cyclonedx` must be compiled first and writes
//! one document per member of the workspace instead of one for the binary.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, Node, NodeDep, Package, PackageId};
use serde_json::{Value, json};

use super::Artifact;
use super::release::Release;
use crate::failure::{Failure, Result};

pub(super) fn build(release: &Release) -> Result<Artifact> {
    let document = document(&release.metadata, "agent", &release.timestamp)?;
    let name = format!("{}.cdx.json", release.stem());
    Ok(Artifact { name, bytes: format!("{document:#}\n").into_bytes() })
}

fn document(metadata: &Metadata, root: &str, timestamp: &str) -> Result<Value> {
    let members = metadata.workspace_packages();
    let root = members.iter().find(|package| package.name == root);
    let root = root.ok_or_else(|| Failure::work("the workspace lacks the package of the SBOM"))?;
    let packages: BTreeMap<&PackageId, &Package> =
        metadata.packages.iter().map(|package| (&package.id, package)).collect();
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let nodes: BTreeMap<&PackageId, &Node> = nodes.map(|node| (&node.id, node)).collect();
    let (mut components, mut dependencies) = (BTreeMap::new(), BTreeMap::new());
    let mut pending = vec![&root.id];
    while let Some(id) = pending.pop() {
        let (Some(package), Some(node)) = (packages.get(id), nodes.get(id)) else { continue };
        if components.insert(id, describe(package)).is_some() {
            continue;
        }
        // Those of build scripts count: they decide what is compiled. Those of tests do not.
        let is_used = |dependency: &&NodeDep| {
            dependency.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development)
        };
        let used: Vec<&PackageId> = node.deps.iter().filter(is_used).map(|dep| &dep.pkg).collect();
        let urls: BTreeSet<String> =
            used.iter().filter_map(|id| packages.get(id)).map(|package| purl(package)).collect();
        dependencies.insert(id, json!({ "ref": purl(package), "dependsOn": urls }));
        pending.extend(used);
    }
    let mut main = components.remove(&root.id).unwrap_or_default();
    main["type"] = json!("application");
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "timestamp": timestamp, "component": main },
        "components": components.into_values().collect::<Vec<_>>(),
        "dependencies": dependencies.into_values().collect::<Vec<_>>(),
    }))
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
mod tests;
