//! A provider that is a program on this machine: espeak-ng, whose models are voices.

use std::path::{Path, PathBuf};

use settings::Field;

use super::super::mapping::Mapping;
use super::super::model::{self, Capability, Model};
use super::super::store;
use super::{Health, Kind, MAX_WEIGHT, Provider, Responses, Timeouts, health, timeouts};

/// The program, unless the configuration says otherwise; it is found as a shell finds it.
const ESPEAK: &str = "espeak-ng";
/// How many run at once, unless the configuration says otherwise.
const MAX_AT_ONCE: u32 = 4;

/// Reads a provider of kind `espeak`.
pub(super) fn espeak(map: &mut Mapping<'_, '_, '_>, name: &str, folder: &Path) -> Provider {
    let program = program(map, folder);
    let voices = map.take("models");
    let discover = map.flag("discover", false);
    if voices.is_none() && !discover {
        map.refuse(
            "has neither `models` nor `discover`",
            "name voices as its `models`, such as `[en, de]`, or write `discover: true`",
        );
    }
    Provider {
        name: name.to_owned(),
        kind: Kind::Espeak,
        base_url: Kind::Espeak.default_base(),
        program: Some(program),
        local: None,
        api_key: None,
        headers: Vec::new(),
        models: voices.map(|field| spoken(map, &field, folder)).unwrap_or_default(),
        discover,
        timeouts: timeouts(map, Timeouts::default()),
        max_concurrency: Some(
            map.some_whole("max_concurrency", 1..=1_000_000).unwrap_or(MAX_AT_ONCE),
        ),
        weight: map.whole("weight", 1..=MAX_WEIGHT, 1),
        responses: Responses::Bridged,
        stream_usage: false,
        health: health(map, Health::default()),
        tls_ca_file: None,
    }
}

/// A name is looked for where programs are; a path starts from the folder of the file.
fn program(map: &mut Mapping<'_, '_, '_>, folder: &Path) -> PathBuf {
    match map.text("program", "a program") {
        Some(path) if path.value().contains('/') => store::placed(map, folder, path.value()),
        Some(name) => name.value().trim().into(),
        None => ESPEAK.into(),
    }
}

/// Voices can speak, and nothing else.
fn spoken(map: &mut Mapping<'_, '_, '_>, field: &Field<'_>, folder: &Path) -> Vec<Model> {
    let mut voices = model::models(map.reader, field, folder);
    let plain = Model::new("").capabilities;
    for voice in &mut voices {
        let is_said = voice.capabilities != plain;
        if is_said && voice.capabilities != [Capability::Speech] {
            let message = format!("the voice `{}` can be used for `speech` only", voice.id);
            map.reader.refuse(field, message);
        }
        voice.capabilities = vec![Capability::Speech];
    }
    voices
}
