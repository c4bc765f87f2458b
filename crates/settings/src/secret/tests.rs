//! What counts as a secret, and how it is shown.

use super::*;

fn named(name: &str, value: &str) -> (String, Vec<String>) {
    let mut secrets = Secrets::default();
    let text = secrets.named(name, Text::literal(value));
    (text.shown().to_owned(), values(secrets))
}

fn values(secrets: Secrets) -> Vec<String> {
    secrets.into_known().into_iter().map(|secret| secret.value).collect()
}

#[test]
fn literal_values_under_secret_looking_names_are_hidden() {
    for name in [
        "GITHUB_TOKEN", "client_secret", "PGPASSWORD", "Passwd", "X-Api-Key", "Authorization",
        "CREDENTIALS", "Cookie", "session-id", "PAT", "GITHUB_PAT",
    ] {
        let (shown, values) = named(name, "abcd1234");
        assert_eq!((shown.as_str(), values), (HIDDEN, vec!["abcd1234".to_owned()]), "{name}");
    }
    for name in ["LOG_LEVEL", "PATH", "PATTERN", "COMPAT"] {
        assert_eq!(named(name, "debugging"), ("debugging".into(), vec![]));
    }
}

#[test]
fn the_credential_of_an_authorization_header_is_hidden() {
    let (shown, values) = named("Authorization", "Bearer abcd1234");
    assert_eq!(shown, "Bearer [hidden]");
    assert_eq!(values, ["Bearer abcd1234", "abcd1234"]);
    let (shown, _) = named("Authorization", "basic dXNlcjpwYXNz");
    assert_eq!(shown, "basic [hidden]");
}

#[test]
fn short_and_ordinary_values_are_not_known_secrets() {
    assert_eq!(named("API_KEY", "abc"), (HIDDEN.into(), vec![]));
    assert_eq!(named("AUTH", "none"), ("none".into(), vec![]));
}

#[test]
fn placeholders_are_not_hidden() {
    let mut secrets = Secrets::default();
    let text = Text::resolved("Bearer ${TOKEN}", "Bearer abcd1234");
    assert_eq!(secrets.named("Authorization", text).shown(), "Bearer ${TOKEN}");
    assert_eq!(secrets.named("X_KEY", Text::literal("${UNSET}")).shown(), "${UNSET}");
    assert_eq!(values(secrets), ["Bearer abcd1234", "abcd1234"]);
}

#[test]
fn references_are_secret_depending_on_their_origin() {
    let reference = |name: &str, origin, value: &str| Reference {
        name: name.into(),
        origin,
        value: value.into(),
    };
    let mut secrets = Secrets::default();
    secrets.note_references(&[
        reference("A", Origin::Secrets, "12ab"),
        reference("B", Origin::Secrets, "12a"),
        reference("PORT", Origin::Secrets, "8080"),
        reference("DEBUG", Origin::Secrets, "true"),
        reference("C", Origin::Process, "12345678"),
        reference("D", Origin::Process, "1234567"),
        reference("HOME", Origin::Process, "/home/somebody"),
        reference("XDG_DATA_HOME", Origin::Process, "/home/somebody/data"),
        reference("userHome", Origin::Context, "/home/somebody"),
        reference("A", Origin::Secrets, "12ab"),
    ]);
    assert_eq!(values(secrets), ["12345678", "12ab"]);
}

#[test]
fn credentials_and_secret_query_values_of_urls_are_hidden() {
    for (address, shown, values_found) in [
        ("https://a.b/mcp", "https://a.b/mcp", vec![]),
        ("https://u:pass%40word@a.b/", "https://u:[hidden]@a.b/", vec!["pass%40word", "pass@word"]),
        ("https://tokentoken@a.b/", "https://[hidden]@a.b/", vec!["tokentoken"]),
        (
            "https://a.b/mcp?api_key=abcdef&x=1#f",
            "https://a.b/mcp?api_key=[hidden]&x=1#f",
            vec!["abcdef"],
        ),
        ("https://a.b/@x?page=1", "https://a.b/@x?page=1", vec![]),
    ] {
        let mut secrets = Secrets::default();
        assert_eq!(secrets.embedded(Text::literal(address)).shown(), shown);
        assert_eq!(values(secrets), values_found, "{address}");
    }
}

#[test]
fn values_of_secret_flags_are_hidden() {
    let args = [
        "--api-key", "abcdef1", "--token=abcdef2", "-v", "--header",
        "Authorization: Bearer abcdef3", "-e", "DB_PASSWORD=abcdef4", "--auth", "--verbose",
        "postgres://me:abcdef5@db/x", "--name", "plain", "sk-abcdefghijklmnop6", "sk-short",
    ];
    let mut secrets = Secrets::default();
    let shown: Vec<_> = secrets
        .args(args.iter().map(|&arg| Text::literal(arg)).collect())
        .iter()
        .map(|arg| arg.shown().to_owned())
        .collect();
    assert_eq!(
        shown,
        [
            "--api-key", "[hidden]", "--token=[hidden]", "-v", "--header",
            "Authorization: Bearer [hidden]", "-e", "DB_PASSWORD=[hidden]", "--auth", "--verbose",
            "postgres://me:[hidden]@db/x", "--name", "plain", "[hidden]", "sk-short",
        ]
    );
    let found = values(secrets);
    assert_eq!(found[0], "sk-abcdefghijklmnop6");
    assert_eq!(found[1..], ["abcdef1", "abcdef2", "abcdef3", "abcdef4", "abcdef5"]);
}

#[test]
fn secrets_are_sorted_by_length_and_limited() {
    let mut secrets = Secrets::default();
    for length in 0..MAX_SECRETS + 20 {
        secrets.add("x", &"s".repeat(length));
        secrets.add("y", &"s".repeat(length));
    }
    let known = secrets.into_known();
    assert_eq!(known.len(), MAX_SECRETS);
    assert_eq!(known[0].value().len(), MAX_SECRETS + 19);
    assert!(known.windows(2).all(|pair| pair[0].value().len() > pair[1].value().len()));
}

#[test]
fn debug_output_of_a_known_secret_is_redacted() {
    let shown = format!("{:?}", KnownSecret::new("TOKEN", "abcdef"));
    assert_eq!(shown, "KnownSecret { label: \"TOKEN\", .. }");
}
