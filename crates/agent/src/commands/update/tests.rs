//! Tests of `version`.

use super::*;

#[test]
fn versions_are_ordered() {
    let order = [
        "0.0.9", "0.1", "0.1.1-alpha", "0.1.1-alpha.1", "0.1.1-alpha.beta", "0.1.1-beta.2",
        "0.1.1-beta.11", "0.1.1-rc.1", "0.1.1", "0.1.10", "0.2", "1", "v1.0.1", "10.0.0",
    ];
    let versions: Vec<Version> = order.iter().map(|text| parse_version(text).unwrap()).collect();
    for (place, one) in versions.iter().enumerate() {
        for (other, two) in versions.iter().enumerate() {
            assert_eq!(one.cmp(two), place.cmp(&other), "{one} {two}");
        }
    }
    assert_eq!(parse_version("1.0"), parse_version("v1.0.0+build.7"));
}

#[test]
fn malformed_versions_are_rejected() {
    let long = format!("1.{}", "9".repeat(30));
    for wrong in ["", "v", "1.", ".1", "one", "1.x", "1..2", "1-", "1-a..b", "+1", "1 2", &long] {
        assert!(parse_version(wrong).is_none(), "{wrong}");
    }
    assert!(parse_version(env!("CARGO_PKG_VERSION")).is_some());
}
