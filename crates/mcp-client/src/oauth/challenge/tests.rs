//! Headers as servers send them, and the laws of reading them.

use proptest::prelude::*;

use super::*;

/// Scheme and parameters of each challenge, on one line.
fn read(header: &str) -> Vec<String> {
    let line = |challenge: &Challenge| {
        let params = challenge.params.iter().map(|(name, value)| format!(" {name}={value:?}"));
        format!("{}{}", challenge.scheme, params.collect::<String>())
    };
    parse(header).iter().map(line).collect()
}

#[test]
fn challenges_of_real_servers_are_parsed() {
    for (header, challenges) in [
        (
            "Bearer resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource\"",
            &[
                "bearer resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource\"",
            ][..],
        ),
        (
            "Bearer error=\"insufficient_scope\", scope=\"files:read files:write\", \
             error_description=\"Additional file write permission required\"",
            &["bearer error=\"insufficient_scope\" scope=\"files:read files:write\" \
               error_description=\"Additional file write permission required\""],
        ),
        ("DPoP algs=\"ES256 PS256\"", &["dpop algs=\"ES256 PS256\""]),
        (
            "Basic realm=\"WallyWorld\", charset=\"UTF-8\"",
            &["basic realm=\"WallyWorld\" charset=\"UTF-8\""],
        ),
        ("Negotiate abc==", &["negotiate"]),
        ("Negotiate", &["negotiate"]),
        ("Negotiate, Basic realm=x", &["negotiate", "basic realm=\"x\""]),
        ("NTLM TlRMTVNTUAAC/+8=, Bearer", &["ntlm", "bearer"]),
        (
            "Basic realm=\"a, b\", Bearer scope=\"x y\", error=invalid_token",
            &["basic realm=\"a, b\"", "bearer scope=\"x y\" error=\"invalid_token\""],
        ),
        (
            "Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"",
            &[
                "newauth realm=\"apps\" type=\"1\" title=\"Login to \\\"apps\\\"\"",
                "basic realm=\"simple\"",
            ],
        ),
        ("bearer REALM = \"x\"", &["bearer realm=\"x\""]),
        ("Bearer", &["bearer"]),
        ("", &[]),
    ] {
        assert_eq!(read(header), challenges, "{header}");
    }
}

#[test]
fn slightly_malformed_challenges_are_parsed() {
    for (header, challenges) in [
        // No comma between parameters.
        ("Bearer realm=\"x\" scope=\"y\"", &["bearer realm=\"x\" scope=\"y\""][..]),
        // An address without quotes.
        (
            "Bearer resource_metadata=https://x/.well-known/a?b=c, scope=d",
            &["bearer resource_metadata=\"https://x/.well-known/a?b=c\" scope=\"d\""],
        ),
        // A scope without quotes: the first word is its value, the second is nothing.
        ("Bearer scope=a b, error=c", &["bearer scope=\"a\" error=\"c\""]),
        // Commas in excess.
        (", ,Bearer ,, realm=\"x\",,", &["bearer realm=\"x\""]),
        // Parameters of nobody.
        ("realm=\"x\", Basic", &["basic"]),
        // A value that is missing, one that is empty.
        ("Bearer realm=, scope=\"\", a=b", &["bearer scope=\"\" a=\"b\""]),
        // Twice: the first one.
        ("Bearer Scope=a, scope=b", &["bearer scope=\"a\""]),
        // Not a scheme at all.
        ("B@d thing, (x), Basic a=b", &["basic a=\"b\""]),
        ("@\"a, b\", Basic", &["basic"]),
        // A string without an end swallows the rest; what was before stays.
        ("Bearer scope=a, realm=\"x, Basic", &["bearer scope=\"a\""]),
        ("Bearer realm=\"x\\", &["bearer"]),
        // Behind a string only a comma or a space makes sense.
        ("Bearer a=\"b\"c, d=e", &["bearer a=\"b\" d=\"e\""]),
        ("Bearer realm=\"Größe\"", &["bearer realm=\"Größe\""]),
        ("é Bearer, Basic", &["basic"]),
    ] {
        assert_eq!(read(header), challenges, "{header}");
    }
}

#[test]
fn parameter_names_are_case_insensitive() {
    let challenges =
        parse("Bearer Resource_Metadata=\"https://x\", resource_metadata=\"https://y\"");
    assert_eq!(challenges[0].scheme(), "bearer");
    assert_eq!(challenges[0].param("RESOURCE_metadata"), Some("https://x"));
    assert_eq!(challenges[0].param("scope"), None);
}

#[test]
fn challenges_and_parameters_are_limited() {
    let many = vec!["Basic"; MAX_CHALLENGES + 1].join(", ");
    assert_eq!(parse(&many).len(), MAX_CHALLENGES);
    let params: Vec<String> = (0..=MAX_PARAMS).map(|n| format!("p{n}=v")).collect();
    let challenges = parse(&format!("Bearer {}, Basic", params.join(", ")));
    assert_eq!(challenges[0].params.len(), MAX_PARAMS);
    assert_eq!(challenges[0].param(&format!("p{}", MAX_PARAMS - 1)), Some("v"));
    assert_eq!(challenges[0].param(&format!("p{MAX_PARAMS}")), None);
    assert_eq!(challenges[1].scheme(), "basic");
}

/// A challenge as it may be written: scheme, and a token68 or parameters with distinct names.
type Written = (String, Option<String>, Vec<(String, String)>);

fn written() -> impl Strategy<Value = Vec<Written>> {
    let scheme = "[A-Za-z][A-Za-z0-9!#$&^_.-]{0,8}";
    let token68 = prop::option::of("[A-Za-z0-9._~+/-]{1,8}={0,2}");
    let params = prop::collection::btree_map("[a-z*_-]{1,6}", "[ -~é\t]{0,10}", 0..5);
    let challenge = (scheme, token68, params).prop_map(|(scheme, token68, params)| {
        let params = if token68.is_some() { Vec::new() } else { params.into_iter().collect() };
        (scheme, token68, params)
    });
    prop::collection::vec(challenge, 0..5)
}

/// Writes challenges with these spaces wherever spaces may stand.
fn render(challenges: &[Written], space: &str) -> String {
    let one = |(scheme, token68, params): &Written| {
        let params = params.iter().map(|(name, value)| {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            format!("{name}{space}={space}\"{value}\"")
        });
        let rest = token68.clone().into_iter().chain(params).collect::<Vec<_>>();
        format!("{scheme} {space}{}{space}", rest.join(&format!("{space},{space}")))
    };
    challenges.iter().map(one).collect::<Vec<_>>().join(&format!(",{space}"))
}

proptest! {
    #[test]
    fn challenges_round_trip_with_any_whitespace(
        challenges in written(),
        space in "[ \t]{0,3}",
    ) {
        let expected: Vec<Challenge> = challenges
            .iter()
            .map(|(scheme, _, params)| Challenge {
                scheme: scheme.to_ascii_lowercase(),
                params: params.clone(),
            })
            .collect();
        prop_assert_eq!(parse(&render(&challenges, &space)), expected);
    }

    #[test]
    fn any_header_is_parsed_into_valid_tokens(header in "([ -~]|[\"\\\\,= \t]|\\PC){0,60}") {
        for challenge in parse(&header) {
            prop_assert!(!challenge.scheme.is_empty() && challenge.scheme.chars().all(is_token));
            for (name, _) in &challenge.params {
                prop_assert!(!name.is_empty() && name.chars().all(is_token));
            }
        }
    }
}
