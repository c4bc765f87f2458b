//! Laws that hold for any text.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

/// A value that nothing else in a configuration looks like.
const SECRET: &str = "q7Zs-resolved-value";

/// Text that looks like configurations do, in pieces.
fn yaml_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("mcp_servers:\n".to_owned()),
        Just("  s:\n".to_owned()),
        Just("    ".to_owned()),
        Just(": ".to_owned()),
        Just("- ".to_owned()),
        Just("\n".to_owned()),
        Just("${".to_owned()),
        Just("}".to_owned()),
        Just("&a ".to_owned()),
        Just("*a".to_owned()),
        Just("<<: ".to_owned()),
        prop::sample::select(all_names()).prop_map(|name| format!("    {name}: ")),
        prop::sample::select(vec![
            "[", "]", "{", "}", "'", "\"", "|", ">", "#", "!!int ", "~", "1e999"
        ])
        .prop_map(str::to_owned),
        "\\PC{0,8}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn all_names() -> Vec<String> {
    let sections = schema().sections();
    sections.into_iter().flat_map(|section| section.keys).map(|key| key.name).collect()
}

fn scalar() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i32>().prop_map(Json::from),
        (0.0..1000.0_f64).prop_map(Json::from),
        prop::sample::select(vec![
            "oauth",
            "sse",
            "auto",
            "full",
            "a b",
            "[\"x\"]",
            "~/x",
            "${TOKEN}",
            "x-${TOKEN}",
            "https://h/${TOKEN}?api_key=${TOKEN}",
            "--token=${TOKEN}",
            " ${TOKEN}",
            "${UNSET}",
            "12",
            "yes",
            "",
        ])
        .prop_map(Json::from),
        "[ -~äß\\n]{0,12}".prop_map(Json::from),
    ]
}

fn value() -> impl Strategy<Value = Json> {
    scalar().prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::hash_map(name(), inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(all_names()),
        1 => "[A-Za-z-]{1,8}",
    ]
}

/// An entry with any value under any key, one way or the other reachable.
fn any_entry() -> impl Strategy<Value = Json> {
    (prop::collection::hash_map(name(), value(), 0..6), any::<bool>()).prop_map(|(keys, local)| {
        let mut keys: serde_json::Map<_, _> = keys.into_iter().collect();
        let (key, value) = if local { ("command", "run") } else { ("url", "http://h/") };
        keys.entry(key).or_insert_with(|| value.into());
        Json::Object(keys)
    })
}

fn secret_scope() -> Scope {
    let mut scope = scope();
    scope.secrets.insert("TOKEN".into(), SECRET.into());
    scope
}

/// Everything about a configuration that somebody may see.
fn shown(parsed: &Parsed) -> String {
    let problems: Vec<_> = parsed.problems.iter().map(ToString::to_string).collect();
    format!("{parsed:?} {}", problems.join("\n"))
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        parse(&String::from_utf8_lossy(&bytes), &scope());
    }

    #[test]
    fn yaml_like_text_is_parsed_without_panic(text in yaml_like()) {
        let parsed = parse(&text, &secret_scope());
        prop_assert!(!shown(&parsed).contains(SECRET));
        prop_assert!(parsed.problems.is_sorted_by_key(|problem| problem.line));
    }

    #[test]
    fn resolved_values_are_never_shown(entry in any_entry()) {
        let text = json!({"mcp_servers": {"s": entry}}).to_string();
        let parsed = parse(&text, &secret_scope());
        prop_assert!(!shown(&parsed).contains(SECRET), "{}", shown(&parsed));
        for server in &parsed.servers {
            for secret in &server.secrets {
                prop_assert!(secret.value().chars().count() >= 4);
            }
        }
    }

    #[test]
    fn json_and_yaml_entries_parse_equally(entry in any_entry()) {
        let text = json!({"mcp_servers": {"s": entry}}).to_string();
        let mut parsed = parse(&text, &scope());
        match parse_entry("s", &entry, &scope()) {
            Ok((configured, problems)) => {
                prop_assert_eq!(problems.len(), parsed.problems.len());
                let read = parsed.servers.remove(0);
                prop_assert_eq!(read.entry, configured.entry);
                prop_assert_eq!(read.secrets, configured.secrets);
            }
            Err(problems) => {
                prop_assert!(problems.iter().any(Problem::is_error));
                prop_assert_eq!(parsed.servers.len(), 0);
                prop_assert_eq!(problems.len(), parsed.problems.len());
            }
        }
    }
}

#[test]
fn json_entries_have_no_position() {
    let (configured, problems) =
        parse_entry("s", &json!({"command": "x", "comand": 1}), &scope()).unwrap();
    assert_eq!(configured.line, 0);
    assert_eq!(
        problems[0].to_string(),
        "s: comand: is not a known key and is ignored (did you mean `command`?)"
    );
    let problems = parse_entry("s", &json!([1]), &scope()).unwrap_err();
    assert_eq!(problems[0].message, "a server entry must be a mapping, found a list");
}
