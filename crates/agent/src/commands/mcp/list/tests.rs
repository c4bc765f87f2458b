//! Tests of `watch`.

use super::*;

#[test]
fn reload_summary_lists_the_changes() {
    let done = ReloadReport {
        added: vec!["a".to_owned()],
        restarted: vec!["b".to_owned(), "c".to_owned()],
        ..ReloadReport::default()
    };
    assert_eq!(reloaded_line(&done), "configuration reloaded; added: a; restarted: b, c");
}
