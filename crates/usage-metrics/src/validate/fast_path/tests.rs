//! Tests of `fast_path`.

use super::*;
use crate::catalogue::{Domain, KINDS, NAMES};
use crate::validate::short_text::ENTRY_KEYS;

#[test]
fn every_text_fits_its_fixed_words() {
    let longest = |texts: &[&str]| texts.iter().map(|text| text.len() + 1).max().unwrap();
    assert!(longest(ENTRY_KEYS) <= FIELD_WORDS * 8);
    assert!(longest(NAMES) <= NAME_WORDS * 8);
    for dimension in KINDS.iter().flat_map(|spec| spec.dimensions) {
        if let Domain::Listed(texts) = dimension.domain {
            assert!(longest(texts) <= VALUE_WORDS * 8, "{}", dimension.key);
        }
    }
}

#[test]
fn padding_never_matches_text() {
    let entry = |value: &str| {
        format!(
            "{{\"dimensions\":{{\"attribution\":\"tool_call\",\"outcome\":\"{value}\"}},\
                 \"name\":\"agent.tool_approval.count\",\"type\":\"counter\",\"value\":1}}{}",
            " ".repeat(40)
        )
    };
    assert!(super::entry(entry("denied").as_bytes(), 0).is_some());
    for other in ["denied\0", "denied\0\0", "denie", "deniedd", "", "\\u0064enied"] {
        assert_eq!(super::entry(entry(other).as_bytes(), 0), None, "{other:?}");
    }
}
