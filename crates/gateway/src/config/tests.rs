//! Every key: a good and a bad value, and what is said about it, word for word.

mod fetch;
mod laws;
#[cfg(feature = "local-model")]
mod local;
mod mcp;
mod media;
mod page;
mod providers;
mod research;
mod routes;
mod schema;
mod searches;
mod whole_file;

use std::path::{Path, PathBuf};
use std::time::Duration;

use settings::Scope;
use wire::account::PeriodWord;

use super::*;

const LONG: &str = "0123456789abcdef0123456789abcdef";

fn scope() -> Scope {
    let pairs = [
        ("LONG", LONG),
        ("SHORT", "short"),
        ("BLANK", ""),
        ("KEY", "upstream-key-1"),
        ("PASSWORD", "db-password-1"),
    ];
    Scope {
        secrets: pairs.iter().map(|&(name, value)| (name.into(), value.into())).collect(),
        home: Some("/home/ada".into()),
        ..Scope::default()
    }
}

fn reading(text: &str) -> Reading {
    read(text, &scope(), Path::new("/etc/agent"))
}

/// The configuration of a text that has nothing wrong with it.
#[track_caller]
fn clean(text: &str) -> Config {
    let reading = reading(text);
    assert_eq!(said(&reading), Vec::<String>::new(), "{text}");
    assert_eq!(schema::faults(text), Vec::<String>::new(), "{text}");
    reading.config.unwrap_or_else(|| panic!("nothing is wrong with {text}"))
}

fn said(reading: &Reading) -> Vec<String> {
    let words = reading.problems.iter().map(|problem| {
        let severity = if problem.is_error() { "error" } else { "warning" };
        format!("{severity} {problem}")
    });
    words.collect()
}

/// Everything that is said about a text that cannot be used.
#[track_caller]
fn refused(text: &str, expected: &[&str]) {
    let reading = reading(text);
    assert_eq!(said(&reading), expected, "{text}");
    assert!(reading.config.is_none(), "{text}");
}

/// Everything that is said about a text that can be used all the same.
#[track_caller]
fn warned(text: &str, expected: &[&str]) -> Config {
    let reading = reading(text);
    assert_eq!(said(&reading), expected, "{text}");
    assert_eq!(schema::faults(text), Vec::<String>::new(), "{text}");
    reading.config.unwrap_or_else(|| panic!("can be used: {text}"))
}

#[test]
fn an_empty_file_has_all_defaults() {
    for text in ["", "# nothing\n", "{}", "providers:\nlisten:\n"] {
        let config = clean(text);
        assert_eq!(config.listen.to_string(), "127.0.0.1:8930");
        assert_eq!(config.public_url, "http://127.0.0.1:8930");
        let Database::Sqlite { path, durability } = &config.database else { panic!("{config:?}") };
        assert_eq!(path, Path::new("/etc/agent/gateway.sqlite3"));
        assert_eq!(*durability, Durability::Power);
        assert_eq!(
            config.artifacts.place,
            Artifacts::Files { path: "/etc/agent/artifacts".into() }
        );
        assert!(config.admin_token.is_none() && config.trace.is_none());
        let KeySecret::File(path) = &config.key_secret else { panic!("{config:?}") };
        assert_eq!(path, Path::new("/etc/agent/gateway.secret"));
        assert!(config.providers.is_empty() && config.aliases.is_empty());
        assert_eq!(config.limits, Limits::default());
        assert_eq!(config.on_client_gone, ClientGone::Cancel);
        assert_eq!(config.idempotency, Duration::from_hours(24));
        assert_eq!(config.responses_kept, Duration::from_hours(30 * 24));
        assert_eq!(config.hold_lease, Duration::from_mins(1));
        assert_eq!(config.log, Log::default());
        for (operation, price) in [
            (Operation::Chat, 1000),
            (Operation::Responses, 1000),
            (Operation::Models, 0),
            (Operation::Me, 0),
            (Operation::ResponsesRead, 0),
        ] {
            assert_eq!(config.price_micros(operation, ""), price, "{operation:?}");
        }
    }
}

#[test]
fn listen_is_an_ip_address_and_a_port() {
    assert_eq!(clean("listen: 127.0.0.1:9000").public_url, "http://127.0.0.1:9000");
    assert_eq!(clean("listen: \"[::1]:9000\"").public_url, "http://[::1]:9000");
    let must = "error 1:9: listen: must be an IP address and a port, such as `127.0.0.1:8930`";
    refused("listen: localhost:8930", &[&format!("{must} (write `127.0.0.1:8930`)")]);
    refused(
        "listen: \":8930\"",
        &[&format!("{must} (write `0.0.0.0:8930` to listen on all addresses)")],
    );
    refused(
        "listen: ai.example.com:80",
        &[&format!("{must} (host names are not resolved here; for IPv6, write `[::1]:8930`)")],
    );
    refused("listen: 8930", &[&format!("{must}, found a number")]);
    warned(
        "listen: 0.0.0.0:8930",
        &["warning 1:9: listen: other machines can connect, but `public_url` is not set (set \
             `public_url` to the https URL that clients use)"],
    );
    clean("listen: 0.0.0.0:8930\npublic_url: https://ai.example.com");
}

#[test]
fn public_url_is_https_or_loopback_without_a_path() {
    assert_eq!(clean("public_url: https://ai.example.com/").public_url, "https://ai.example.com");
    assert_eq!(clean("public_url: http://localhost:1").public_url, "http://localhost:1");
    refused(
        "public_url: https://ai.example.com/v1",
        &["error 1:13: public_url: must not have a path (remove the path; clients append `/v1` \
           and `/mcp`)"],
    );
    refused(
        "public_url: http://ai.example.com",
        &["error 1:13: public_url: must be an https URL unless the host is this machine: keys \
           would be sent unencrypted (put a TLS reverse proxy in front of the service)"],
    );
    refused(
        "public_url: ai.example.com",
        &["error 1:13: public_url: must be a URL that starts with `http://` or `https://` (write \
           `https://` and a host)"],
    );
    refused(
        "public_url: https://me:s3cret@ai.example.com",
        &["error 1:13: public_url: the URL contains a user or password (remove them; use \
             `api_key` or `headers` of the provider instead)"],
    );
}

#[test]
fn a_database_is_a_file_or_a_server() {
    for (text, expected) in [
        ("database: sqlite:x.db", "/etc/agent/x.db"),
        ("database: sqlite:/var/x.db", "/var/x.db"),
        ("database: sqlite:~/x.db", "/home/ada/x.db"),
        ("database: {url: \"sqlite:x.db\"}", "/etc/agent/x.db"),
    ] {
        let Database::Sqlite { path, .. } = clean(text).database else { panic!("{text}") };
        assert_eq!(path, PathBuf::from(expected), "{text}");
    }
    let config = clean("database: {url: \"sqlite:x\", durability: process}");
    assert!(matches!(config.database, Database::Sqlite { durability: Durability::Process, .. }));
    let config = clean(
        "database: {url: \"postgres://gateway:${PASSWORD}@db.internal/gateway\", pool_size: 3}",
    );
    let Database::Postgres { url, pool_size } = &config.database else { panic!("{config:?}") };
    assert_eq!(url.reveal(), "postgres://gateway:db-password-1@db.internal/gateway");
    assert_eq!(*pool_size, 3);
    let config = clean("database: postgresql:///gateway?host=/run/postgresql");
    assert!(matches!(config.database, Database::Postgres { pool_size: 8, .. }));
}

#[test]
fn an_invalid_database_url_is_rejected_without_quoting_it() {
    let must = "must be `sqlite:PATH` or `postgres://…`";
    refused("database: mysql://me:s3cret@h/d", &[&format!("error 1:11: database: {must}")]);
    refused("database: 5", &[&format!("error 1:11: database: {must}, found a number")]);
    refused("database: \"postgres://\"", &[&format!("error 1:11: database: {must}")]);
    refused(
        "database: \"sqlite::memory:\"",
        &[
            "error 1:11: database: must name a file after `sqlite:` (write `sqlite:gateway.sqlite3` \
           or an absolute path)",
        ],
    );
    refused(
        "database: {pool_size: 3}",
        &["error 1:11: database: has no `url` (`url` must be `sqlite:PATH` or `postgres://…`)"],
    );
    refused(
        "database: {url: \"sqlite:x\", pool_size: 3}",
        &["error 1:40: database.pool_size: applies to PostgreSQL only (remove it)"],
    );
    refused(
        "database: {url: \"postgres://h\", durability: power, pool_size: 0}",
        &[
            "error 1:45: database.durability: applies to SQLite only (remove it)",
            "error 1:63: database.pool_size: must be a whole number from 1 to 1000",
        ],
    );
    refused(
        "database: {url: \"sqlite:x\", durability: ram}",
        &["error 1:41: database.durability: must be one of `power`, `process`, found `ram`"],
    );
    let config = warned(
        "database: postgres://me:s3cret@h/d",
        &["warning 1:11: database: the file contains a secret in plain text (use a reference \
           such as `${NAME}` and set the variable in the profile's `.env` or in the environment)"],
    );
    assert!(!format!("{config:?}").contains("s3cret"));
}

#[test]
fn artifacts_are_a_folder_or_a_bucket() {
    for (text, path) in [
        ("artifacts: file:made", "/etc/agent/made"),
        ("artifacts: file:/var/made", "/var/made"),
        ("artifacts: file:///var/made", "/var/made"),
    ] {
        assert_eq!(clean(text).artifacts.place, Artifacts::Files { path: path.into() }, "{text}");
    }
    for (text, bucket, prefix) in [
        ("artifacts: s3://made", "made", ""),
        ("artifacts: s3://made.example/a/b", "made.example", "a/b"),
    ] {
        let expected = Artifacts::S3 { bucket: bucket.into(), prefix: prefix.into() };
        assert_eq!(clean(text).artifacts.place, expected, "{text}");
    }
    for text in
        ["artifacts: made", "artifacts: \"file:\"", "artifacts: s3://Made", "artifacts: s3:///x"]
    {
        refused(text, &["error 1:12: artifacts: must be `file:PATH` or `s3://BUCKET/PREFIX`"]);
    }
}

#[test]
fn tokens_are_long_and_usually_come_from_variables() {
    let config = clean("admin_token: ${LONG}\nkey_secret: ${LONG}");
    assert_eq!(config.admin_token.as_ref().map(Secret::reveal), Some(LONG));
    let KeySecret::Given(secret) = &config.key_secret else { panic!("{config:?}") };
    assert_eq!(secret.reveal(), LONG);
    for key in ["admin_token", "key_secret"] {
        let column = key.len() + 3;
        refused(
            &format!("{key}: ${{SHORT}}"),
            &[&format!(
                "error 1:{column}: {key}: must be at least 32 characters long (create one with \
                 `openssl rand -hex 32`)"
            )],
        );
        refused(
            &format!("{key}: ${{NOT_SET}}"),
            &[&format!(
                "error 1:{column}: {key}: the variable `NOT_SET` is not set (set it in the \
                 profile's `.env` file or in the environment)"
            )],
        );
        refused(
            &format!("{key}: ${{BLANK}}"),
            &[&format!("error 1:{column}: {key}: the variable `BLANK` is set but empty")],
        );
        warned(
            &format!("{key}: {LONG}"),
            &[&format!(
                "warning 1:{column}: {key}: the file contains a secret in plain text (use a \
                 reference such as `${{NAME}}` and set the variable in the profile's `.env` or in \
                 the environment)"
            )],
        );
        refused(
            &format!("{key}: {LONG}ü"),
            &[&format!("error 1:{column}: {key}: must contain only printable ASCII characters")],
        );
    }
}

#[test]
fn time_zones_have_iana_names() {
    assert_eq!(clean("").calendar.name(), "UTC");
    assert_eq!(clean("time_zone: Europe/Berlin").calendar.name(), "Europe/Berlin");
    refused(
        "time_zone: CEST+2",
        &["error 1:12: time_zone: must be the IANA name of a time zone, such as `Europe/Berlin`"],
    );
}

#[test]
fn periods_are_whole_numbers_within_bounds() {
    let config = clean("idempotency_hours: 1\nresponses_days: 2\nhold_lease_seconds: 3");
    assert_eq!(config.idempotency, Duration::from_hours(1));
    assert_eq!(config.responses_kept, Duration::from_hours(48));
    assert_eq!(config.hold_lease, Duration::from_secs(3));
    refused(
        "idempotency_hours: 0\nresponses_days: 1.5\nhold_lease_seconds: 86401",
        &[
            "error 1:20: idempotency_hours: must be a whole number from 1 to 720",
            "error 2:17: responses_days: must be a whole number from 1 to 3650",
            "error 3:21: hold_lease_seconds: must be a whole number from 1 to 86400",
        ],
    );
}

#[test]
fn on_client_gone_is_cancel_or_finish() {
    assert_eq!(clean("on_client_gone: finish").on_client_gone, ClientGone::Finish);
    assert_eq!(clean("on_client_gone: Cancel").on_client_gone, ClientGone::Cancel);
    refused(
        "on_client_gone: ignore",
        &["error 1:17: on_client_gone: must be one of `cancel`, `finish`, found `ignore`"],
    );
}

#[test]
fn every_limit_is_parsed() {
    let config = clean(
        "limits:
  max_body_bytes: 1024
  parsing_bytes: 4096
  max_header_bytes: 8192
  max_connections: 5
  max_connections_per_address: 4
  exempt_addresses: [192.0.2.1, \"fd00::/8\"]
  header_timeout: 1.5
  idle_timeout: 90
  body_timeout: 2
  write_timeout: 2.5
  keepalive_comment: 0
  max_stream_seconds: 3
  max_answer_bytes: 2048
  parser_workers: 9
  drain_seconds: 0
  new_keys: {requests_per_minute: 6, concurrency: 7, spend_micros: 8, budget: {amount_micros: 9, period: week}}
",
    );
    let expected = Limits {
        max_body_bytes: 1024,
        parsing_bytes: 4096,
        max_header_bytes: 8192,
        max_connections: 5,
        max_connections_per_address: Some(4),
        exempt_addresses: ["192.0.2.1/32", "fd00::/8"].map(|text| text.parse().unwrap()).to_vec(),
        header_timeout: Duration::from_millis(1500),
        idle_timeout: Duration::from_secs(90),
        body_timeout: Duration::from_secs(2),
        write_timeout: Duration::from_millis(2500),
        keepalive_comment: None,
        max_stream: Duration::from_secs(3),
        max_answer_bytes: 2048,
        parser_workers: Some(9),
        drain: Duration::ZERO,
        new_keys: NewKeys {
            requests_per_minute: Some(6),
            concurrency: Some(7),
            spend_micros: Some(8),
            budget: Some(NewBudget { amount_micros: 9, period: PeriodWord::Week }),
        },
    };
    assert_eq!(config.limits, expected);
    let none = clean("limits: {max_connections_per_address: 0, exempt_addresses: []}").limits;
    assert_eq!((none.max_connections_per_address, none.exempt_addresses), (None, Vec::new()));
    refused(
        "limits: {exempt_addresses: [10.0.0.0/33]}",
        &["error 1:28: limits.exempt_addresses: entry 1 is not an IP address or a network such \
           as `10.0.0.0/8`"],
    );
}

#[test]
fn every_limit_is_bounded() {
    refused(
        "limits:
  max_body_bytes: 1023
  max_header_bytes: 8191
  max_connections: 0
  header_timeout: 0
  body_timeout: soon
  keepalive_comment: -1
  max_stream_seconds: 0
  max_answer_bytes: 1073741825
  drain_seconds: []
  new_keys: {requests_per_minute: 0, concurrency: 1.5, spend_micros: -8}
  parser_workers: 1
",
        &[
            "error 2:19: limits.max_body_bytes: must be a whole number from 1024 to 1073741824",
            "error 3:21: limits.max_header_bytes: must be a whole number from 8192 to 1048576",
            "error 4:20: limits.max_connections: must be a whole number from 1 to 1000000",
            "error 5:19: limits.header_timeout: must be more than 0 seconds",
            "error 6:17: limits.body_timeout: must be a number, found `soon`",
            "error 7:22: limits.keepalive_comment: must be a number greater than or equal to 0, \
             found `-1`",
            "error 8:23: limits.max_stream_seconds: must be more than 0 seconds",
            "error 9:21: limits.max_answer_bytes: must be a whole number from 1024 to 1073741824",
            "error 10:18: limits.drain_seconds: must be a number, found a list",
            "error 11:35: limits.new_keys.requests_per_minute: must be a whole number from 1 to \
             10000000",
            "error 11:51: limits.new_keys.concurrency: must be a whole number from 1 to 1000000",
            "error 11:70: limits.new_keys.spend_micros: must be a whole number of micro-credits, \
             at least 0, found `-8` (1 credit is 1000000 micro-credits)",
            "error 12:19: limits.parser_workers: must be a whole number from 2 to 1024",
        ],
    );
}

#[test]
fn log_and_trace_settings_are_parsed() {
    let config = clean(
        "log: {format: text, level: debug, requests: off}\n\
         trace: {otlp_endpoint: \"http://127.0.0.1:4318\", sample: 0.5}",
    );
    let log = Log { format: LogFormat::Text, level: Level::Debug, requests: false };
    assert_eq!(config.log, log);
    let trace = config.trace.unwrap_or_else(|| panic!("there is a collector"));
    assert_eq!(trace.otlp_endpoint, "http://127.0.0.1:4318");
    assert!((trace.sample - 0.5).abs() < f64::EPSILON);
    refused(
        "log: {format: xml, level: loud, requests: maybe}\ntrace: {sample: 2}",
        &[
            "error 1:15: log.format: must be one of `json`, `text`, found `xml`",
            "error 1:27: log.level: must be one of `error`, `warn`, `info`, `debug`, `trace`, found `loud`",
            "error 1:43: log.requests: must be true, 1, yes, on, false, 0, no or off, found `maybe`",
            "error 2:8: trace: has no `otlp_endpoint` (set the URL of a collector, such as \
             `http://127.0.0.1:4318`)",
            "error 2:17: trace.sample: must be a number from 0 to 1 (0.1 traces one request in \
             ten)",
        ],
    );
    refused(
        "trace: {otlp_endpoint: collector}",
        &["error 1:24: trace.otlp_endpoint: must be a URL that starts with `http://` or \
           `https://` (write `https://` and a host)"],
    );
}
