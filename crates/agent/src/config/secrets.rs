//! The profile's `.env`: secrets are added to it, and nothing in it is changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcp_client::config::env_file::{self, MAX_ENV_FILE_BYTES, MAX_VARIABLES};

use super::{read, write};
use crate::diagnostic::Diagnostic;

/// The most variables of one name; a further one is refused.
const MAX_OF_A_NAME: usize = 100;

/// The secrets of a profile, with those that are about to be added.
#[derive(Clone)]
pub(crate) struct SecretsFile {
    path: PathBuf,
    text: String,
    variables: BTreeMap<String, String>,
    is_changed: bool,
}

impl SecretsFile {
    pub(crate) fn load(path: &Path) -> Result<Self, Diagnostic> {
        let text = read(path)?.unwrap_or_default();
        let (variables, _) = env_file::parse(&text);
        Ok(SecretsFile { path: path.to_owned(), text, variables, is_changed: false })
    }

    /// Adds a value to the file at this path. Gives the file, and the name that was used.
    pub(crate) fn store(
        path: &Path,
        name: &str,
        value: &str,
    ) -> Result<(Self, String), Diagnostic> {
        let mut file = Self::load(path)?;
        let name = file.add(name, value)?;
        file.write()?;
        Ok((file, name))
    }

    /// A file that is never written: for who only wants the names that secrets would get.
    pub(crate) fn scratch() -> Self {
        let (path, text) = (PathBuf::new(), String::new());
        SecretsFile { path, text, variables: BTreeMap::new(), is_changed: false }
    }

    /// Adds a value under this name, or under a like one if the name has another value already.
    /// Gives the name that was used.
    pub(crate) fn add(&mut self, name: &str, value: &str) -> Result<String, Diagnostic> {
        let names = (1..=MAX_OF_A_NAME).map(|n| match n {
            1 => name.to_owned(),
            _ => format!("{name}_{n}"),
        });
        for name in names {
            match self.variables.get(&name) {
                Some(known) if known == value => return Ok(name),
                Some(_) => {}
                None => {
                    self.append(&name, value)?;
                    return Ok(name);
                }
            }
        }
        Err(self.refused(name))
    }

    fn append(&mut self, name: &str, value: &str) -> Result<(), Diagnostic> {
        let gap = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { "\n" };
        let text = format!("{}{gap}{name}={}\n", self.text, quoted(value));
        let mut meant = self.variables.clone();
        meant.insert(name.to_owned(), value.to_owned());
        let is_too_much = text.len() > MAX_ENV_FILE_BYTES || meant.len() > MAX_VARIABLES;
        if is_too_much || env_file::parse(&text).0 != meant {
            return Err(self.refused(name));
        }
        (self.text, self.variables, self.is_changed) = (text, meant, true);
        Ok(())
    }

    /// Writes the file if something was added. A new one is for its owner alone.
    pub(crate) fn write(&self) -> Result<(), Diagnostic> {
        if self.is_changed { write(&self.path, &self.text) } else { Ok(()) }
    }

    /// Whether the file says that others may read it.
    pub(crate) fn is_open_to_others(&self) -> bool {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(&self.path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
    }

    fn refused(&self, name: &str) -> Diagnostic {
        let message = format!("cannot add `{name}` to {}", self.path.display());
        Diagnostic::configuration(message)
            .hint("add the secret yourself and refer to it as `${NAME}`")
            .hint("or write it into the configuration with `--keep-literal`")
    }
}

fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./+=:@%-".contains(c);
    if !value.is_empty() && value.chars().all(is_plain) {
        return value.to_owned();
    }
    if !value.contains(['\'', '\r']) {
        return format!("'{value}'");
    }
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\r', "\\r");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests;
