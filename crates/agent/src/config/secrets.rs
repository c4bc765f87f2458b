//! The profile's secrets, as lines of `NAME=value` in `.env` or in the keychain: secrets are
//! added, and other lines are kept.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use mcp_client::config::env_file::{self, MAX_ENV_FILE_BYTES, MAX_VARIABLES};
use mcp_client::host::{SecretStore, TokenPlace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{Scope, section, word};

use super::{read, read_lossy, write};
use crate::diagnostic::{Diagnostic, Result};
use crate::home::Home;
use crate::keychain::{Keychain, UnlockDialog};
use crate::session::Session;

/// Maximum number of variables with one base name; a further one is refused.
const MAX_OF_A_NAME: usize = 100;

section! {
    /// Secrets of the profile: its variables and the tokens of MCP servers.
    #[derive(PartialEq, Eq)]
    pub(crate) struct SecretsConfig {
        /// Where they are stored: `file` (`.env` and `mcp-tokens/`, readable only by you) or
        /// `keychain` (that of the operating system). `agent mcp secrets move` sets it.
        store: SecretPlace,
    }
}

#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SecretPlace {
    /// Files that only you can read
    #[default]
    File,
    /// The keychain of the operating system
    Keychain,
}

impl SecretPlace {
    pub(crate) fn of(session: &Session) -> Result<Self> {
        let document = session.config()?;
        // A broken file is reported when its servers are read.
        if document.root.is_err() {
            return Ok(Self::File);
        }
        Ok(document.section::<SecretsConfig>("secrets")?.store)
    }

    pub(crate) fn as_str(self) -> &'static str {
        word::<Self>(self as usize)
    }
}

impl From<SecretPlace> for TokenPlace {
    fn from(place: SecretPlace) -> Self {
        match place {
            SecretPlace::File => Self::Files,
            SecretPlace::Keychain => Self::Keychain,
        }
    }
}

/// The values of `${NAME}` references in configuration files.
pub(crate) fn scope(session: &Session, home: &Home) -> Result<Scope> {
    let path = home.env_file();
    let mut secrets = match SecretPlace::of(session)? {
        SecretPlace::File => BTreeMap::new(),
        place @ SecretPlace::Keychain => SecretsFile::open(&path, place)?.variables,
    };
    if let Some(text) = read_lossy(&path)? {
        secrets.extend(env_file::parse(&text).0);
    }
    Ok(Scope {
        secrets,
        process: session.environment.all.clone(),
        home: session.environment.home.clone(),
        workspace: std::env::current_dir().unwrap_or_default(),
    })
}

/// The keychain for an interactive command: the system may ask to unlock it.
pub(crate) fn keychain() -> Keychain {
    let is_there = io::stderr().is_terminal();
    Keychain(if is_there { UnlockDialog::Allowed } else { UnlockDialog::Never })
}

/// Why the keychain is unavailable, and the alternative.
pub(crate) fn keychain_problem(error: &io::Error) -> Diagnostic {
    Diagnostic::configuration("cannot use the keychain")
        .because(error)
        .hint("unlock it, for example by logging in to the desktop, and try again")
        .hint("or use files: set `secrets.store: file` in config.yaml, and add the secrets again")
}

/// The secrets of a profile, including pending ones.
#[derive(Clone, Default)]
pub(crate) struct SecretsFile {
    path: PathBuf,
    place: SecretPlace,
    text: String,
    /// Those of the text, and with the keychain also those of the file.
    pub(crate) variables: BTreeMap<String, String>,
    is_changed: bool,
}

impl SecretsFile {
    pub(crate) fn load(session: &Session) -> Result<Self> {
        let (path, place) = (session.home()?.env_file(), SecretPlace::of(session)?);
        let mut file = Self::open(&path, place)?;
        if place == SecretPlace::Keychain {
            file.variables.extend(Self::open(&path, SecretPlace::File)?.variables);
        }
        Ok(file)
    }

    /// The secrets in one place.
    pub(crate) fn open(path: &Path, place: SecretPlace) -> Result<Self> {
        let text = match place {
            SecretPlace::File => read(path)?,
            SecretPlace::Keychain => {
                keychain().read(path).map_err(|error| keychain_problem(&error))?
            }
        };
        let text = text.unwrap_or_default();
        let (variables, _) = env_file::parse(&text);
        Ok(SecretsFile { path: path.to_owned(), place, text, variables, is_changed: false })
    }

    /// The place, for messages.
    pub(crate) fn location(&self) -> String {
        match self.place {
            SecretPlace::File => self.path.display().to_string(),
            SecretPlace::Keychain => "the keychain".to_owned(),
        }
    }

    /// Adds a value to the file at this path, for a service, which may run without a keychain.
    /// Returns the file and the name in it.
    pub(crate) fn store(path: &Path, name: &str, value: &str) -> Result<(Self, String)> {
        let mut file = Self::open(path, SecretPlace::File)?;
        let name = file.add(name, value)?;
        file.write()?;
        Ok((file, name))
    }

    /// Adds all secrets of another place; a name with another value here is an error.
    pub(crate) fn take_all(&mut self, other: &Self) -> Result {
        if self.text.is_empty() {
            // With its comments.
            (self.text, self.variables) = (other.text.clone(), other.variables.clone());
            self.is_changed = !self.text.is_empty();
            return Ok(());
        }
        for (name, value) in &other.variables {
            match self.variables.get(name) {
                Some(known) if known == value => {}
                Some(_) => {
                    let (here, there) = (self.location(), other.location());
                    let message = format!("`{name}` has different values in {here} and in {there}");
                    return Err(Diagnostic::failed(message)
                        .hint(format!("remove it from {}", self.path.display())));
                }
                None => self.append(name, value)?,
            }
        }
        Ok(())
    }

    /// Adds a value under this name, or under a similar one if the name has another value
    /// already. Returns the name.
    pub(crate) fn add(&mut self, name: &str, value: &str) -> Result<String> {
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

    fn append(&mut self, name: &str, value: &str) -> Result {
        let gap = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { "\n" };
        let text = format!("{}{gap}{name}={}\n", self.text, quoted(value));
        let mut meant = env_file::parse(&self.text).0;
        meant.insert(name.to_owned(), value.to_owned());
        let is_too_much = text.len() > MAX_ENV_FILE_BYTES || meant.len() > MAX_VARIABLES;
        if is_too_much || env_file::parse(&text).0 != meant {
            return Err(self.refused(name));
        }
        (self.text, self.is_changed) = (text, true);
        self.variables.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    /// Writes added secrets. A new file is readable by its owner only.
    pub(crate) fn write(&self) -> Result {
        match self.place {
            _ if !self.is_changed => Ok(()),
            SecretPlace::File => write(&self.path, &self.text),
            SecretPlace::Keychain => {
                keychain().write(&self.path, &self.text).map_err(|error| keychain_problem(&error))
            }
        }
    }

    /// Whether the file mode lets others read it.
    pub(crate) fn is_open_to_others(&self) -> bool {
        use std::os::unix::fs::PermissionsExt;
        let file = std::fs::metadata(&self.path).ok().filter(|_| self.place == SecretPlace::File);
        file.is_some_and(|file| file.permissions().mode() & 0o077 != 0)
    }

    fn refused(&self, name: &str) -> Diagnostic {
        let message = format!("cannot add `{name}` to {}", self.location());
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
