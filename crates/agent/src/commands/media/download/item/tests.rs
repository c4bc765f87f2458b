//! Tests of `item`.

use super::*;

#[test]
fn ids_have_a_known_prefix_and_are_not_paths() {
    assert_eq!(read("run_12").unwrap(), Id::Run("run_12".to_owned()));
    assert_eq!(read("art_12").unwrap(), Id::Artifact("art_12".to_owned()));
    for wrong in ["", "12", "run_", "run_/etc", "art_..%2f", "run_a b", "../run_1", "run_\0"] {
        assert!(read(wrong).is_err(), "{wrong:?}");
    }
}
