//! Every row of the route tables, and the edges between them.

use proptest::prelude::*;

use super::*;
use crate::catalogue::{Domain, Kind};

#[test]
fn length_limits_match_the_catalogue() {
    let longest = |key| {
        let dimensions = Kind::ModelRoute.spec().dimensions;
        dimensions.iter().find(|dimension| dimension.key == key).map(|dimension| dimension.domain)
    };
    assert_eq!(longest("model"), Some(Domain::Identifier { max_chars: MAX_MODEL_CHARS }));
    assert_eq!(longest("provider"), Some(Domain::Identifier { max_chars: MAX_PROVIDER_CHARS }));
    assert!(catalogue::is_identifier(UNKNOWN, MAX_PROVIDER_CHARS));
}

#[test]
fn identifier_is_trimmed_and_lowercased() {
    let rows = [
        (" GPT-4o\n", "gpt-4o"),
        ("Meta-Llama/Llama-3.3", "meta-llama/llama-3.3"),
        ("gpt-oss:120b", "gpt-oss:120b"),
        ("claude@1", "claude@1"),
        ("nova+x", "nova+x"),
        ("4", "4"),
        ("a._:/@+-", "a._:/@+-"),
    ];
    for (raw, name) in rows {
        assert_eq!(identifier(Some(raw), 64).as_deref(), Some(name), "{raw:?}");
    }
}

#[test]
fn invalid_characters_are_rejected() {
    let refused = [
        "", " ", "-gpt", ".gpt", "/gpt", "@gpt", "gpt 4", "gpt\n4", "gpt,4", "gpt*", "größe",
        "模型", "gpt\0", "\u{130}",
    ];
    for raw in refused {
        assert_eq!(identifier(Some(raw), 64), None, "{raw:?}");
    }
    assert_eq!(identifier(None, 64), None);
}

#[test]
fn length_is_checked_after_normalising() {
    let longest = "m".repeat(256);
    assert_eq!(identifier(Some(&longest), 256).as_deref(), Some(longest.as_str()));
    assert_eq!(identifier(Some(&format!("  {longest}  ")), 256).as_deref(), Some(&*longest));
    assert_eq!(identifier(Some(&"m".repeat(257)), 256), None);
    // The Kelvin sign has three bytes; its lower case is the letter k.
    let kelvins = "\u{212a}".repeat(64);
    assert_eq!(identifier(Some(&kelvins), 64).as_deref(), Some(&*"k".repeat(64)));
    assert_eq!(identifier(Some(&"\u{212a}".repeat(65)), 64), None);
    assert_eq!(identifier(Some("m"), 0), None);
    assert_eq!(identifier(Some("m"), usize::MAX).as_deref(), Some("m"));
}

#[test]
fn lowercase_identifier_is_not_copied() {
    assert!(matches!(identifier(Some(" gpt-4o "), 64), Some(Cow::Borrowed("gpt-4o"))));
}

#[test]
fn response_precedes_request_precedes_unknown() {
    assert_eq!(model(Some("Answered"), Some("asked")), "answered");
    assert_eq!(model(Some("not a name"), Some("asked")), "asked");
    assert_eq!(model(Some(""), Some("asked")), "asked");
    assert_eq!(model(None, Some("asked")), "asked");
    assert_eq!(model(Some("answered"), None), "answered");
    assert_eq!(model(Some("?"), Some("!")), "unknown");
    assert_eq!(model(None, None), "unknown");
    assert_eq!(provider(Some("Asked")), "asked");
    for unusable in [None, Some(""), Some("not a name"), Some("?")] {
        assert_eq!(provider(unusable), "unknown");
    }
}

#[test]
fn models_may_be_longer_than_providers() {
    let (at_64, at_65) = ("p".repeat(64), "p".repeat(65));
    let (at_256, at_257) = ("m".repeat(256), "m".repeat(257));
    assert_eq!(provider(Some(&at_64)), at_64);
    assert_eq!(provider(Some(&at_65)), "unknown");
    assert_eq!(model(Some(&at_256), None), at_256);
    assert_eq!(model(Some(&at_257), None), "unknown");
}

#[test]
fn routes_keep_aliases() {
    assert_eq!(provider(Some("lm_studio")), "lm_studio");
    assert_eq!(provider(Some("my-private-host")), "my-private-host");
}

proptest! {
    #[test]
    fn normalising_an_identifier_is_idempotent(
        raw in "[ -~]{0,12}|[A-Za-z0-9._:/@+-]{0,80}|.{0,12}",
        max_chars in 0_usize..80,
    ) {
        if let Some(name) = identifier(Some(&raw), max_chars) {
            prop_assert!(catalogue::is_identifier(&name, max_chars));
            prop_assert_eq!(identifier(Some(&name), max_chars), Some(Cow::Borrowed(&*name)));
        } else {
            prop_assert!(!catalogue::is_identifier(&raw.trim().to_lowercase(), max_chars));
        }
    }
}
