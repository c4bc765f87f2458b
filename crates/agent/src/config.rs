//! `config.yaml`: read with places, edited without losing a comment.

pub(crate) mod lock;
mod outline;
pub(crate) mod secrets;
pub(crate) mod servers;
mod yaml;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_saphyr::Spanned;
use usage_metrics::consent::Mode;
use usage_metrics::store::{DEFAULT_RETENTION_DAYS, RETENTION_DAYS};

use crate::diagnostic::Diagnostic;
use crate::output::printable;

/// Largest configuration that is read, in bytes.
const MAX_CONFIG_BYTES: u64 = 4 * 1024 * 1024;

/// The parts of the configuration that this program knows. Other keys belong to other parts.
#[derive(Debug, Default, Deserialize)]
struct File {
    metrics: Option<MetricsFile>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricsFile {
    mode: Option<Spanned<String>>,
    retention_days: Option<Spanned<i64>>,
}

/// What the configuration says about metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MetricsConfig {
    /// Whether to record, if it says so.
    pub(crate) mode: Option<Mode>,
    /// How long packages are kept.
    pub(crate) retention_days: u32,
}

/// Reads what the configuration says about metrics; a missing file says nothing.
pub(crate) fn metrics(path: &Path) -> Result<MetricsConfig, Diagnostic> {
    let file: File = part(path)?;
    let section = file.metrics.unwrap_or_default();
    let mode = match &section.mode {
        None => None,
        Some(spanned) => Some(Mode::parse(&spanned.value).ok_or_else(|| {
            let line = spanned.referenced.line();
            bad_value(path, line, "metrics.mode", &spanned.value).hint("write `off` or `local`")
        })?),
    };
    let retention_days = match &section.retention_days {
        None => DEFAULT_RETENTION_DAYS,
        Some(spanned) => u32::try_from(spanned.value)
            .ok()
            .filter(|days| RETENTION_DAYS.contains(days))
            .ok_or_else(|| {
                let line = spanned.referenced.line();
                let (least, most) = (RETENTION_DAYS.start(), RETENTION_DAYS.end());
                bad_value(path, line, "metrics.retention_days", &spanned.value.to_string())
                    .hint(format!("write a number of days from {least} to {most}"))
            })?,
    };
    Ok(MetricsConfig { mode, retention_days })
}

/// Reads the part of the configuration that `T` knows; a missing or empty file says nothing.
pub(crate) fn part<T: DeserializeOwned + Default>(path: &Path) -> Result<T, Diagnostic> {
    let Some(text) = read(path)? else { return Ok(T::default()) };
    let file: Option<T> =
        serde_saphyr::from_str(&text).map_err(|error| not_understood(path, &error))?;
    Ok(file.unwrap_or_default())
}

/// A change of the configuration that can be made.
#[derive(Debug)]
pub(crate) struct Edit {
    path: PathBuf,
    mode: Mode,
}

impl Edit {
    /// Makes the change, on what the file says by now.
    pub(crate) fn write(&self) -> Result<(), Diagnostic> {
        let _lock = lock::take(&self.path)?;
        write(&self.path, &edited_metrics_mode(&self.path, self.mode)?)
    }
}

/// The change that sets `metrics.mode` and keeps everything else as it is.
pub(crate) fn edit_metrics_mode(path: &Path, mode: Mode) -> Result<Edit, Diagnostic> {
    edited_metrics_mode(path, mode)?;
    Ok(Edit { path: path.to_owned(), mode })
}

fn edited_metrics_mode(path: &Path, mode: Mode) -> Result<String, Diagnostic> {
    with_metrics_mode(&read(path)?.unwrap_or_default(), mode).ok_or_else(|| {
        Diagnostic::configuration(format!("cannot edit {}", path.display()))
            .hint(format!("write `mode: {}` under `metrics:` yourself", mode.text()))
    })
}

/// Sets `metrics.mode` and keeps everything else as it is.
pub(crate) fn set_metrics_mode(path: &Path, mode: Mode) -> Result<(), Diagnostic> {
    edit_metrics_mode(path, mode)?.write()
}

fn with_metrics_mode(text: &str, mode: Mode) -> Option<String> {
    let has_content = text
        .lines()
        .map(str::trim)
        .any(|line| !line.is_empty() && !line.starts_with('#') && line != "---");
    let edited = if has_content {
        let document = yaml_edit::Document::from_str(text).ok()?;
        let root = document.as_mapping()?;
        if let Some(section) = root.get_mapping("metrics") {
            section.set("mode", mode.text());
            document.to_string()
        } else if root.get("metrics").is_some() {
            // An empty section makes room for a filled one; anything else is not ours to replace.
            let file: Option<File> = serde_saphyr::from_str(text).ok()?;
            if file?.metrics.is_some() {
                return None;
            }
            root.remove("metrics")?;
            appended(&document.to_string(), mode)
        } else {
            appended(&document.to_string(), mode)
        }
    } else {
        appended(text, mode)
    };
    // An edit that does not say what it should is worse than none.
    let file: Option<File> = serde_saphyr::from_str(&edited).ok()?;
    let written = file?.metrics?.mode?.value;
    (written == mode.text()).then_some(edited)
}

fn appended(text: &str, mode: Mode) -> String {
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{gap}metrics:\n  mode: {}\n", mode.text())
}

/// The text of the configuration; nothing if there is no file.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Diagnostic> {
    let cannot = |error: &io::Error| {
        Diagnostic::configuration(format!("cannot read {}", path.display())).because(error)
    };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot(&error)),
        Ok(file) if file.len() > MAX_CONFIG_BYTES => {
            let message = format!("{} is larger than {MAX_CONFIG_BYTES} bytes", path.display());
            return Err(Diagnostic::configuration(message));
        }
        Ok(_) => {}
    }
    let bytes = fs::read(path).map_err(|error| cannot(&error))?;
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|byte| *byte == b'\n').count();
        Diagnostic::configuration(format!("{}:{line}: this line is not UTF-8", path.display()))
            .hint("save the file as UTF-8; nothing was changed")
    })
}

/// The same, with a mark for whatever is not UTF-8.
pub(crate) fn read_lossy(path: &Path) -> Result<Option<String>, Diagnostic> {
    match fs::read(path) {
        Ok(bytes) if bytes.len() as u64 <= MAX_CONFIG_BYTES => {
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
        // It says better what is wrong.
        _ => read(path),
    }
}

/// Writes a file whole, or not at all. A new one is for its owner alone.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Diagnostic> {
    let save = || -> io::Result<()> {
        // A link stays a link; what it points to is written.
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
        Diagnostic::configuration(format!("cannot write {}", path.display())).because(&error)
    })
}

/// The folder of a file, made for its owner alone if it is missing.
pub(crate) fn made_folder_of(path: &Path) -> io::Result<PathBuf> {
    let folder = path.parent().map_or_else(|| PathBuf::from("."), Path::to_owned);
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder)?;
    Ok(folder)
}

fn not_understood(path: &Path, error: &serde_saphyr::Error) -> Diagnostic {
    let error = error.without_snippet();
    let place = error.location().map(|place| format!(":{}:{}", place.line(), place.column()));
    let message = format!("cannot understand {}{}", path.display(), place.unwrap_or_default());
    let mut diagnostic = Diagnostic::configuration(message);
    diagnostic.causes.push(reason(error));
    diagnostic
}

/// Why YAML was not understood, without the place.
pub(crate) fn reason(error: &serde_saphyr::Error) -> String {
    let error = error.without_snippet();
    match error {
        serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("`{}` stands twice", printable(key))
        }
        serde_saphyr::Error::MultipleDocuments { .. } => {
            "there is more than one document".to_owned()
        }
        // The first line says what; the place is told already.
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            first.split(" at line ").next().unwrap_or_default().to_owned()
        }
    }
}

fn bad_value(path: &Path, line: u64, key: &str, value: &str) -> Diagnostic {
    Diagnostic::configuration(format!(
        "{}:{line}: `{value}` is no value for `{key}`",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_keep_comments_and_everything_else() {
        let before = "# mine\nmodel: gpt # the best\nmetrics:\n  # why\n  mode: off\n  retention_days: 7\nmcp_servers: {}\n";
        let after = with_metrics_mode(before, Mode::Local).unwrap();
        assert_eq!(after, before.replace("mode: off", "mode: local"));
    }

    #[test]
    fn a_missing_section_is_added_at_the_end() {
        for (before, after) in [
            ("", "metrics:\n  mode: local\n"),
            ("# only a comment", "# only a comment\nmetrics:\n  mode: local\n"),
            ("model: x", "model: x\nmetrics:\n  mode: local\n"),
            ("metrics:\nmodel: x\n", "model: x\nmetrics:\n  mode: local\n"),
            ("model: x\nmetrics: ~\n", "model: x\nmetrics:\n  mode: local\n"),
        ] {
            assert_eq!(with_metrics_mode(before, Mode::Local).unwrap(), after);
        }
    }

    #[test]
    fn what_cannot_be_edited_safely_is_left_alone() {
        for text in ["metrics: 5\n", "- a\n- b\n", "metrics: [a\n"] {
            assert_eq!(with_metrics_mode(text, Mode::Off), None, "{text}");
        }
    }
}
