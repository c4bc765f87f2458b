//! Tests of `keys`.

use super::*;

#[test]
fn every_scope_round_trips_through_its_name() {
    for scope in Scope::ALL {
        let word: ScopeWord = serde_json::from_value(scope.as_str().into()).unwrap();
        assert_eq!(known_scopes(&[word]), [scope]);
    }
}

#[test]
fn times_are_parsed_to_the_microsecond() {
    let at = parse_time("1970-01-01T01:00:00.000002+01:00").unwrap();
    assert_eq!(at.micros(), 2);
    assert!(parse_time("tomorrow").is_err() && parse_time("").is_err());
}

#[test]
fn an_empty_patch_changes_nothing() {
    let change = change_of(KeyBody::default()).unwrap();
    assert_eq!(change, KeyChange::default());
}
