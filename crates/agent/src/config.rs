//! `config.yaml`: parsed into one document, edited with comments preserved.

pub(crate) mod document;
mod edit;
pub(crate) mod lock;
pub(crate) mod secrets;
pub(crate) mod servers;
mod yaml;

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use settings::{Node, section};
use usage_metrics::consent::Mode;
use usage_metrics::store::{DEFAULT_RETENTION_DAYS, RETENTION_DAYS};

use self::document::{Document, entry};
use self::edit::{changed, without_nothing};
use crate::diagnostic::{Diagnostic, ErrorContext, Exit, Result};
use crate::home::unwritable;

const MAX_CONFIG_BYTES: u64 = 4 * 1024 * 1024;
pub(crate) const METRICS: &str = "metrics";

section! {
    /// Usage counters. They stay on this machine.
    #[derive(PartialEq, Eq)]
    pub(crate) struct MetricsConfig {
        /// Recording: `off` or `local`. `agent metrics on` and `agent metrics off` set it.
        #[schemars(extend("enum" = ["off", "local"]))]
        mode: Option<String>,
        /// Number of days to keep packages.
        #[schemars(range(min = *RETENTION_DAYS.start(), max = *RETENTION_DAYS.end()))]
        #[schemars(extend("x-unit" = 86400))]
        pub(crate) retention_days: u32 = DEFAULT_RETENTION_DAYS,
    }
}

impl MetricsConfig {
    pub(crate) fn read(document: &Document) -> Result<Self> {
        document.section(METRICS)
    }

    /// The recording mode, if the file sets it.
    pub(crate) fn mode(&self) -> Option<Mode> {
        self.mode.as_deref().and_then(Mode::parse)
    }
}

pub(crate) fn set_metrics_mode(path: &Path, mode: Mode) -> Result {
    let _lock = lock::take(path)?;
    write(path, &edited(path, [METRICS, "mode", mode.text()])?)
}

/// The text of the file with a new value of a key in a section.
pub(crate) fn edited(path: &Path, [section, key, word]: [&str; 3]) -> Result<String> {
    with_word(&read(path)?.unwrap_or_default(), [section, key, word]).ok_or_else(|| {
        Diagnostic::configuration(format!("cannot edit {}", path.display()))
            .hint(format!("set `{key}: {word}` under `{section}:` yourself"))
    })
}

/// The edited text; `None` if that is not safely possible.
fn with_word(text: &str, [name, key, word]: [&str; 3]) -> Option<String> {
    let root = Node::from_yaml(text).ok()?;
    // An empty section makes room for a filled one.
    let empty = entry(&root, name).filter(|(_, section)| section.is_null());
    let line = empty.map(|(key, _)| key.position.line);
    let lines = text.split_inclusive('\n').enumerate();
    let others: String = lines.filter(|(at, _)| Some(at + 1) != line).map(|(_, it)| it).collect();
    let cleared = Node::from_yaml(&others).ok()?;
    let is_same = without_nothing(cleared.to_json(), name) == without_nothing(root.to_json(), name);
    let edited = changed(&others, &cleared, &[name, key], Some(&word.into())).filter(|_| is_same);
    edited.map(|(text, _)| text)
}

/// The text of the configuration; `None` if there is no file.
pub(crate) fn read(path: &Path) -> Result<Option<String>> {
    let cannot = |error| Diagnostic::cannot_read(Exit::Configuration, path, &error);
    let file = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(cannot)?,
    };
    if file.len() > MAX_CONFIG_BYTES {
        let message = format!("{} is larger than {MAX_CONFIG_BYTES} bytes", path.display());
        return Err(Diagnostic::configuration(message));
    }
    let bytes = fs::read(path).map_err(cannot)?;
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|byte| *byte == b'\n').count();
        Diagnostic::configuration(format!("{}:{line}: this line is not UTF-8", path.display()))
            .hint("save the file as UTF-8; nothing was changed")
    })
}

/// As above, with replacement characters for invalid UTF-8.
pub(crate) fn read_lossy(path: &Path) -> Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) if bytes.len() as u64 <= MAX_CONFIG_BYTES => {
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
        // Its error is more precise.
        _ => read(path),
    }
}

/// Writes a file atomically. A new one is readable by its owner only.
pub(crate) fn write(path: &Path, text: &str) -> Result {
    let save = || -> io::Result<()> {
        // A link is kept; its target is written.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = made_folder_of(&path)?;
        let mut file = tempfile::Builder::new().prefix(".config-").tempfile_in(&folder)?;
        file.write_all(text.as_bytes())?;
        if let Ok(before) = fs::metadata(&path) {
            file.as_file().set_permissions(before.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(&path)?;
        Ok(())
    };
    save().map_err(|error| {
        let diagnostic = Diagnostic::configuration(format!("cannot write {}", path.display()));
        unwritable(diagnostic, &error)
    })
}

/// The folder of a file, created with access for its owner only if it is missing.
pub(crate) fn made_folder_of(path: &Path) -> io::Result<PathBuf> {
    let folder = path.parent().map_or_else(|| PathBuf::from("."), Path::to_owned);
    private_folder(&folder)?;
    Ok(folder)
}

/// Creates a folder with access for its owner only, unless it exists.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Removes a file; returns whether it existed.
pub(crate) fn remove_file(path: &Path) -> Result<bool> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        done => done.or_cannot("remove", path).map(|()| true),
    }
}

#[cfg(test)]
mod tests;
