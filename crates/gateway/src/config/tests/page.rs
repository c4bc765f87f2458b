//! The reference page.

use std::path::Path;

use super::*;

#[test]
fn the_committed_page_matches_the_table() {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gateway-config.md");
    let text = std::fs::read_to_string(&committed).unwrap_or_default();
    if text != reference() {
        let made = std::env::temp_dir().join("gateway-config.md");
        std::fs::write(&made, reference()).unwrap();
        panic!("out of date: run `cp {} docs/gateway-config.md`", made.display());
    }
}
