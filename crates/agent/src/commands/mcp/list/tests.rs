//! Tests of `watch`.

use super::*;

#[test]
fn a_reload_names_what_it_did() {
    let done = ReloadReport {
        added: vec!["a".to_owned()],
        restarted: vec!["b".to_owned(), "c".to_owned()],
        ..ReloadReport::default()
    };
    assert_eq!(reloaded_line(&done), "configuration reloaded; added: a; restarted: b, c");
}
