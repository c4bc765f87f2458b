//! Every code, every boundary, and the laws of reading and making links.

use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;
use serde_json::json;

use super::*;

const SMALL: &str = r#"{"command":"npx"}"#;

/// A link with this text as its configuration.
fn link_of(text: impl AsRef<[u8]>) -> String {
    format!("agent://mcp/install?name=files&config={}", URL_SAFE_NO_PAD.encode(text))
}

fn code(link: &str) -> &'static str {
    parse(link).map_or_else(|error| error.code(), |_| "fine")
}

fn config(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(config) => config,
        other => panic!("{other} is no object"),
    }
}

/// A configuration of exactly so many bytes.
fn sized(bytes: usize) -> String {
    let frame = r#"{"command":""}"#.len();
    format!(r#"{{"command":"{}"}}"#, "c".repeat(bytes - frame))
}

#[test]
fn a_link_contains_name_and_entry() {
    let text = r#"{"url":"https://example.com/mcp","headers":{"X-Team":"red"}}"#;
    let read = parse(&link_of(text)).unwrap();
    assert_eq!(read.name, "files");
    let entry = json!({"url": "https://example.com/mcp", "headers": {"X-Team": "red"}});
    assert_eq!(read.config, config(entry));
}

#[test]
fn other_urls_are_not_install_links() {
    let encoded = URL_SAFE_NO_PAD.encode(SMALL);
    let rest = format!("?name=files&config={encoded}");
    for (place, expected) in [
        ("agent://mcp/install", "fine"),
        ("AGENT://MCP/install", "fine"),
        ("agent://mcp/install/", "fine"),
        ("  agent://mcp/install", "fine"),
        ("agent://mcp/INSTALL", "not_a_link"),
        ("agent://mcp/install/x", "not_a_link"),
        ("agent://mcp/install//", "not_a_link"),
        ("agent://mcp", "not_a_link"),
        ("agent://mcp/", "not_a_link"),
        ("agent://other/install", "not_a_link"),
        ("agent:mcp/install", "not_a_link"),
        ("agent:///mcp/install", "not_a_link"),
        ("https://mcp/install", "not_a_link"),
        ("", "not_a_link"),
    ] {
        assert_eq!(code(&format!("{place}{rest}")), expected, "{place}");
    }
    assert_eq!(code(&format!("agent://mcp/install{rest}#part")), "fine");
    assert_eq!(code(&format!("agent://mcp/install#{rest}")), "invalid_name");
    assert_eq!(code("agent://mcp/install"), "invalid_name");
}

#[test]
fn names_have_1_to_64_plain_characters_and_occur_once() {
    let encoded = URL_SAFE_NO_PAD.encode(SMALL);
    let (longest, too_long) = ("n".repeat(64), "n".repeat(65));
    for (names, expected) in [
        ("name=n", "fine"),
        (&format!("name={longest}"), "fine"),
        (&format!("name={too_long}"), "invalid_name"),
        ("name=", "invalid_name"),
        ("title=n", "invalid_name"),
        ("Name=n", "invalid_name"),
        ("name=a.b_c-D9", "fine"),
        ("name=%61", "fine"),
        ("n%61me=a", "fine"),
        ("name=a%00", "invalid_name"),
        ("name=a%20b", "invalid_name"),
        ("name=a+b", "invalid_name"),
        ("name=a%2Fb", "invalid_name"),
        ("name=%FF", "invalid_name"),
        ("name=%C3%A9", "invalid_name"),
        ("name=a&name=b", "invalid_name"),
        ("name=a&name=a", "invalid_name"),
        ("name=a&ref=b&ref=c", "fine"),
    ] {
        let link = format!("agent://mcp/install?{names}&config={encoded}");
        assert_eq!(code(&link), expected, "{names}");
        let link = format!("agent://mcp/install?config={encoded}&{names}");
        assert_eq!(code(&link), expected, "{names}");
    }
}

#[test]
fn the_first_failed_check_determines_the_error_code() {
    let large = "A".repeat(MAX_ENCODED_CHARS + 1);
    for (query, expected) in [
        (String::new(), "invalid_name"),
        (format!("config={large}"), "invalid_name"),
        ("name=n".to_owned(), "missing_config"),
        ("name=n&config=".to_owned(), "missing_config"),
        ("name=n&config=%20%0A".to_owned(), "missing_config"),
        (format!("name=n&config=!{large}"), "payload_too_large"),
        (format!("name=n&config={large}&config=x"), "payload_too_large"),
        ("name=n&config=e30&config=e30".to_owned(), "bad_encoding"),
        ("name=n&config=e30".to_owned(), "invalid_shape"),
    ] {
        assert_eq!(code(&format!("agent://mcp/install?{query}")), expected, "{query:.60}");
    }
}

#[test]
fn configurations_are_limited_to_32768_bytes() {
    let full = sized(MAX_CONFIG_BYTES);
    let over = sized(MAX_CONFIG_BYTES + 1);
    for encoded in [URL_SAFE_NO_PAD.encode(&full), URL_SAFE.encode(&full), STANDARD.encode(&full)] {
        assert_eq!(code(&format!("agent://mcp/install?name=n&config={encoded}")), "fine");
        // Broken into lines, as many encoders do.
        let lines: Vec<&str> =
            encoded.as_bytes().chunks(76).map(|line| str::from_utf8(line).unwrap()).collect();
        let encoded = lines.join("%0D%0A");
        assert_eq!(code(&format!("agent://mcp/install?name=n&config={encoded}")), "fine");
    }
    assert_eq!(code(&link_of(&over)), "payload_too_large");
    // The length that is refused undecoded is beyond all that fits.
    assert!(STANDARD.encode(&full).len() <= MAX_ENCODED_CHARS);
    let undecoded = "!".repeat(MAX_ENCODED_CHARS);
    assert_eq!(code(&format!("agent://mcp/install?name=n&config={undecoded}")), "bad_encoding");
    let undecoded = "!".repeat(MAX_ENCODED_CHARS + 1);
    assert_eq!(
        code(&format!("agent://mcp/install?name=n&config={undecoded}")),
        "payload_too_large"
    );
}

#[test]
fn both_base64_alphabets_are_accepted_with_or_without_padding() {
    // Its encoding needs a `+`, a `/` and padding.
    let text = r#"{"command":"~/a ~~>???>","args":["ÿþ"]}"#;
    let standard = STANDARD.encode(text);
    assert!(standard.contains('+') && standard.contains('/') && standard.ends_with('='));
    let expected = parse(&link_of(text)).unwrap();
    let escaped = standard.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    for encoded in [
        standard.clone(),
        standard.trim_end_matches('=').to_owned(),
        URL_SAFE.encode(text),
        escaped,
        // Read as a form on the way: the plus signs became spaces.
        standard.replace('+', " "),
        standard.replace('+', "%20"),
        // Line breaks of an encoder beside plus signs.
        format!("{}\n{}", &standard[..8], &standard[8..]),
        format!(" {}%09{} ", &standard[..8], &standard[8..]),
    ] {
        let link = format!("agent://mcp/install?name=files&config={encoded}");
        assert_eq!(parse(&link), Ok(expected.clone()), "{encoded}");
    }
}

#[test]
fn invalid_base64_or_json_is_an_encoding_error() {
    let raw = |encoded: &str| format!("agent://mcp/install?name=n&config={encoded}");
    let deep = |levels: usize| {
        format!(r#"{{"command":"c","x":{}{}}}"#, "[".repeat(levels), "]".repeat(levels))
    };
    for (link, garbled) in [
        (raw("e3"), EncodingError::Base64),
        (raw("e30=="), EncodingError::Base64),
        (raw("e30%FF"), EncodingError::Base64),
        (raw("e!30"), EncodingError::Base64),
        (raw("e"), EncodingError::Base64),
        (raw("%7B%22command%22%3A%22x%22%7D"), EncodingError::Base64),
        (link_of(b"{\"command\":\"\xff\"}"), EncodingError::Utf8),
        (link_of(b"\xed\xa0\x80"), EncodingError::Utf8),
        (link_of(""), EncodingError::Json),
        (link_of("{"), EncodingError::Json),
        (link_of("{\"command\":\"a\"} x"), EncodingError::Json),
        (link_of("{'command':'a'}"), EncodingError::Json),
        (link_of("{\"command\":\"a\",}"), EncodingError::Json),
        (link_of("{\"command\":\"a\0\"}"), EncodingError::Json),
        (link_of("\u{feff}{\"command\":\"a\"}"), EncodingError::Json),
        (link_of("{\"command\":\"\\ud800\"}"), EncodingError::Json),
        (link_of("{\"command\":\"a\",\"timeout\":1e999}"), EncodingError::Json),
        (link_of("{\"command\":\"a\",\"timeout\":NaN}"), EncodingError::Json),
        (link_of(deep(200)), EncodingError::Json),
        (link_of(deep(16_000)), EncodingError::Json),
        (link_of(r#"{"command":"a","command":"b"}"#), EncodingError::KeyTwice),
        (link_of(r#"{"command":"a","env":{"A":"1","\u0041":"1"}}"#), EncodingError::KeyTwice),
    ] {
        // No text at all is no configuration.
        let expected = match garbled {
            EncodingError::Json if link.ends_with("config=") => LinkError::MissingConfig,
            garbled => LinkError::BadEncoding(garbled),
        };
        assert_eq!(parse(&link), Err(expected), "{link:.90}");
    }
    assert_eq!(code(&link_of(deep(100))), "fine");
}

#[test]
fn non_object_json_is_rejected() {
    for text in ["null", "[]", "1", "\"{}\"", "true", "[{\"command\":\"a\"}]"] {
        assert_eq!(code(&link_of(text)), "not_an_object", "{text}");
    }
}

#[test]
fn an_entry_has_either_a_url_or_a_command() {
    for (entry, shape) in [
        (json!({}), ShapeError::Neither),
        (json!({"name": "x"}), ShapeError::Neither),
        (json!({"URL": "https://x"}), ShapeError::Neither),
        (json!({"url": "https://x", "command": "a"}), ShapeError::Both),
        (json!({"url": "https://x", "command": null}), ShapeError::Both),
        (json!({"url": null, "command": "a"}), ShapeError::Both),
        (json!({"url": 1}), ShapeError::Url),
        (json!({"url": ["https://x"]}), ShapeError::Url),
        (json!({"command": ["npx"]}), ShapeError::Command),
        (json!({"command": null}), ShapeError::Command),
        (json!({"command": ""}), ShapeError::Command),
        (json!({"command": " \t"}), ShapeError::Command),
        (json!({"command": "a\u{0}b"}), ShapeError::Command),
    ] {
        let expected = LinkError::InvalidShape(shape);
        assert_eq!(parse(&link_of(entry.to_string())), Err(expected), "{entry}");
    }
}

#[test]
fn a_url_is_http_or_https_with_a_host() {
    for (url, expected) in [
        ("https://example.com/mcp", "fine"),
        ("HTTP://example.com", "fine"),
        (" https://example.com/mcp ", "fine"),
        ("http://[::1]:8080/", "fine"),
        ("https://${HOST}:${PORT}/${PATH}?key=${KEY}", "fine"),
        ("", "invalid_url"),
        ("${URL}", "invalid_url"),
        ("${SCHEME}://x", "invalid_url"),
        ("example.com/mcp", "invalid_url"),
        ("/mcp", "invalid_url"),
        ("https://", "invalid_url"),
        ("https://:80/", "invalid_url"),
        ("https:///mcp", "invalid_url"),
        ("ftp://example.com", "invalid_url"),
        ("file:///etc/passwd", "invalid_url"),
        ("javascript:alert(1)", "invalid_url"),
        ("agent://mcp/install", "invalid_url"),
        ("https://exa mple.com", "invalid_url"),
        ("https://example.com/\n", "fine"),
        ("https://example.com/\nx", "invalid_url"),
        ("https://x/\u{0}", "invalid_url"),
    ] {
        assert_eq!(code(&link_of(json!({"url": url}).to_string())), expected, "{url:?}");
    }
}

#[test]
fn errors_name_the_allowed_values() {
    let told = |link: &str| parse(link).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            told("x"),
            told("agent://mcp/install"),
            told("agent://mcp/install?name=n"),
            told(&link_of(sized(MAX_CONFIG_BYTES + 1))),
            told("agent://mcp/install?name=n&config=!"),
            told(&link_of("[]")),
            told(&link_of("{}")),
            told(&link_of(r#"{"url":"ftp://x"}"#)),
        ]
        .join("\n"),
        @r"
    not an install link; expected `agent://mcp/install?name=NAME&config=CONFIG`
    `name` must be set exactly once, to 1 to 64 letters, digits, dots, underscores and hyphens
    `config` is missing; it must be the server entry, a JSON object in base64url
    `config` is too large: the limit is 32768 bytes after decoding
    cannot decode `config`: it must be base64url or base64
    `config` must be a JSON object with the server entry
    `config` is not a valid server entry: it needs a `url` or a `command`
    `url` must be an http or https URL with a host: its scheme is not http or https
    "
    );
}

#[test]
fn only_parsable_links_are_created() {
    let small = config(json!({"command": "npx", "args": ["~/a?b>"]}));
    let link = build("files", &small).unwrap();
    assert_eq!(parse(&link), Ok(InstallLink { name: "files".into(), config: small.clone() }));
    assert!(!link.contains(['+', ' ', '%']) && link.matches('=').count() == 2, "{link}");
    assert_eq!(build("a b", &small), Err(LinkError::InvalidName));
    assert_eq!(build("", &small), Err(LinkError::InvalidName));
    let shape = LinkError::InvalidShape(ShapeError::Neither);
    assert_eq!(build("a", &Map::new()), Err(shape));
    let code = |value| build("a", &config(value)).unwrap_err().code();
    assert_eq!(code(json!({"url": "${URL}"})), "invalid_url");
    assert_eq!(code(json!({"command": "c".repeat(MAX_CONFIG_BYTES)})), "payload_too_large");
    let deep = (0..150).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(code(json!({"command": "c", "x": deep})), "bad_encoding");
    let full = config(serde_json::from_str(&sized(MAX_CONFIG_BYTES)).unwrap());
    assert_eq!(parse(&build("a", &full).unwrap()).unwrap().config, full);
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // Quarters: what every reader of numbers reads exactly.
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 4.0)),
        "(\\PC|[\0\n\t\"\\\\~>?]){0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn links_round_trip(
        name in "[A-Za-z0-9._-]{1,64}",
        is_remote: bool,
        rest in prop::collection::btree_map("[a-z_]{1,9}", any_value(), 0..5),
    ) {
        let mut config: Map<String, Value> = rest.into_iter().collect();
        config.remove(if is_remote { "command" } else { "url" });
        let (key, value) =
            if is_remote { ("url", "https://x/~~?a=~") } else { ("command", "~>~>?") };
        config.insert(key.to_owned(), value.into());
        let link = build(&name, &config).unwrap();
        prop_assert_eq!(parse(&link), Ok(InstallLink { name, config }));
    }

    #[test]
    fn any_text_is_parsed_without_panic(
        text in "(agent://mcp/install\\?)?(name=a&config=|[ -~]|[%&=+]|\\PC){0,40}",
        payload in "[{}\\[\\]\":,a-z0-9 \\\\]{0,40}",
    ) {
        let _ = parse(&text);
        let _ = parse(&link_of(payload));
    }
}
