//! Members take every dependency from the workspace: versions are only in the root manifest.

use toml::de::{DeTable, DeValue};

use super::Member;
use crate::tidy::finding::{Finding, line_at};
use crate::tidy::tree::Tree;

pub(super) fn check(tree: &Tree, members: &[Member]) -> Vec<Finding> {
    members
        .iter()
        .filter_map(|member| Some((member, tree.text(&member.manifest)?)))
        .flat_map(|(member, text)| check_manifest(&member.manifest, text))
        .collect()
}

fn check_manifest(path: &str, text: &str) -> Vec<Finding> {
    let manifest = match DeTable::parse(text) {
        Ok(manifest) => manifest.into_inner(),
        Err(error) => return vec![Finding::new(path, 1, error.message())],
    };
    let mut found = Vec::new();
    collect_own(&manifest, &mut found);
    found.sort_unstable();
    found
        .into_iter()
        .map(|(offset, name)| {
            let message = format!("`{name}` is not taken from the workspace (`workspace = true`)");
            Finding::new(path, line_at(text, offset), message)
        })
        .collect()
}

/// Collects offset and name of the dependencies with their own version or path, in all sections.
fn collect_own(table: &DeTable<'_>, found: &mut Vec<(usize, String)>) {
    for (key, value) in table {
        let Some(section) = value.get_ref().as_table() else { continue };
        if key.get_ref().ends_with("dependencies") {
            let own = section.iter().filter(|(_, value)| !is_from_workspace(value.get_ref()));
            found.extend(own.map(|(name, _)| (name.span().start, name.get_ref().to_string())));
        } else {
            collect_own(section, found);
        }
    }
}

fn is_from_workspace(dependency: &DeValue<'_>) -> bool {
    dependency.get("workspace").and_then(|value| value.get_ref().as_bool()) == Some(true)
}

#[cfg(test)]
mod tests;
