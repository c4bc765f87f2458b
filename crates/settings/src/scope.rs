//! Variable references: the only place where `${...}` is resolved.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{MAIN_SEPARATOR_STR, Path, PathBuf};

/// Values for references. Passed in; nothing is read here.
#[derive(Clone, Default)]
pub struct Scope {
    /// Variables of the profile's `.env`; they take precedence.
    pub secrets: BTreeMap<String, String>,
    /// The environment of the process.
    pub process: BTreeMap<String, String>,
    pub home: Option<PathBuf>,
    /// The root of the session's workspace.
    pub workspace: PathBuf,
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("secrets", &self.secrets.len())
            .field("process", &self.process.len())
            .field("home", &self.home)
            .field("workspace", &self.workspace)
            .finish()
    }
}

/// Source of the value of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Secrets,
    /// The environment of the process.
    Process,
    /// The context: home, workspace, separator.
    Context,
    /// The reference itself: `${NAME:-default}`.
    Default,
    /// Unset; the placeholder stays.
    Unset,
}

/// One reference in a string.
#[derive(PartialEq, Eq)]
pub struct Reference {
    /// Its name, trimmed and without `env:` and default.
    pub name: String,
    pub origin: Origin,
    /// Its value; empty if unset.
    pub value: String,
}

impl Scope {
    /// Resolves every reference of a string in one pass: values are not resolved again. Returns
    /// the result, and the references in order.
    pub fn resolve(&self, written: &str) -> (String, Vec<Reference>) {
        let mut references = Vec::new();
        let resolved = map_references(written, |whole, name| {
            let reference = self.look_up(name.trim());
            let is_unset = reference.origin == Origin::Unset;
            let value = if is_unset { whole.to_owned() } else { reference.value.clone() };
            references.push(reference);
            value
        });
        (resolved, references)
    }

    /// An unset or empty variable gets its default, if any.
    fn look_up(&self, written: &str) -> Reference {
        let Some((name, default)) = written.split_once(":-") else { return self.named(written) };
        let found = self.named(name.trim_end());
        if found.value.is_empty() {
            return Reference { origin: Origin::Default, value: default.to_owned(), ..found };
        }
        found
    }

    fn named(&self, name: &str) -> Reference {
        if let Some(value) = self.context(name) {
            return Reference { name: name.into(), origin: Origin::Context, value };
        }
        // No variable replaces an unknown home directory.
        let is_home = name == "userHome";
        let name = name.strip_prefix("env:").map_or(name, str::trim);
        let sources = [(Origin::Secrets, &self.secrets), (Origin::Process, &self.process)];
        let found = sources
            .into_iter()
            .filter(|_| !is_home)
            .find_map(|(origin, variables)| Some((origin, variables.get(name)?.clone())));
        let (origin, value) = found.unwrap_or((Origin::Unset, String::new()));
        Reference { name: name.into(), origin, value }
    }

    /// The value of a context name; `None` for any other name.
    fn context(&self, name: &str) -> Option<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        match name {
            "userHome" => self.home.as_deref().map(text),
            "workspaceFolder" => Some(text(&self.workspace)),
            "workspaceFolderBasename" => {
                let name = self.workspace.file_name().map(Path::new);
                Some(text(name.unwrap_or(&self.workspace)))
            }
            "pathSeparator" | "/" => Some(MAIN_SEPARATOR_STR.to_owned()),
            _ => None,
        }
    }

    /// A path with a leading `~` expanded; `None` without a home directory.
    pub fn expand_home(&self, path: &str) -> Option<String> {
        let Some(rest) = path.strip_prefix('~') else { return Some(path.to_owned()) };
        if !rest.is_empty() && !rest.starts_with('/') && !rest.starts_with(MAIN_SEPARATOR_STR) {
            return Some(path.to_owned());
        }
        Some(format!("{}{rest}", self.home.as_deref()?.display()))
    }
}

/// A text with every reference replaced, given the whole of it and what is in its braces.
pub fn map_references(text: &str, mut replace: impl FnMut(&str, &str) -> String) -> String {
    let (mut mapped, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = rest.find("${")
        && let Some(length) = rest[start..].find('}')
    {
        let (whole, after) = rest[start..].split_at(length + 1);
        mapped.push_str(&rest[..start]);
        mapped.push_str(&replace(whole, &whole[2..length]));
        rest = after;
    }
    mapped + rest
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reference")
            .field("name", &self.name)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
