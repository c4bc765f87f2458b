//! Tests of `item`.

use super::*;

#[test]
fn an_id_says_what_it_is_and_is_no_path() {
    assert_eq!(read("run_12").unwrap(), Id::Run("run_12".to_owned()));
    assert_eq!(read("art_12").unwrap(), Id::Artifact("art_12".to_owned()));
    for wrong in ["", "12", "run_", "run_/etc", "art_..%2f", "run_a b", "../run_1", "run_\0"] {
        assert!(read(wrong).is_err(), "{wrong:?}");
    }
}
