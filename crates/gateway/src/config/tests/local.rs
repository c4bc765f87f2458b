//! Models that this process computes itself.

use super::*;

/// What a provider of this kind that says nothing else is.
fn usual(folder: &str) -> Local {
    Local {
        folder: folder.into(),
        window: 2048,
        at_once: std::thread::available_parallelism().map_or(1, usize::from).try_into().unwrap(),
        waiting: 8,
        idle: Duration::from_mins(10),
        system: None,
        temperature: 0.2,
        top_p: 0.95,
        repeat_penalty: 1.1,
    }
}

fn local(keys: &str) -> Local {
    let text = format!("providers:\n  l: {{kind: local, discover: true, {keys}}}");
    clean(&text).providers.remove(0).local.unwrap()
}

fn files(keys: &str) -> Vec<(String, String, String)> {
    let config = clean(&format!("providers:\n  l: {{kind: local, {keys}}}"));
    let models = config.providers[0].models.iter().map(|model| {
        let path = model.path.as_ref().unwrap().display().to_string();
        (model.id.clone(), model.upstream_name.clone(), path)
    });
    models.collect()
}

#[test]
fn local_provider_has_safe_defaults() {
    let config = clean("providers:\n  l: {kind: local, discover: true}");
    let provider = &config.providers[0];
    assert_eq!((provider.kind, provider.discover), (Kind::Local, true));
    assert_eq!(provider.responses, Responses::Bridged);
    assert_eq!(provider.max_concurrency, None);
    assert_eq!(provider.local, Some(usual("/etc/agent/models")));
}

#[test]
fn local_defaults_match_the_engine() {
    let local = local("window: 2048");
    let defaults = local_model::Defaults {
        system: local.system,
        temperature: local.temperature,
        top_p: local.top_p,
        repeat_penalty: local.repeat_penalty,
    };
    assert_eq!(defaults, local_model::Defaults::default());
}

#[test]
fn every_key_of_a_local_provider_is_parsed() {
    let said = local(
        "folder: weights, window: 512, max_concurrency: 3, max_waiting: 0, idle: 5, system: Be \
         brief., temperature: 0, top_p: 1, repeat_penalty: 1",
    );
    let expected = Local {
        folder: "/etc/agent/weights".into(),
        window: 512,
        at_once: 3,
        waiting: 0,
        idle: Duration::from_secs(5),
        system: Some("Be brief.".to_owned()),
        temperature: 0.0,
        top_p: 1.0,
        repeat_penalty: 1.0,
    };
    assert_eq!(said, expected);
    assert_eq!(local("folder: /srv/models").folder, Path::new("/srv/models"));
}

#[test]
fn a_model_file_has_its_name_or_an_explicit_path() {
    let file = |id: &str, path: &str| (id.to_owned(), id.to_owned(), path.to_owned());
    assert_eq!(
        files("models: [smollm2-135m, other]"),
        [
            file("smollm2-135m", "/etc/agent/models/smollm2-135m.gguf"),
            file("other", "/etc/agent/models/other.gguf"),
        ]
    );
    assert_eq!(
        files("folder: w, models: {a: {name: b}, c: {path: d/e.bin}, f: {path: /g.gguf}, h: }"),
        [
            file("a", "/etc/agent/w/b.gguf"),
            file("c", "/etc/agent/d/e.bin"),
            file("f", "/g.gguf"),
            file("h", "/etc/agent/w/h.gguf"),
        ]
    );
}

#[test]
fn out_of_range_values_are_rejected() {
    refused(
        "providers:\n  l:\n    kind: local\n    discover: true\n    window: 127\n    \
         max_concurrency: 0\n    max_waiting: 10001\n    idle: 0\n    temperature: 2.1\n    \
         top_p: 0\n    repeat_penalty: 0.4",
        &[
            "error 5:13: providers.l.window: must be a whole number from 128 to 1048576",
            "error 6:22: providers.l.max_concurrency: must be a whole number from 1 to 256",
            "error 7:18: providers.l.max_waiting: must be a whole number from 0 to 10000",
            "error 8:11: providers.l.idle: must be more than 0 seconds",
            "error 9:18: providers.l.temperature: must be a number from 0 to 2",
            "error 10:12: providers.l.top_p: must be a number from 0.01 to 1",
            "error 11:21: providers.l.repeat_penalty: must be a number from 0.5 to 2",
        ],
    );
}

#[test]
fn keys_of_other_provider_kinds_are_rejected() {
    refused(
        "providers:\n  l:\n    kind: local\n    discover: true\n    base_url: http://[::1]/v1\n    \
         api_key: ${KEY}\n    responses: native\n    rescan: 5\n    program: x",
        &[
            "error 5:15: providers.l.base_url: does not apply to providers of kind `local` (remove \
             it)",
            "error 6:14: providers.l.api_key: does not apply to providers of kind `local` (remove \
             it)",
            "error 7:16: providers.l.responses: does not apply to providers of kind `local` \
             (remove it)",
            "error 8:13: providers.l.rescan: does not apply to providers of kind `local` (remove \
             it)",
            "error 9:14: providers.l.program: does not apply to providers of kind `local` (remove \
             it)",
        ],
    );
    for (kind, more) in [
        ("openai", "base_url: \"http://[::1]/v1\", discover: true"),
        ("espeak", "discover: true"),
        ("searxng", "base_url: \"http://[::1]\""),
        ("index", "folder: f"),
    ] {
        let others = ["window", "max_waiting", "idle", "system", "temperature", "top_p"];
        for key in others.into_iter().chain(["repeat_penalty"]) {
            let text = format!("providers:\n  p: {{kind: {kind}, {more}, {key}: 1}}");
            let place = text.lines().nth(1).unwrap().find(&format!("{key}: 1")).unwrap();
            let column = place + key.len() + 3;
            let said = format!(
                "error 2:{column}: providers.p.{key}: does not apply to providers of kind `{kind}` \
                 (remove it)"
            );
            refused(&text, &[&said]);
        }
    }
}

#[test]
fn only_local_text_models_have_files() {
    refused(
        "providers:\n  l: {kind: local, models: {a: {capabilities: [image]}}}",
        &["error 2:28: providers.l.models: the model `a` cannot be used for `image`"],
    );
    refused(
        "providers:\n  l: {kind: local, models: {a: {path: x.gguf, name: y}}}",
        &["error 2:28: providers.l.models: the model `a` has both `path` and `name`"],
    );
    refused(
        "providers:\n  l: {kind: local}",
        &["error 2:3: providers.l: has neither `models` nor `discover` (list files of its \
             `folder` as its `models`, or set `discover: true`)"],
    );
    for kind in ["openai, api_key: \"${KEY}\"", "espeak"] {
        refused(
            &format!("providers:\n  p: {{kind: {kind}, models: {{m: {{path: m.gguf}}}}}}"),
            &["error 2:3: providers.p: the model `m` has a `path` (only models of `local` \
                 providers have a `path`)"],
        );
    }
}
