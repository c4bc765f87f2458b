//! A provider that is this process itself: its models are GGUF files on this machine.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use settings::{Field, Value};

use super::super::mapping::Mapping;
use super::super::model::{self, Capability, Model};
use super::super::store;
use super::{Health, Kind, MAX_WEIGHT, Provider, Responses, Timeouts, health, timeouts};

/// How the files of a provider are used.
#[derive(Debug, Clone, PartialEq)]
pub struct Local {
    /// Where files are looked for that have no path of their own.
    pub folder: PathBuf,
    /// The most tokens of a conversation with its answer.
    pub window: u32,
    /// How many answers of one file are computed at once.
    pub at_once: u32,
    /// How many more may wait.
    pub waiting: u32,
    /// The memory of a file is let go after so long without a request.
    pub idle: Duration,
    /// The first message of conversations that have no system message.
    pub system: Option<String>,
    /// How answers are drawn where a request says nothing; 0 always takes the likeliest token.
    pub temperature: f32,
    /// Only the likeliest tokens that together are this likely are drawn from.
    pub top_p: f32,
    /// Above 1, tokens that came lately become less likely.
    pub repeat_penalty: f32,
}

/// The end of the names of files that are models.
pub const GGUF: &str = "gguf";

const FOLDER: &str = "models";
const WINDOW: u32 = 2048;
/// A conversation must have room for a question and its answer.
const WINDOWS: RangeInclusive<u32> = 128..=1_048_576;
const MAX_AT_ONCE: u32 = 256;
const WAITING: u32 = 8;
const MAX_WAITING: u32 = 10_000;
const IDLE: Duration = Duration::from_mins(10);
const SYSTEM: &str = "You are a helpful assistant.";
const TEMPERATURE: f32 = 0.2;
const TOP_P: f32 = 0.95;
const REPEAT_PENALTY: f32 = 1.1;

/// What a request or the configuration may say of each.
pub const TEMPERATURES: RangeInclusive<f32> = 0.0..=2.0;
/// See [`TEMPERATURES`].
pub const TOP_PS: RangeInclusive<f32> = 0.01..=1.0;
/// See [`TEMPERATURES`].
pub const REPEAT_PENALTIES: RangeInclusive<f32> = 0.5..=2.0;

/// Reads a provider of kind `local`.
pub(super) fn local(map: &mut Mapping<'_, '_, '_>, name: &str, folder: &Path) -> Provider {
    let files = map.text("folder", "a folder");
    let files = store::placed(map, folder, files.as_ref().map_or(FOLDER, |path| path.value()));
    let models = map.take("models");
    let discover = map.flag("discover", false);
    if models.is_none() && !discover {
        map.refuse(
            "has neither `models` nor `discover`",
            "name files of its `folder` as its `models`, or write `discover: true`",
        );
    }
    let models = models.map(|field| placed(map, &field, (folder, &files))).unwrap_or_default();
    let at_once = map.some_whole("max_concurrency", 1..=MAX_AT_ONCE);
    let local = Local {
        folder: files,
        window: map.whole("window", WINDOWS, WINDOW),
        at_once: at_once.unwrap_or_else(cores),
        waiting: map.whole("max_waiting", 0..=MAX_WAITING, WAITING),
        idle: map.seconds("idle", IDLE),
        system: system(map),
        temperature: share(map, "temperature", &TEMPERATURES, TEMPERATURE),
        top_p: share(map, "top_p", &TOP_PS, TOP_P),
        repeat_penalty: share(map, "repeat_penalty", &REPEAT_PENALTIES, REPEAT_PENALTY),
    };
    Provider {
        name: name.to_owned(),
        kind: Kind::Local,
        base_url: Kind::Local.default_base(),
        program: None,
        local: Some(local),
        api_key: None,
        headers: Vec::new(),
        models,
        discover,
        timeouts: timeouts(map, Timeouts::default()),
        // Who computes and who waits is counted for each file.
        max_concurrency: None,
        weight: map.whole("weight", 1..=MAX_WEIGHT, 1),
        responses: Responses::Bridged,
        stream_usage: true,
        health: health(map, Health::default()),
        tls_ca_file: None,
    }
}

/// As many as the machine computes at the same time.
fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores).unwrap_or(1).clamp(1, MAX_AT_ONCE)
}

/// `false` means no message.
fn system(map: &mut Mapping<'_, '_, '_>) -> Option<String> {
    let Some(field) = map.take("system") else { return Some(SYSTEM.to_owned()) };
    if matches!(field.node.value, Value::Bool(false, _)) {
        return None;
    }
    map.reader.string(&field, "a text, or `false` for none").map(|text| text.value().to_owned())
}

/// A number between two bounds.
fn share(
    map: &mut Mapping<'_, '_, '_>,
    name: &str,
    bounds: &RangeInclusive<f32>,
    default: f32,
) -> f32 {
    let Some(field) = map.take(name) else { return default };
    let Some(value) = map.reader.number(&field, &default.to_string()) else { return default };
    #[expect(clippy::cast_possible_truncation, reason = "no more digits are needed")]
    let value = value as f32;
    if !bounds.contains(&value) {
        let message = format!("must be a number from {} to {}", bounds.start(), bounds.end());
        map.reader.refuse(&field, message);
        return default;
    }
    value
}

/// Every model with the path of its file. What it is called inside is its id, which no two share.
fn placed(
    map: &mut Mapping<'_, '_, '_>,
    field: &Field<'_>,
    (folder, files): (&Path, &Path),
) -> Vec<Model> {
    const ABLE: [Capability; 3] = [Capability::Chat, Capability::Responses, Capability::Research];
    let mut models = model::models(map.reader, field, folder);
    for model in &mut models {
        if model.path.is_some() && model.upstream_name != model.id {
            let message = format!("the model `{}` has a `path` and a `name`", model.id);
            map.reader.refuse(field, message);
        }
        if let Some(other) = model.capabilities.iter().find(|one| !ABLE.contains(one)) {
            let message = format!("the model `{}` cannot be used for `{}`", model.id, other.word());
            map.reader.refuse(field, message);
        }
        let named = || files.join(format!("{}.{GGUF}", model.upstream_name));
        model.path = Some(model.path.take().unwrap_or_else(named));
        model.upstream_name = model.id.clone();
    }
    models
}
