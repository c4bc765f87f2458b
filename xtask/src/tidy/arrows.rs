//! Rule: the dependencies that each member of the workspace may have.

mod forbidden;
mod manifests;

use cargo_metadata::{DependencyKind, Metadata};

use super::finding::Finding;
use super::tree::Tree;

/// Every member, and the members it may depend on.
#[rustfmt::skip] // a table of words
const ARROWS: &[(&str, &[&str])] = &[
    ("agent", &[
        "dashboard", "document-parser", "gateway", "gateway-store", "ledger", "local-model",
        "mcp-client", "pages", "settings", "task-loop", "usage-metrics", "wire",
    ]),
    ("agent-fuzz", &["api-dialects", "document-parser", "mcp-client", "usage-metrics", "wire"]),
    ("agent-test-support", &["wire"]),
    ("api-dialects", &["wire"]),
    ("dashboard", &["pages"]),
    ("document-index", &["document-parser"]),
    ("document-parser", &["wire"]),
    ("gateway", &[
        "api-dialects", "document-index", "document-parser", "gateway-store", "ledger",
        "local-model", "pages", "settings", "web-reader", "wire",
    ]),
    ("gateway-store", &["ledger"]),
    ("ledger", &[]),
    ("local-model", &[]),
    ("mcp-client", &["pages", "settings", "wire"]),
    ("pages", &[]),
    ("settings", &[]),
    ("task-loop", &["document-parser", "ledger", "mcp-client", "usage-metrics", "wire"]),
    ("usage-metrics", &[]),
    ("web-reader", &["document-parser", "wire"]),
    ("wire", &[]),
    ("xtask", &[]),
];

/// Members that every member may use in tests.
const FOR_TESTS: &[&str] = &["agent-test-support"];

pub(super) fn check(tree: &Tree, metadata: &Metadata) -> Vec<Finding> {
    let members = members(metadata);
    let mut findings = check_members(ARROWS, &members);
    findings.extend(forbidden::check(metadata, &members));
    findings.extend(manifests::check(tree, &members));
    findings
}

struct Member {
    name: String,
    /// Path relative to the root.
    manifest: String,
    dependencies: Vec<(String, DependencyKind)>,
}

fn members(metadata: &Metadata) -> Vec<Member> {
    let packages = metadata.workspace_packages();
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    packages
        .iter()
        .map(|package| Member {
            name: package.name.to_string(),
            manifest: package
                .manifest_path
                .strip_prefix(&metadata.workspace_root)
                .unwrap_or(&package.manifest_path)
                .as_str()
                .replace('\\', "/"),
            dependencies: package
                .dependencies
                .iter()
                .filter(|dependency| names.contains(&dependency.name.as_str()))
                .map(|dependency| (dependency.name.clone(), dependency.kind))
                .collect(),
        })
        .collect()
}

fn check_members(arrows: &[(&str, &[&str])], members: &[Member]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in members {
        let Some((_, allowed)) = arrows.iter().find(|(name, _)| *name == member.name) else {
            let message = format!("`{}` is not in the table of arrows ({TABLE})", member.name);
            findings.push(Finding::new(&member.manifest, 1, message));
            continue;
        };
        for (dependency, kind) in &member.dependencies {
            let dependency = dependency.as_str();
            let is_for_tests =
                *kind == DependencyKind::Development && FOR_TESTS.contains(&dependency);
            if !allowed.contains(&dependency) && !is_for_tests {
                let message = format!("`{}` must not depend on `{dependency}`", member.name);
                findings.push(Finding::new(&member.manifest, 1, message));
            }
        }
    }
    for (name, _) in arrows {
        if !members.iter().any(|member| member.name == *name) {
            let message = format!("the table of arrows names `{name}`, which is no member");
            findings.push(Finding::new(TABLE, 1, message));
        }
    }
    findings
}

const TABLE: &str = "xtask/src/tidy/arrows.rs";

#[cfg(test)]
mod tests;
