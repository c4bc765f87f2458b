//! Tests of `key_secret`.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn a_missing_secret_is_created_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/gateway.secret");
    let secret = KeySecret::File(path.clone());
    let first = load(&secret).unwrap().fingerprint();
    assert_eq!(load(&secret).unwrap().fingerprint(), first);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_damaged_secret_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gateway.secret");
    fs::write(&path, "short").unwrap();
    let problem = load(&KeySecret::File(path)).unwrap_err();
    assert!(problem.message.contains("it is too short"), "{problem}");
}
