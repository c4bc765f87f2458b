//! One model file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use local_model::{About, Defaults, Host, Settings};

use crate::config;
use crate::provider::MAX_MODEL_NAME;

/// A model file as of its last scan.
pub(super) struct File {
    pub(super) path: PathBuf,
    /// A different size or time means a different file.
    stamp: Option<Stamp>,
    /// Its metadata, or why it cannot be used.
    pub(super) about: Result<About, String>,
    pub(super) host: Host,
    failed: ArcSwapOption<String>,
}

type Stamp = (u64, SystemTime);

impl File {
    pub(super) fn read(
        path: PathBuf,
        before: Option<Arc<Self>>,
        settings: &config::Local,
    ) -> Arc<Self> {
        let stamp = stamp(&path);
        if let Some(before) = before.filter(|before| before.stamp == stamp) {
            return before;
        }
        let about = About::read(&path).map_err(|problem| problem.to_string());
        if let Err(why) = &about {
            tracing::warn!(file = %path.display(), why, "cannot use a model file");
        }
        let host = Host::new(host_settings(&path, settings));
        Arc::new(Self { path, stamp, about, host, failed: ArcSwapOption::empty() })
    }

    pub(super) fn note(&self, cause: Option<&str>) {
        if cause.is_some() || self.failed.load().is_some() {
            self.failed.store(cause.map(|cause| Arc::new(cause.to_owned())));
        }
    }

    pub(super) fn problem(&self) -> Option<String> {
        let failed = self.failed.load();
        let why = self.about.as_ref().err().or(failed.as_deref())?;
        Some(format!("{}: {why}", self.path.display()))
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.len(), about.modified().ok()?))
}

fn host_settings(path: &Path, settings: &config::Local) -> Settings {
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    Settings {
        window: settings.window,
        at_once: count(settings.at_once),
        waiting: count(settings.waiting),
        idle: settings.idle,
        defaults: Defaults {
            system: settings.system.clone(),
            temperature: settings.temperature,
            top_p: settings.top_p,
            repeat_penalty: settings.repeat_penalty,
        },
        ..Settings::new(path)
    }
}

/// The model files of a folder by model name, or why it cannot be read.
pub(super) fn in_folder(folder: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let entries = std::fs::read_dir(folder)
        .map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let named = entries.flatten().map(|entry| entry.path()).filter_map(|path| {
        let is_model = path.extension().is_some_and(|end| end.eq_ignore_ascii_case(config::GGUF));
        let name = path.file_stem()?.to_str().filter(|name| is_model && is_name(name))?.to_owned();
        Some((name, path))
    });
    let mut named: Vec<(String, PathBuf)> = named.collect();
    named.sort();
    named.truncate(config::MAX_MODELS);
    Ok(named)
}

fn is_name(name: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_graphic() && !b"*?\"\\".contains(&byte);
    name.len() <= MAX_MODEL_NAME && name.bytes().all(is_good)
}

pub(super) fn description(about: &About) -> String {
    let mut words = Vec::new();
    words.extend(about.name.as_deref().map(harmless));
    words.push(match &about.licence {
        Some(licence) => format!("licence {}", harmless(licence)),
        None => "licence not stated".to_owned(),
    });
    words.push(format!("{} parameters, {}", rounded(about.parameters), about.quantisation));
    let (file, loaded) = (rounded(about.file_bytes), rounded(about.loaded_bytes));
    words.push(format!("file size {file}B, {loaded}B in memory"));
    words.push("runs inside this service".to_owned());
    words.push("no tools".to_owned());
    words.join("; ")
}

const MAX_WORDS: usize = 100;

/// Metadata text on one line.
fn harmless(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(MAX_WORDS).collect()
}

/// A readable count: `135 M`.
fn rounded(count: u64) -> String {
    const STEPS: [(u64, &str); 3] = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    match STEPS.iter().find(|(step, _)| count >= *step) {
        // Small numbers of large units keep one decimal.
        Some((step, unit)) if count / step < 10 => {
            let tenths = count.saturating_add(step / 20) / (step / 10);
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
        Some((step, unit)) => format!("{} {unit}", count.saturating_add(step / 2) / step),
        None => format!("{count} "),
    }
}

#[cfg(test)]
mod tests;
