//! Media: artifacts, limits, voices, downloads.

use super::*;

#[test]
fn artifacts_default_to_30_days_next_to_the_database() {
    let Config { artifacts, media, .. } = clean("");
    assert_eq!(artifacts.place, Artifacts::Files { path: "/etc/agent/artifacts".into() });
    assert_eq!((artifacts.kept, artifacts.max_bytes), (Duration::from_hours(30 * 24), 64 << 20));
    assert_eq!((media.max_images, media.max_text_chars), (1, 4096));
    let artifacts = clean("database: sqlite:/var/lib/agent/g.db").artifacts;
    assert_eq!(artifacts.place, Artifacts::Files { path: "/var/lib/agent/artifacts".into() });
}

#[test]
fn artifacts_can_be_a_mapping() {
    let artifacts = clean(
        "artifacts:\n  url: s3://made/here\n  days: 3\n  max_bytes: 1048576\n  region: eu-1\n  \
         endpoint: http://127.0.0.1:9000\n  access_key_id: ${KEY}\n  secret_access_key: ${LONG}",
    )
    .artifacts;
    let expected = Artifacts::S3 { bucket: "made".to_owned(), prefix: "here".to_owned() };
    assert_eq!(artifacts.place, expected);
    assert_eq!((artifacts.kept, artifacts.max_bytes), (Duration::from_hours(72), 1 << 20));
    assert_eq!(artifacts.region, "eu-1");
    assert_eq!(artifacts.endpoint.unwrap(), "http://127.0.0.1:9000/");
    let (id, secret) = (artifacts.access_key_id.unwrap(), artifacts.secret_access_key.unwrap());
    assert_eq!((id.reveal(), secret.reveal()), ("upstream-key-1", LONG));
    refused(
        "artifacts: {url: \"s3://made\", access_key_id: \"${KEY}\"}",
        &["error 1:12: artifacts: has only one of `access_key_id` and `secret_access_key` (set \
             both, or remove both to use the role of the machine)"],
    );
    refused(
        "artifacts: {url: made, days: 0}",
        &[
            "error 1:18: artifacts.url: must be `file:PATH` or `s3://BUCKET/PREFIX`",
            "error 1:30: artifacts.days: must be a whole number from 1 to 3650",
        ],
    );
}

#[test]
fn media_requests_have_configurable_limits() {
    let media = clean("media: {max_images: 4, max_text_chars: 100}").media;
    assert_eq!((media.max_images, media.max_text_chars), (4, 100));
    refused(
        "media: {max_images: 11}",
        &["error 1:21: media.max_images: must be a whole number from 1 to 10"],
    );
}

#[test]
fn espeak_voices_are_models() {
    let config = clean("providers:\n  v: {kind: espeak, models: {en: {price_micros: 5}, de: }}");
    let provider = &config.providers[0];
    assert_eq!(provider.kind, Kind::Espeak);
    assert_eq!(provider.program.as_deref(), Some(Path::new("espeak-ng")));
    for voice in &provider.models {
        assert_eq!(voice.capabilities, [Capability::Speech], "{}", voice.id);
    }
    assert_eq!(config.price_micros(Operation::Media, "v/en"), 5);
    assert_eq!(config.price_micros(Operation::Media, "v/de"), 1000);
    let named = |program: &str| {
        let text = format!("providers:\n  v: {{kind: espeak, discover: true, program: {program}}}");
        clean(&text).providers[0].program.clone().unwrap()
    };
    assert_eq!(named("bin/espeak"), Path::new("/etc/agent/bin/espeak"));
    assert_eq!(named("espeak"), Path::new("espeak"));
    refused(
        "providers:\n  v: {kind: espeak, models: {en: {capabilities: [chat]}}, api_key: \"${KEY}\"}",
        &[
            "error 2:29: providers.v.models: the voice `en` can be used for `speech` only",
            "error 2:68: providers.v.api_key: does not apply to providers of kind `espeak` (remove \
             it)",
        ],
    );
    refused(
        "providers:\n  v: {kind: espeak}",
        &["error 2:3: providers.v: has neither `models` nor `discover` (list voices as its \
           `models`, such as `[en, de]`, or set `discover: true`)"],
    );
}

#[test]
fn only_some_provider_kinds_support_media() {
    let model = "models: {m: {capabilities: [image]}}";
    clean(&format!("providers:\n  p: {{kind: openai, api_key: \"${{KEY}}\", {model}}}"));
    refused(
        &format!("providers:\n  p: {{kind: anthropic, api_key: \"${{KEY}}\", {model}}}"),
        &["error 2:3: providers.p: the model `m` cannot generate media (only `openai` and \
           `espeak` providers support this)"],
    );
    refused(
        "providers:\n  p: {kind: openai, api_key: \"${KEY}\", models: [m], program: x}",
        &["error 2:62: providers.p.program: does not apply to providers of kind `openai` (remove \
           it)"],
    );
}

#[test]
fn downloads_have_a_folder_and_a_key_file() {
    assert_eq!(clean("").downloads, None);
    let downloads = clean("downloads: {}").downloads.unwrap();
    assert_eq!(downloads.folder, Path::new("/etc/agent/downloads"));
    assert_eq!(downloads.key_file, Path::new("/etc/agent/downloads.key"));
    let downloads = clean("downloads: {folder: /srv/files, key_file: ~/d.key}").downloads.unwrap();
    assert_eq!(downloads.folder, Path::new("/srv/files"));
    assert_eq!(downloads.key_file, Path::new("/home/ada/d.key"));
    refused(
        "downloads: x",
        &["error 1:12: downloads: must be a mapping, found a string (allowed keys: `folder`, \
           `key_file`)"],
    );
}
