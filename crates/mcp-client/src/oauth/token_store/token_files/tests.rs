//! Tests of `token_files`.

use super::*;

#[test]
fn files_are_assigned_to_their_server() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "docs.json", "docs.client.json", "docs.json.bak", "docs.lock", "docs.v2.meta.json",
        "x~0011.cimd-off", ".docs.json.1.tmp", "README",
    ] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let found: Vec<String> = stems(folder.path()).into_iter().collect();
    assert_eq!(found, ["docs", "docs.v2", "x~0011"]);
    assert_eq!(files(folder.path(), "docs").len(), 3);
    assert!(stems(&folder.path().join("nowhere")).is_empty());
}
