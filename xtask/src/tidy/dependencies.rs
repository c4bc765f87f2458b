//! Rule: licences and duplicate versions of dependencies, by the policy in `deny.toml`.
//!
//! `cargo deny` knows more, but takes minutes to build on a fresh machine.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::Metadata;
use spdx::{Expression, ParseMode};
use toml::{Table, Value};

use super::finding::Finding;
use super::tree::Tree;

const POLICY: &str = "deny.toml";

pub(super) fn check(tree: &Tree, metadata: &Metadata) -> Vec<Finding> {
    let policy = tree.text(POLICY).ok_or("is missing".to_owned());
    let policy = policy.and_then(|text| Policy::parse(text).map_err(|error| error.to_string()));
    match policy {
        Ok(policy) => {
            let messages = policy.check(metadata);
            messages.into_iter().map(|message| Finding::new(POLICY, 1, message)).collect()
        }
        Err(message) => vec![Finding::new(POLICY, 1, message)],
    }
}

struct Policy {
    licences: Vec<String>,
    /// Packages that may have several versions.
    duplicates: BTreeSet<String>,
}

impl Policy {
    fn parse(text: &str) -> Result<Self, toml::de::Error> {
        let table: Table = toml::from_str(text)?;
        let list = |section: &str, key: &str| {
            let list = table.get(section).and_then(|section| section.get(key)?.as_array().cloned());
            let words = list.unwrap_or_default().into_iter().filter_map(|item| match item {
                Value::String(word) => Some(word),
                other => other.get("crate")?.as_str().map(str::to_owned),
            });
            words.collect::<Vec<String>>()
        };
        let name = |spec: String| spec.split('@').next().unwrap_or_default().to_owned();
        Ok(Self {
            licences: list("licenses", "allow"),
            duplicates: list("bans", "skip").into_iter().map(name).collect(),
        })
    }

    fn check(&self, metadata: &Metadata) -> Vec<String> {
        let used: BTreeSet<_> = metadata
            .resolve
            .iter()
            .flat_map(|resolve| &resolve.nodes)
            .map(|node| &node.id)
            .collect();
        let mut messages = Vec::new();
        let mut versions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for package in metadata.packages.iter().filter(|package| used.contains(&package.id)) {
            let licence = package.license.as_deref().unwrap_or("none");
            if !self.allows(licence) {
                messages.push(format!("`{}` has the licence `{licence}`", package.name));
            }
            versions.entry(package.name.as_str()).or_default().push(package.version.to_string());
        }
        let is_skipped = |name: &str| self.duplicates.contains(name);
        for (name, all) in versions.iter().filter(|(name, all)| all.len() > 1 && !is_skipped(name))
        {
            messages.push(format!("`{name}` is there in several versions: {}", all.join(", ")));
        }
        let needed = |name: &str| versions.get(name).is_some_and(|all| all.len() > 1);
        for name in self.duplicates.iter().filter(|name| !needed(name)) {
            messages.push(format!("`{name}` is there in one version; remove it from `skip`"));
        }
        messages
    }

    /// Whether a licence expression can be fulfilled with licences that are allowed.
    fn allows(&self, expression: &str) -> bool {
        let parsed = Expression::parse_mode(expression, ParseMode::LAX);
        parsed.is_ok_and(|parsed| {
            parsed.evaluate(|licence| self.licences.contains(&licence.to_string()))
        })
    }
}

#[cfg(test)]
mod tests;
