//! Members take every dependency from the workspace: versions stand in the root manifest only.

use std::collections::BTreeMap;

use super::Member;
use crate::tidy::finding::Finding;
use crate::tidy::tree::Tree;

pub(super) fn check(tree: &Tree, members: &[Member]) -> Vec<Finding> {
    members
        .iter()
        .filter_map(|member| Some((member, tree.text(&member.manifest)?)))
        .flat_map(|(member, text)| check_manifest(&member.manifest, text))
        .collect()
}

fn check_manifest(path: &str, text: &str) -> Vec<Finding> {
    let mut findings: Vec<(usize, String)> = declared(text)
        .into_iter()
        .filter(|(_, declaration)| declaration.origin == Origin::Own)
        .map(|((_, name), declaration)| (declaration.line, name))
        .collect();
    findings.sort_unstable();
    findings
        .into_iter()
        .map(|(line, name)| {
            let message = format!("`{name}` is not taken from the workspace (`workspace = true`)");
            Finding::new(path, line, message)
        })
        .collect()
}

struct Declaration {
    line: usize,
    origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Workspace,
    Own,
}

/// The dependencies of a manifest by section and name. Read line by line: a dependency may be
/// one line (`a.workspace = true`, `a = { … }`), several dotted ones, or a section of its own.
fn declared(text: &str) -> BTreeMap<(String, String), Declaration> {
    let mut declared: BTreeMap<(String, String), Declaration> = BTreeMap::new();
    let mut section = Section::Other;
    for (index, line) in text.lines().enumerate() {
        let line = line.split_once(" #").map_or(line, |(code, _)| code).trim();
        if let Some(header) = line.strip_prefix('[') {
            section = Section::of(header.trim_end_matches(']'));
        }
        let Some((kind, name, setting)) = section.dependency(line) else {
            continue;
        };
        let declaration = declared
            .entry((kind.to_owned(), name.to_owned()))
            .or_insert(Declaration { line: index + 1, origin: Origin::Own });
        if setting.replace(' ', "").contains("workspace=true") {
            declaration.origin = Origin::Workspace;
        }
    }
    declared
}

/// The part of a manifest that a line stands in.
enum Section<'a> {
    /// `[dependencies]`, `[target.….dev-dependencies]` and their like.
    Dependencies(&'a str),
    /// `[dependencies.name]`.
    Dependency(&'a str, &'a str),
    Other,
}

impl<'a> Section<'a> {
    fn of(header: &'a str) -> Self {
        if header.ends_with("dependencies") {
            return Self::Dependencies(header);
        }
        match header.rsplit_once('.') {
            Some((kind, name)) if kind.ends_with("dependencies") => Self::Dependency(kind, name),
            _ => Self::Other,
        }
    }

    /// The kind and name of the dependency that a line is about, and what it says about it.
    fn dependency<'b>(&'b self, line: &'b str) -> Option<(&'b str, &'b str, &'b str)> {
        match self {
            Self::Dependency(kind, name) => Some((*kind, *name, line)),
            Self::Dependencies(kind) if starts_with_name(line) => {
                let end = line.find(['.', '=', ' '])?;
                Some((*kind, &line[..end], &line[end + 1..]))
            }
            Self::Dependencies(_) | Self::Other => None,
        }
    }
}

fn starts_with_name(line: &str) -> bool {
    // Not a header, a comment, or the rest of a list that goes on over several lines.
    line.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::printed;

    fn findings(text: &str) -> Vec<String> {
        printed(&check_manifest("Cargo.toml", text))
    }

    #[test]
    fn dependencies_of_the_workspace_have_no_findings() {
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
    fn dependencies_with_their_own_version_or_path_are_found() {
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
    fn the_same_name_is_judged_in_each_section() {
        let text = "[dependencies]\na.workspace = true\n[dev-dependencies]\na = \"1\"\n";
        assert_eq!(findings(text).len(), 1);
    }
}
