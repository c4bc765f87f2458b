//! Rule: packages that a member must not depend on, directly or indirectly.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use cargo_metadata::{DependencyKind, Metadata};

use super::finding::Finding;

struct ForbiddenPackages {
    member: &'static str,
    reason: &'static str,
    packages: &'static [&'static str],
}

const FORBIDDEN: &[ForbiddenPackages] = &[
    ForbiddenPackages {
        member: "usage-metrics",
        reason: "it cannot send anything",
        packages: &["tokio", "hyper", "reqwest", "ureq", "axum", "socket2"],
    },
    ForbiddenPackages {
        member: "task-loop",
        reason: "it has no terminal, no commands and no service",
        packages: &["anstream", "clap", "indicatif", "reedline", "gateway"],
    },
    ForbiddenPackages {
        member: "mcp-client",
        reason: "it is a library for any program",
        packages: &["gateway", "task-loop", "usage-metrics"],
    },
    ForbiddenPackages {
        member: "gateway",
        reason: "the service does not contain the client",
        packages: &["mcp-client", "task-loop", "usage-metrics"],
    },
    ForbiddenPackages {
        member: "api-dialects",
        reason: "it translates without I/O",
        packages: &["tokio", "hyper", "reqwest", "gateway-store"],
    },
    ForbiddenPackages {
        member: "web-reader",
        reason: "it does not handle money",
        packages: &["gateway-store", "ledger"],
    },
    ForbiddenPackages {
        member: "ledger",
        reason: "it knows no database",
        packages: &["rusqlite", "tokio-postgres"],
    },
    ForbiddenPackages {
        member: "wire",
        reason: "it does no I/O",
        packages: &["tokio", "hyper", "reqwest"],
    },
];

pub(super) fn check(metadata: &Metadata) -> Vec<Finding> {
    let graph = Graph::of(metadata);
    let mut findings = Vec::new();
    for rule in FORBIDDEN {
        for package in rule.packages {
            if let Some(chain) = graph.chain(rule.member, package) {
                let message = format!(
                    "`{}` must not depend on `{package}`: {} ({})",
                    rule.member,
                    rule.reason,
                    chain.join(" → ")
                );
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
