//! Tests of `dist`.

use super::file_tree::{FileTree, gzip};
use super::*;

fn parse(line: &str) -> Result<Options> {
    let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    Options::parse(&arguments)
}

fn tree(paths: &[&str]) -> FileTree {
    let mut tree = FileTree::default();
    for path in paths {
        tree.program(*path, path.as_bytes());
    }
    tree.folder("data", 0o700, 65532);
    tree
}

#[test]
fn options_are_parsed() {
    let options = parse("--check --binary a --key b --allow-dirty").unwrap();
    assert!(options.check && options.allow_dirty);
    assert_eq!(options.binary.unwrap(), std::path::absolute("a").unwrap());
    assert_eq!(options.key.unwrap(), std::path::absolute("b").unwrap());
    for wrong in ["--binary", "--sign", "everything"] {
        assert_eq!(parse(wrong).unwrap_err().exit_code(), 2, "{wrong}");
    }
}

#[test]
fn archives_do_not_depend_on_the_order_of_insertion() {
    let (one, other) = (tree(&["b", "a/c"]), tree(&["a/c", "b"]));
    let tar = one.tar(1_000_000).unwrap();
    assert_eq!(tar, other.tar(1_000_000).unwrap());
    assert_eq!(gzip(&tar).unwrap(), gzip(&tar).unwrap());
    assert_eq!(wheel::zip(&one).unwrap(), wheel::zip(&other).unwrap());
}

#[test]
fn folders_of_the_build_machine_are_replaced() {
    let flags = release::path_flags("/home/me/src".as_ref(), Some("/home/me/.cargo".as_ref()));
    let expected = "--remap-path-prefix=/home/me/src=/agent\x1f\
                    --remap-path-prefix=/home/me/.cargo=/cargo";
    assert_eq!(flags, expected);
}

#[test]
fn tar_has_fixed_owners_modes_and_times() {
    let bytes = tree(&["a/b"]).tar(1_000_000).unwrap();
    let mut archive = tar::Archive::new(bytes.as_slice());
    let entries: Vec<(String, u32, u64, u64)> = archive
        .entries()
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            let path = entry.path().unwrap().to_string_lossy().into_owned();
            (path, header.mode().unwrap(), header.uid().unwrap(), header.mtime().unwrap())
        })
        .collect();
    let expected =
        [("a/b".to_owned(), 0o755, 0, 1_000_000), ("data".to_owned(), 0o700, 65532, 1_000_000)];
    assert_eq!(entries, expected);
}

#[test]
fn sum_of_abc_is_the_published_one() {
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(sha256(b"abc"), expected);
}
