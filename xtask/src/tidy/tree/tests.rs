//! Tests of `tree`.

use super::*;

#[test]
fn only_files_and_their_folders_exist() {
    let tree = Tree::of(&[("crates/agent/src/main.rs", ""), ("crates/agent-x", "")]);
    for path in ["", "crates", "crates/agent", "crates/agent/src/main.rs", "crates/agent-x"] {
        assert!(tree.has(path), "{path}");
    }
    for path in ["crate", "crates/age", "crates/agent/src/main.rs/x", "docs"] {
        assert!(!tree.has(path), "{path}");
    }
}

#[test]
fn file_with_nul_byte_is_binary() {
    let tree = Tree::of(&[("a", "text"), ("b", "\0")]);
    assert_eq!(tree.text("a"), Some("text"));
    assert_eq!(tree.text("b"), None);
    assert_eq!(tree.texts().count(), 1);
}

#[test]
fn tree_has_tracked_and_new_files() {
    let root = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        process::capture(Command::new("git").current_dir(root.path()).args(arguments)).unwrap()
    };
    git(&["init", "--quiet"]);
    for (path, text) in
        [(".gitignore", "/made"), ("made", ""), ("new.rs", ""), ("known.rs", ""), ("gone", "")]
    {
        fs::write(root.path().join(path), text).unwrap();
    }
    git(&["add", "known.rs", "gone"]);
    fs::remove_file(root.path().join("gone")).unwrap();
    let tree = Tree::load(root.path()).unwrap();
    let paths: Vec<&str> = tree.files().map(|(path, _)| path).collect();
    assert_eq!(paths, [".gitignore", "known.rs", "new.rs"]);
}
