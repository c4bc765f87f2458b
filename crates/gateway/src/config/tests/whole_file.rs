//! A file as a whole: everything that is wrong at once, the example, the table.

use settings::{DocumentedKey, DocumentedSection};

use super::*;

#[test]
fn all_problems_are_reported_together() {
    refused(
        "listen: nowhere
listen: 127.0.0.1:1
publicurl: https://a.b
databse: x
api_key: x
zzz: 1
admin_token: ${ADMIN}
providers:
  p:
    kind: openai
    base_url: ftp://a.b
    api_key: ${A}${B}
    models: [m]
    time_out: 5
models:
  fast: p/n
limits: 5
log: {levl: info}
",
        &[
            "error 2:1: listen: `listen` is set twice, in lines 1 and 2 (remove one of them)",
            "error 3:1: publicurl: is not a known key (did you mean `public_url`?)",
            "error 4:1: databse: is not a known key (did you mean `database`?)",
            "error 5:1: api_key: is not a known key (did you mean `providers.NAME.api_key`?)",
            "error 6:1: zzz: is not a known key (known keys: `listen`, `metrics_listen`, \
             `public_url`, `database`, `artifacts`, `admin_token`, `key_secret`, `providers`, \
             `models`, `prices`, `limits`, `remote_images`, `remote_tools`, `on_client_gone`, \
             `idempotency_hours`, `responses_days`, `hold_lease_seconds`, `time_zone`, `log`, `trace`, `alerts`, `research`, `fetch`, \
             `downloads`, `media`, `search`, `mcp`)",
            "error 7:14: admin_token: the variable `ADMIN` is not set (set it in the profile's `.env` file or in the environment)",
            "error 11:15: providers.p.base_url: must be a URL that starts with `http://` or \
             `https://` (write `https://` and a host)",
            "error 12:14: providers.p.api_key: the variable `A` is not set (set it in the \
             profile's `.env` file or in the environment)",
            "error 12:14: providers.p.api_key: the variable `B` is not set (set it in the \
             profile's `.env` file or in the environment)",
            "error 14:5: providers.p.time_out: is not a known key (did you mean `timeout`?)",
            "error 16:9: models.fast: `p/n` names a model that its provider does not list (its \
             models are `m`)",
            "error 17:9: limits: must be a mapping, found a number (allowed keys: `max_body_bytes`, `parsing_bytes`, `max_header_bytes`, `max_connections`, `max_connections_per_address`, `exempt_addresses`, `header_timeout`, `idle_timeout`, `body_timeout`, `write_timeout`, `keepalive_comment`, `max_stream_seconds`, `max_answer_bytes`, `parser_workers`, `drain_seconds`, `new_keys`)",
            "error 18:7: log.levl: is not a known key (did you mean `level`?)",
        ],
    );
}

#[test]
fn a_file_that_is_not_a_mapping_or_yaml_is_one_problem() {
    refused("[a]", &["error 1:1: the file must be a mapping, found a list"]);
    let reading = reading("providers: {p: [");
    assert_eq!(reading.problems.len(), 1);
    assert!(reading.config.is_none());
}

#[test]
fn the_example_is_valid_if_its_variables_are_set() {
    let mut scope = scope();
    for name in ["GATEWAY_ADMIN_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
        scope.process.insert(name.into(), LONG.into());
    }
    let reading = read(example(), &scope, Path::new("/etc/agent"));
    assert_eq!(said(&reading), Vec::<String>::new());
    let config = reading.config.unwrap_or_else(|| panic!("nothing is wrong"));
    assert_eq!(config.providers.len(), 3);
    assert_eq!(config.price_micros(Operation::Chat, "smart"), 5000);
    assert_eq!(config.price_micros(Operation::Chat, "fast"), 2000);
    // Each variable is reported once, and nothing else, if none is set.
    let problems = read(example(), &Scope::default(), Path::new("/")).problems;
    let messages: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "the variable `GATEWAY_ADMIN_TOKEN` is not set",
            "the variable `OPENAI_API_KEY` is not set",
            "the variable `ANTHROPIC_API_KEY` is not set",
        ]
    );
}

#[test]
fn secrets_are_collected_and_never_shown() {
    let reading = reading(
        "admin_token: ${LONG}\n\
         database: postgres://me:${PASSWORD}@h/d\n\
         providers: {p: {kind: openai, api_key: \"${KEY}\", models: [m]}}",
    );
    let secrets: Vec<_> = reading.secrets.iter().map(settings::KnownSecret::value).collect();
    assert_eq!(secrets, [LONG, "upstream-key-1", "db-password-1"]);
    let shown = format!("{reading:?}");
    for secret in secrets {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn numeric_maxima_are_exact() {
    for (before, greatest, after) in [
        ("database: {url: \"postgres://h\", pool_size: ", 1000_u64, "}"),
        ("idempotency_hours: ", 720, ""),
        ("providers: {p: {kind: local, discover: on, window: ", 1_048_576, "}}"),
        ("providers: {p: {kind: local, discover: on, max_concurrency: ", 256, "}}"),
        ("providers: {p: {kind: local, discover: on, max_waiting: ", 10_000, "}}"),
        ("responses_days: ", 3650, ""),
        ("hold_lease_seconds: ", 86400, ""),
        ("limits: {max_body_bytes: ", 1 << 30, "}"),
        ("limits: {max_header_bytes: ", 1 << 20, "}"),
        ("limits: {max_connections: ", 1_000_000, "}"),
        ("limits: {max_answer_bytes: ", 1 << 30, "}"),
        ("fetch: {max_bytes: ", 256 << 20, "}"),
        ("fetch: {max_redirects: ", 20, "}"),
        ("fetch: {concurrency: ", 100_000, "}"),
        ("fetch: {concurrency_per_host: ", 100_000, "}"),
        ("fetch: {cache_bytes: ", 64 << 30, "}"),
        ("fetch: {cache_seconds: ", 86400, "}"),
        ("limits: {max_stream_seconds: ", 31_536_000, "}"),
        ("limits: {new_keys: {requests_per_minute: ", 10_000_000, "}}"),
        ("limits: {new_keys: {concurrency: ", 1_000_000, "}}"),
        ("limits: {new_keys: {spend_micros: ", MAX_PRICE_MICROS.unsigned_abs(), "}}"),
        ("prices: {default_micros: {chat: ", MAX_PRICE_MICROS.unsigned_abs(), "}}"),
        (
            "providers: {p: {kind: openai, api_key: \"${KEY}\", discover: on, weight: ",
            1_000_000,
            "}}",
        ),
        (
            "providers: {p: {kind: openai, api_key: \"${KEY}\", models: {m: {context_length: ",
            1_000_000_000,
            "}}}}",
        ),
        (
            "providers: {p: {kind: openai, api_key: \"${KEY}\", discover: on, health: {failures: ",
            1000,
            "}}}",
        ),
    ] {
        clean(&format!("{before}{greatest}{after}"));
        let text = format!("{before}{}{after}", greatest + 1);
        assert_eq!(reading(&text).problems.len(), 1, "{text}");
        assert!(reading(&text).config.is_none(), "{text}");
    }
}

/// The file with one key of the table set; the value is JSON, or a plain word.
fn with_key(section: &DocumentedSection, key: &DocumentedKey, value: &str) -> String {
    let value = match serde_json::from_str::<serde_json::Value>(value) {
        Ok(value) => value.to_string(),
        Err(_) => serde_json::Value::from(value).to_string(),
    };
    let pair = format!("\"{}\": {value}", key.name);
    let base = "\"kind\": \"openai\", \"base_url\": \"https://a.b\"";
    let model = |inner: &str| format!("providers: {{p: {{{base}, models: {{m: {inner}}}}}}}");
    match section.name.as_str() {
        "" => pair,
        "providers.*" if key.meaning.starts_with("`index`: ") => {
            let folder = if key.name == "folder" { "" } else { "folder: f, " };
            format!("providers: {{p: {{kind: index, {folder}{pair}}}}}")
        }
        "providers.*" if key.meaning.starts_with("`local`: ") => {
            format!("providers: {{p: {{kind: local, discover: true, {pair}}}}}")
        }
        "providers.*" => {
            let discover = if key.name == "discover" { "" } else { "\"discover\": false, " };
            format!("providers: {{p: {{{base}, {discover}models: {{m: }}, {pair}}}}}")
        }
        "providers.*.models.*" => model(&format!("{{{pair}}}")),
        "providers.*.timeout" | "providers.*.health" => {
            let name = section.name.rsplit('.').next().unwrap_or_default();
            format!("providers: {{p: {{{base}, models: {{m: }}, {name}: {{{pair}}}}}}}")
        }
        "prices.default_micros" => format!("prices: {{default_micros: {{{pair}}}}}"),
        "limits.new_keys" => format!("limits: {{new_keys: {{{pair}}}}}"),
        "limits.new_keys.budget" => {
            let required = [("amount_micros", "1"), ("period", "day")];
            nested("limits: {new_keys: {budget", &required, key, &pair) + "}"
        }
        "alerts.email" => nested(
            "alerts: {email",
            &[("host", "localhost"), ("from", "a@b.c"), ("to", "[a@b.c]")],
            key,
            &pair,
        ),
        "alerts.webhook" => nested(
            "alerts: {webhook",
            &[("url", "\"https://a.b\""), ("secret", "a-secret-of-at-least-32-characters")],
            key,
            &pair,
        ),
        "trace" => format!("trace: {{otlp_endpoint: \"http://[::1]:4318\", {pair}}}"),
        name => format!("{name}: {{{pair}}}"),
    }
}

/// A section within a section, with its required keys.
fn nested(begin: &str, required: &[(&str, &str)], key: &DocumentedKey, pair: &str) -> String {
    let others = required.iter().filter(|(name, _)| *name != key.name);
    let others =
        others.fold(String::new(), |text, (name, value)| text + name + ": " + value + ", ");
    format!("{begin}: {{{others}{pair}}}}}")
}

#[test]
fn documented_defaults_match_the_code() {
    for section in &schema().sections() {
        for key in section.keys.iter().filter(|key| !key.default.is_empty()) {
            let with = clean(&with_key(section, key, &key.default));
            let text = with_key(section, key, "null");
            let without = clean(&text);
            assert_eq!(format!("{with:?}"), format!("{without:?}"), "{text}");
        }
    }
}

#[test]
fn every_key_of_the_table_is_known_to_the_reader() {
    for section in &schema().sections() {
        for key in &section.keys {
            // Nothing is a date in a mapping in a list: the reader of the key says so.
            let text = match section.name.as_str() {
                "database" => format!("database: {{url: \"sqlite:x\", {}: [{{}}]}}", key.name),
                "models.*" => format!("models: {{a: {{{}: [[]]}}}}", key.name),
                "models.*.targets.*" => {
                    format!("models: {{a: {{targets: [{{{}: []}}]}}}}", key.name)
                }
                "research.*" => format!("research: {{quick: {{{}: [[[]]]}}}}", key.name),
                _ => with_key(section, key, "[[[]]]"),
            };
            let problems = reading(&text).problems;
            assert!(!problems.is_empty(), "{text}");
            for problem in problems {
                assert_ne!(problem.message, "is not a known key", "{text}");
            }
        }
    }
}
