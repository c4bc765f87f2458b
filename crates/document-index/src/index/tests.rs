//! Tests of `folder`.

use super::*;

#[test]
fn one_writer_at_a_time_replaces_the_file() {
    let root = tempfile::tempdir().unwrap();
    let folder = Folder::new(root.path().join("deep/index"));
    assert_eq!(folder.current(), None);
    let lock = folder.lock().unwrap().unwrap();
    assert!(folder.lock().unwrap().is_none());
    let first = folder.replace(&lock).unwrap();
    assert_eq!(folder.current(), None);
    fs::write(&first, "").unwrap();
    assert_eq!(folder.current(), Some(first.clone()));
    let second = folder.replace(&lock).unwrap();
    assert_eq!(folder.current(), None);
    fs::write(&second, "").unwrap();
    assert!(!first.exists() && folder.current() == Some(second));
    drop(lock);
    assert!(folder.lock().unwrap().is_some());
}
