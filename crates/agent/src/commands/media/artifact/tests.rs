//! Tests of `artifact`.

use super::*;

#[test]
fn further_files_are_numbered() {
    let names = |path: &str| {
        let name = |number| numbered(Path::new(path), number).display().to_string();
        [name(0), name(1), name(2)]
    };
    assert_eq!(names("x/a.b.png"), ["x/a.b.png", "x/a.b-2.png", "x/a.b-3.png"]);
    assert_eq!(names("a"), ["a", "a-2", "a-3"]);
    assert_eq!(names(".hidden"), [".hidden", ".hidden-2", ".hidden-3"]);
}

#[test]
fn files_are_replaced_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.png");
    write(&path, b"one", OnConflict::Keep).unwrap();
    assert!(check(&path, OnConflict::Keep).is_err());
    assert!(write(&path, b"two", OnConflict::Keep).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"one");
    check(&path, OnConflict::Replace).unwrap();
    write(&path, b"two", OnConflict::Replace).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"two");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    assert!(check(folder.path(), OnConflict::Replace).is_err());
    assert!(check(&folder.path().join("no/a"), OnConflict::Keep).is_err());
}
