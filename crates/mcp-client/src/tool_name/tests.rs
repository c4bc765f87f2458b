//! Tests of `tool_name`.

use super::*;
use proptest::prelude::*;

#[test]
fn names_are_prefixed_and_sanitized() {
    for (server, tool, expected) in [
        ("my-api", "list-items.v2", "mcp__my_api__list_items_v2"),
        ("github", "list_issues", "mcp__github__list_issues"),
        ("a b", "ü/x", "mcp__a_b____x"),
        ("s", "", "mcp__s__"),
    ] {
        assert_eq!(registered_name(server, tool), expected);
    }
}

#[test]
fn names_over_64_characters_are_shortened_with_a_hash() {
    let tool = "t".repeat(64 - "mcp__s__".len());
    assert_eq!(registered_name("s", &tool), format!("mcp__s__{tool}"));
    let longer = registered_name("s", &format!("{tool}t"));
    assert_eq!(longer.len(), 64);
    let whole = hex(&Sha256::digest(format!("mcp__s__{tool}t").as_bytes()));
    assert!(longer.ends_with(&format!("t_{}", &whole[..8])), "{longer}");
}

#[test]
fn long_names_with_a_common_prefix_remain_distinct() {
    let long = "x".repeat(100);
    assert_ne!(
        registered_name("s", &format!("{long}1")),
        registered_name("s", &format!("{long}2"))
    );
}

proptest! {
    #[test]
    fn every_name_is_valid_for_model_apis(server in any::<String>(), tool in ".{0,90}") {
        let name = registered_name(&server, &tool);
        prop_assert!((1..=64).contains(&name.len()), "{}", name);
        prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{}", name);
        prop_assert_eq!(name, registered_name(&server, &tool));
    }
}
