//! Tests of `known_models`.

use super::*;

#[test]
fn every_model_has_a_name_and_a_digest() {
    for known in KNOWN {
        assert!(Name::parse(known.name).is_some(), "{}", known.name);
        assert!(known.sha256().is_some(), "{}", known.name);
    }
}
