//! Rule: packages that a member must not depend on, directly or indirectly.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use cargo_metadata::{DependencyKind, Metadata};

use super::finding::Finding;

/// A member, the packages that it must not depend on, and the reason.
const FORBIDDEN: &[(&str, &[&str], &str)] = &[
    (
        "usage-metrics",
        &["tokio", "hyper", "reqwest", "ureq", "axum", "socket2"],
        "it cannot send anything",
    ),
    (
        "task-loop",
        &["anstream", "clap", "indicatif", "reedline", "gateway"],
        "it has no terminal, no commands and no service",
    ),
    ("mcp-client", &["gateway", "task-loop", "usage-metrics"], "it is a library for any program"),
    (
        "gateway",
        &["mcp-client", "task-loop", "usage-metrics"],
        "the service does not contain the client",
    ),
    ("api-dialects", &["tokio", "hyper", "reqwest", "gateway-store"], "it translates without I/O"),
    ("web-reader", &["gateway-store", "ledger"], "it does not handle money"),
    ("ledger", &["rusqlite", "tokio-postgres"], "it knows no database"),
    ("wire", &["tokio", "hyper", "reqwest"], "it does no I/O"),
];

pub(super) fn check(metadata: &Metadata) -> Vec<Finding> {
    let graph = Graph::of(metadata);
    let mut findings = Vec::new();
    for (member, packages, reason) in FORBIDDEN {
        for package in *packages {
            if let Some(chain) = graph.chain(member, package) {
                let chain = chain.join(" → ");
                let message =
                    format!("`{member}` must not depend on `{package}`: {reason} ({chain})");
                findings.push(Finding::new("Cargo.lock", 1, message));
            }
        }
    }
    findings
}

/// Normal dependencies by package name. Versions of one package are merged.
#[derive(Default)]
struct Graph {
    dependencies: BTreeMap<String, Vec<String>>,
}

impl Graph {
    fn of(metadata: &Metadata) -> Self {
        let names: BTreeMap<_, _> =
            metadata.packages.iter().map(|package| (&package.id, package.name.as_str())).collect();
        let mut graph = Self::default();
        for node in metadata.resolve.iter().flat_map(|resolve| &resolve.nodes) {
            let Some(name) = names.get(&node.id) else { continue };
            let normal = node
                .deps
                .iter()
                .filter(|dependency| {
                    dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
                })
                .filter_map(|dependency| names.get(&dependency.pkg))
                .map(|name| (*name).to_owned());
            graph.dependencies.entry((*name).to_owned()).or_default().extend(normal);
        }
        graph
    }

    /// The shortest chain of dependencies from one package to another.
    fn chain(&self, from: &str, to: &str) -> Option<Vec<String>> {
        let mut seen = BTreeSet::from([from]);
        let mut chains = VecDeque::from([vec![from]]);
        while let Some(chain) = chains.pop_front() {
            let last = chain.last().and_then(|package| self.dependencies.get(*package));
            for dependency in last.into_iter().flatten() {
                if !seen.insert(dependency) {
                    continue;
                }
                let chain = [&chain[..], &[dependency]].concat();
                if dependency == to {
                    return Some(chain.into_iter().map(str::to_owned).collect());
                }
                chains.push_back(chain);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
