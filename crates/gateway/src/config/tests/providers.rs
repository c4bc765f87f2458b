//! Upstreams: how they are reached, what they offer, how they are looked after.

use super::*;

/// A provider called `p` with these lines after its kind.
fn provider(lines: &str) -> String {
    let indented: Vec<_> = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!("providers:\n  p:\n    kind: openai\n{}", indented.concat())
}

/// The one provider of a text without problems.
#[track_caller]
fn read_one(lines: &str) -> Provider {
    clean(&provider(&format!("base_url: http://127.0.0.1:1/v1\ndiscover: true\n{lines}")))
        .providers
        .remove(0)
}

/// What is said about lines of a provider that is whole otherwise; the lines begin with line 6.
#[track_caller]
fn refused_lines(lines: &str, expected: &[&str]) {
    let whole = format!("base_url: http://127.0.0.1:1/v1\ndiscover: true\n{lines}");
    refused(&provider(&whole), expected);
}

#[test]
fn a_minimal_provider_has_every_default() {
    let config = clean("providers: {a: {kind: anthropic, api_key: \"${KEY}\", models: [m]}}");
    let provider = &config.providers[0];
    assert_eq!((provider.name.as_str(), provider.kind), ("a", Kind::Anthropic));
    assert_eq!(provider.base_url, "https://api.anthropic.com/v1");
    assert_eq!(provider.api_key.as_ref().map(Secret::reveal), Some("upstream-key-1"));
    assert_eq!(provider.models, [Model::new("m")]);
    assert_eq!(provider.timeouts, Timeouts::default());
    assert_eq!(provider.health, Some(Health::default()));
    assert_eq!((provider.weight, provider.max_concurrency), (1, None));
    assert_eq!((provider.responses, provider.stream_usage), (Responses::Auto, true));
    assert!(provider.headers.is_empty() && !provider.discover && provider.tls_ca_file.is_none());
    let config = clean("providers: {a: {kind: openai, api_key: \"${KEY}\", models: [m]}}");
    assert_eq!(config.providers[0].base_url, "https://api.openai.com/v1");
}

#[test]
fn every_key_of_a_provider_is_parsed() {
    let provider = read_one(
        "api_key: ${KEY}
headers: {X-Team: blue}
timeout: {connect: 1, first_byte: 2, idle: 3}
max_concurrency: 4
weight: 5
responses: bridged
stream_usage: false
health: {path: /health, interval: 6, timeout: 7, failures: 8, eject: 9}
tls_ca_file: certs/ca.pem",
    );
    assert_eq!(provider.base_url, "http://127.0.0.1:1/v1");
    assert_eq!(provider.headers[0].0, "x-team");
    assert_eq!(provider.headers[0].1, "blue");
    let seconds = Duration::from_secs;
    let timeouts = Timeouts { connect: seconds(1), first_byte: seconds(2), idle: seconds(3) };
    assert_eq!(provider.timeouts, timeouts);
    assert_eq!((provider.max_concurrency, provider.weight), (Some(4), 5));
    assert_eq!((provider.responses, provider.stream_usage), (Responses::Bridged, false));
    let health = Health {
        path: "/health".into(),
        interval: seconds(6),
        timeout: seconds(7),
        failures: 8,
        eject: seconds(9),
    };
    assert_eq!(provider.health, Some(health));
    assert_eq!(provider.tls_ca_file.as_deref(), Some(Path::new("/etc/agent/certs/ca.pem")));
    assert!(provider.discover && provider.models.is_empty());
}

#[test]
fn invalid_values_of_every_provider_key_are_rejected() {
    refused_lines(
        "timeout: {connect: 0, first_byte: x, idle: -3}
max_concurrency: 0
weight: 0
responses: both
stream_usage: perhaps
health: {path: health, interval: 0, timeout: 0, failures: 0, eject: 0}
tls_ca_file: [a]
headers: x
api_key: [a]",
        &[
            "error 6:24: providers.p.timeout.connect: must be more than 0 seconds",
            "error 6:39: providers.p.timeout.first_byte: must be a number, found `x`",
            "error 6:48: providers.p.timeout.idle: must be a number greater than or equal to 0, \
             found `-3`",
            "error 7:22: providers.p.max_concurrency: must be a whole number from 1 to 1000000",
            "error 8:13: providers.p.weight: must be a whole number from 1 to 1000000",
            "error 9:16: providers.p.responses: must be one of `auto`, `native`, `bridged`, found `both`",
            "error 10:19: providers.p.stream_usage: must be true, 1, yes, on, false, 0, no or off, found `perhaps`",
            "error 11:20: providers.p.health.path: must be a path that starts with `/`, such as \
             `/models`",
            "error 11:38: providers.p.health.interval: must be more than 0 seconds",
            "error 11:50: providers.p.health.timeout: must be more than 0 seconds",
            "error 11:63: providers.p.health.failures: must be a whole number from 1 to 1000",
            "error 11:73: providers.p.health.eject: must be more than 0 seconds",
            "error 12:18: providers.p.tls_ca_file: must be the path of a PEM file, found a list",
            "error 13:14: providers.p.headers: must be a mapping from names to values, found a \
             string",
            "error 14:14: providers.p.api_key: must be a string, preferably a reference such as \
             `${NAME}`, found a list",
        ],
    );
}

#[test]
fn a_single_timeout_applies_to_first_byte_and_idle() {
    let seconds = Duration::from_secs;
    let timeouts = Timeouts { connect: seconds(10), first_byte: seconds(40), idle: seconds(40) };
    assert_eq!(read_one("timeout: 40").timeouts, timeouts);
    let timeouts = Timeouts { connect: seconds(2), first_byte: seconds(2), idle: seconds(2) };
    assert_eq!(read_one("timeout: 2").timeouts, timeouts);
    refused_lines("timeout: 0", &["error 6:14: providers.p.timeout: must be more than 0 seconds"]);
}

#[test]
fn health_can_be_switched_off() {
    assert_eq!(read_one("health: false").health, None);
    assert_eq!(read_one("health: true").health, Some(Health::default()));
    refused_lines(
        "health: 5",
        &["error 6:13: providers.p.health: must be a mapping, found a number (allowed keys: \
           `path`, `interval`, `timeout`, `failures`, `eject`)"],
    );
}

#[test]
fn a_known_provider_kind_is_required() {
    refused(
        "providers:\n  p: {base_url: \"http://[::1]/v1\", discover: true}",
        &["error 2:3: providers.p: has no `kind` (set it to one of `openai`, `anthropic`, \
           `espeak`, `local`, `searxng`, `brave`, `tavily`, `index`)"],
    );
    let with = |kind: &str| {
        format!("providers:\n  p: {{kind: {kind}, base_url: \"http://[::1]/v1\", discover: true}}")
    };
    refused(
        &with("opnai"),
        &[
            "error 2:13: providers.p.kind: must be one of `openai`, `anthropic`, `espeak`, `local`, `searxng`, `brave`, `tavily`, `index`, found `opnai` (did you mean `openai`?)",
        ],
    );
    refused(
        &with("vllm"),
        &["error 2:13: providers.p.kind: must be one of `openai`, `anthropic`, \
             `espeak`, `local`, `searxng`, `brave`, `tavily`, `index`, found `vllm` (use `openai` for any server \
             with an OpenAI-compatible API)"],
    );
}

#[cfg(not(feature = "local-model"))]
#[test]
fn a_provider_kind_missing_in_this_build_is_rejected() {
    refused(
        "providers:\n  p: {kind: local, discover: true, window: 512}",
        &["error 2:13: providers.p.kind: this build does not support `local` providers (use a \
             build with the feature `local-model`, or remove the provider)"],
    );
}

#[test]
fn an_unusable_url_is_rejected_without_quoting_it() {
    for (address, said) in [
        (
            "a.b/v1",
            "must be a URL that starts with `http://` or `https://` (write `https://` and a host)",
        ),
        ("https:///v1", "the URL has no host (add a host after `://`)"),
        ("https://a.b:port/v1", "is not a valid URL (check the host and the port)"),
        (
            "https://me:s3cret@a.b/v1",
            "the URL contains a user or password (remove them; use `api_key` or `headers` of the \
             provider instead)",
        ),
        (
            "https://a.b/v1?key=s3cret",
            "the URL must not have a query (`?`) or a fragment (`#`) (remove it)",
        ),
        (
            "https://a.b/v1/chat/completions",
            "must not end with `/chat/completions`, which the service appends (end it with the \
             version, as in `…/v1`)",
        ),
    ] {
        refused(
            &provider(&format!("base_url: {address}\nmodels: [m]")),
            &[&format!("error 4:15: providers.p.base_url: {said}")],
        );
    }
}

#[test]
fn an_unset_variable_is_the_only_error_of_a_url() {
    refused(
        &provider("base_url: ${UPSTREAM}/v1\nmodels: [m]"),
        &["error 4:15: providers.p.base_url: the variable `UPSTREAM` is not set (set it in the \
           profile's `.env` file or in the environment)"],
    );
}

#[test]
fn unencrypted_and_literal_api_keys_get_a_warning() {
    let config = warned(
        &provider("base_url: http://10.0.0.1/v1\nmodels: [m]\napi_key: sk-very-secret-key"),
        &[
            "warning 4:15: providers.p.base_url: `api_key` is sent unencrypted: the URL is not \
             https",
            "warning 6:14: providers.p.api_key: the file contains a secret in plain text (use a \
             reference such as `${NAME}` and set the variable in the profile's `.env` or in the \
             environment)",
        ],
    );
    assert!(!format!("{config:?}").contains("very-secret"));
    clean(&provider("base_url: http://10.0.0.1/v1\nmodels: [m]"));
}

#[test]
fn the_default_url_needs_an_api_key() {
    refused(
        &provider("models: [m]"),
        &["error 2:3: providers.p: has neither `base_url` nor `api_key` (the default URL needs a \
             key; add `api_key: ${NAME}`)"],
    );
    clean(&provider("models: [m]\nheaders: {Authorization: \"Bearer ${KEY}\"}"));
}

#[test]
fn invalid_headers_are_rejected() {
    refused_lines(
        "api_key: ${KEY}
headers:
  \"a b\": x
  Host: x
  authorization: x
  X-A: x
  x-a: y
  X-B: [x]
  X-C: \"a\\nb\"",
        &[
            "error 8:14: providers.p.headers.a b: is not a valid header name",
            "error 9:13: providers.p.headers.Host: is set by the service and cannot be configured",
            "error 10:22: providers.p.headers.authorization: conflicts with `api_key`, which sets \
             this header (remove one of them)",
            "error 12:12: providers.p.headers.x-a: is a duplicate: header names are \
             case-insensitive",
            "error 13:12: providers.p.headers.X-B: must be a string, found a list",
            "error 14:12: providers.p.headers.X-C: the value contains a character that is not \
             allowed in a header",
        ],
    );
    let config = warned(
        &provider("base_url: https://a.b\nmodels: [m]\nheaders: {X-Token: s3cret-word}"),
        &["warning 6:24: providers.p.headers.X-Token: the file contains a secret in plain text \
           (use a reference such as `${NAME}` and set the variable in the profile's `.env` or in \
           the environment)"],
    );
    assert_eq!(config.providers[0].headers[0].1, "s3cret-word");
    assert!(!format!("{config:?}").contains("s3cret"));
}

#[test]
fn models_are_ids_or_a_mapping_from_ids() {
    let config = clean(&provider(
        "base_url: https://a.b
models:
  meta-llama/Llama-3.1-8B:
  big:
    name: big-2026-01
    context_length: 131072
    capabilities: [responses, chat]
    price_micros: 7
    description: The big one
    max_n: 2
    max_tokens: 3
    max_message_bytes: 4
    max_images: 0",
    ));
    let models = &config.providers[0].models;
    assert_eq!(models[0], Model::new("meta-llama/Llama-3.1-8B"));
    let big = Model {
        id: "big".into(),
        upstream_name: "big-2026-01".into(),
        path: None,
        context_length: Some(131_072),
        capabilities: vec![Capability::Chat, Capability::Responses],
        price_micros: Some(7),
        description: Some("The big one".into()),
        caps: Caps { n: Some(2), tokens: Some(3), message_bytes: Some(4), images: Some(0) },
    };
    assert_eq!(models[1], big);
    assert_eq!(config.price_micros(Operation::Chat, "p/big"), 7);
}

#[test]
fn invalid_models_are_rejected() {
    let base = "base_url: https://a.b\n";
    refused(
        &provider(&format!("{base}models: [a, {{}}, \"b c\", a, \"d*\"]")),
        &[
            "error 5:17: providers.p.models[1]: must be a model id, found a mapping",
            "error 5:21: providers.p.models[2]: a model id must be 1 to 256 printable ASCII \
             characters without spaces, quotes, `*` and `?`",
            "error 5:28: providers.p.models[3]: `a` is listed twice (remove one of them)",
            "error 5:31: providers.p.models[4]: a model id must be 1 to 256 printable ASCII \
             characters without spaces, quotes, `*` and `?`",
        ],
    );
    refused(
        &provider(&format!(
            "{base}models: {{a: {{name: 5, context_length: 0, capabilities: [chat, dance], \
             price_micros: 1.5, description: [], size: 7}}}}"
        )),
        &[
            "error 5:24: providers.p.models.a.name: must be the model's name at the provider, \
             found a number",
            "error 5:43: providers.p.models.a.context_length: must be a whole number from 1 to \
             1000000000",
            "error 5:67: providers.p.models.a.capabilities[1]: must be one of `chat`, `responses`, \
             `research`, `image`, `speech`, `transcription`, `embeddings`, `moderation`, `rerank`, \
             `web_search`, `web_fetch`, found `dance`",
            "error 5:89: providers.p.models.a.price_micros: must be a whole number of \
             micro-credits, at least 0, found `1.5` (1 credit is 1000000 micro-credits)",
            "error 5:107: providers.p.models.a.description: must be a string, found a list",
            "error 5:111: providers.p.models.a.size: is not a known key (known keys: `name`, `path`, `context_length`, `max_n`, `max_tokens`, `max_message_bytes`, `max_images`, `capabilities`, `price_micros`, `description`)",
        ],
    );
    refused(
        &provider(base),
        &["error 2:3: providers.p: has neither `models` nor `discover` (list its `models`, or \
           set `discover: true`)"],
    );
    refused(
        &provider(&format!("{base}models: []")),
        &["error 5:13: providers.p.models: lists no models (list at least one model, or use \
           `discover: true` instead)"],
    );
    refused(
        &provider(&format!("{base}models: gpt")),
        &["error 5:13: providers.p.models: must be a list of ids, or a mapping from ids, found a \
           string (write `models: [ID, ID]`)"],
    );
    refused(
        &provider(&format!("{base}models: {{a: {{capabilities: []}}}}")),
        &["error 5:32: providers.p.models.a.capabilities: must name at least one capability"],
    );
}

#[test]
fn providers_are_a_mapping_with_valid_names() {
    refused(
        "providers: [a]",
        &["error 1:12: providers: must be a mapping from names to values, found a list"],
    );
    let keys = "`kind`, `base_url`, `program`, `api_key`, `headers`, `models`, `discover`, `timeout`, \
                `max_concurrency`, `weight`, `responses`, `stream_usage`, `health`, `tls_ca_file`, \
                `folder`, `index_folder`, `rescan`, `max_file_bytes`, `window`, \
                `max_waiting`, `idle`, `system`, `temperature`, `top_p`, `repeat_penalty`";
    refused(
        "providers:\n  p:\n  q: x\n",
        &[
            &format!(
                "error 2:3: providers.p: must be a mapping, found nothing (allowed keys: {keys})"
            ),
            &format!(
                "error 3:6: providers.q: must be a mapping, found a string (allowed keys: {keys})"
            ),
        ],
    );
    refused(
        "providers:\n  a/b: {kind: openai, base_url: \"https://a.b\", models: [m]}",
        &[
            "error 2:3: providers.a/b: the name of a provider must be 1 to 64 letters, digits, dots, \
           underscores and hyphens",
        ],
    );
    refused(
        "providers:\n  p: {kind: openai, base_url: \"https://a.b\", models: [m]}\n  \
         p: {kind: openai, base_url: \"https://a.b\", models: [m]}",
        &["error 3:3: providers.p: `p` is set twice, in lines 2 and 3 (remove one of them)"],
    );
}

#[test]
fn an_invalid_provider_is_not_also_reported_as_unknown() {
    refused(
        "providers:\n  p: {kind: grpc, models: [m], api_key: \"${KEY}\"}\nmodels: {a: p/m}",
        &[
            "error 2:13: providers.p.kind: must be one of `openai`, `anthropic`, `espeak`, `local`, `searxng`, `brave`, `tavily`, `index`, found `grpc` (use `openai` for any server with an OpenAI-compatible API)",
        ],
    );
}

#[test]
fn names_ids_and_texts_have_a_maximum_length() {
    let named = |name: &str| {
        format!("providers:\n  {name}: {{kind: openai, base_url: \"https://a.b\", discover: true}}")
    };
    clean(&named(&"n".repeat(64)));
    let long = "n".repeat(65);
    let expected = format!(
        "error 2:3: providers.{long}: the name of a provider must be 1 to 64 letters, digits, \
         dots, underscores and hyphens"
    );
    refused(&named(&long), &[&expected]);
    let id = |length: usize| {
        provider(&format!("base_url: https://a.b\nmodels: [{}]", "m".repeat(length)))
    };
    clean(&id(256));
    refused(
        &id(257),
        &["error 5:14: providers.p.models[0]: a model id must be 1 to 256 printable ASCII \
           characters without spaces, quotes, `*` and `?`"],
    );
    let description = |length: usize| {
        let text = "ä".repeat(length);
        provider(&format!("base_url: https://a.b\nmodels: {{m: {{description: {text}}}}}"))
    };
    clean(&description(2000));
    refused(
        &description(2001),
        &["error 5:31: providers.p.models.m.description: must be at most 2000 characters"],
    );
}

#[test]
fn provider_limits_are_enforced() {
    let many = |count: usize| {
        let one = "{kind: openai, base_url: \"https://a.b\", discover: true}";
        let lines: Vec<_> = (0..count).map(|n| format!("  p{n}: {one}\n")).collect();
        format!("providers:\n{}", lines.concat())
    };
    assert_eq!(clean(&many(MAX_PROVIDERS)).providers.len(), MAX_PROVIDERS);
    refused(&many(MAX_PROVIDERS + 1), &["error 2:3: providers: must be at most 256 providers"]);
    let models = |count: usize, form: &str| {
        let ids: Vec<_> = (0..count).map(|n| format!("m{n}")).collect();
        let ids = match form {
            "list" => format!("[{}]", ids.join(", ")),
            _ => format!("{{{}: }}", ids.join(": , ")),
        };
        provider(&format!("base_url: https://a.b\nmodels: {ids}"))
    };
    for form in ["list", "mapping"] {
        let config = clean(&models(MAX_MODELS, form));
        assert_eq!(config.providers[0].models.len(), MAX_MODELS);
        refused(
            &models(MAX_MODELS + 1, form),
            &["error 5:13: providers.p.models: must be at most 4096 models"],
        );
    }
    let headers = |count: usize| {
        let lines: Vec<_> = (0..count).map(|n| format!("X-{n}: a")).collect();
        format!("headers: {{{}}}", lines.join(", "))
    };
    assert_eq!(read_one(&headers(MAX_HEADERS)).headers.len(), MAX_HEADERS);
    refused_lines(
        &headers(MAX_HEADERS + 1),
        &["error 6:14: providers.p.headers: must be at most 64 headers"],
    );
}
