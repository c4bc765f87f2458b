//! Tests of `keys`.

use super::*;

#[test]
fn every_scope_has_a_name() {
    for scope in Scope::ALL {
        let word: ScopeWord = serde_json::from_value(scope.as_str().into()).unwrap();
        assert_eq!(known(&[word]), [scope]);
    }
}

#[test]
fn moments_are_read_to_the_microsecond() {
    let at = parse_time("1970-01-01T01:00:00.000002+01:00").unwrap();
    assert_eq!(at.micros(), 2);
    assert!(parse_time("tomorrow").is_err() && parse_time("").is_err());
}

#[test]
fn a_change_of_nothing_is_none() {
    let change = change_of(KeyBody::default()).unwrap();
    assert_eq!(change, KeyChange::default());
}
