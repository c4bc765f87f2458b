//! Tests of `folder`.

use super::*;

fn skill() -> (tempfile::TempDir, Folder) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a");
    fs::create_dir_all(path.join("more")).unwrap();
    fs::write(path.join(SKILL_FILE), "---\nname: a\ndescription: x\n---\nDo it.\n").unwrap();
    fs::write(path.join("more/table.txt"), "1\n").unwrap();
    fs::write(home.path().join("secret"), "secret\n").unwrap();
    let folder = Folder::open(&path, None).unwrap();
    (home, folder)
}

#[test]
fn files_are_read_by_relative_path() {
    let (_home, folder) = skill();
    assert_eq!(folder.files(), ["more/table.txt"]);
    assert_eq!(folder.text("more/table.txt").unwrap(), "1\n");
    assert_eq!(folder.text("./more/table.txt").unwrap(), "1\n");
    assert_eq!(folder.document().unwrap().body, "Do it.");
}

#[test]
fn paths_outside_the_folder_are_rejected() {
    let (home, folder) = skill();
    let absolute = home.path().join("secret").display().to_string();
    let long = "a".repeat(MAX_PATH_BYTES + 1);
    let bad = ["", "..", "../secret", "more/../../secret", "/etc/passwd", &absolute, "a\0b", &long];
    for bad in bad {
        assert!(folder.text(bad).unwrap_err().what.contains("not a path inside"), "{bad}");
    }
    assert!(folder.text("more").unwrap_err().what.contains("not a file"));
    assert!(folder.text("none").unwrap_err().what.contains("file not found"));
}

#[test]
fn outward_links_and_pipes_are_rejected() {
    use std::os::unix::fs::symlink;
    let (home, folder) = skill();
    symlink(home.path().join("secret"), folder.path().join("out")).unwrap();
    symlink(home.path(), folder.path().join("up")).unwrap();
    symlink("more/table.txt", folder.path().join("within")).unwrap();
    fs::write(folder.path().join("a\nb"), "x").unwrap();
    for out in ["out", "up/secret"] {
        assert!(folder.text(out).unwrap_err().what.contains("to a place outside"), "{out}");
    }
    assert_eq!(folder.text("within").unwrap(), "1\n");
    assert_eq!(folder.files(), ["more/table.txt"], "links are not listed");
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status();
    assert!(made.unwrap().success());
    assert!(folder.text("pipe").unwrap_err().what.contains("not a file"));
    folder.digests();
    fs::remove_file(folder.path().join(SKILL_FILE)).unwrap();
    symlink(home.path().join("secret"), folder.path().join(SKILL_FILE)).unwrap();
    assert!(folder.document().unwrap_err().what.contains("to a place outside"));
}

#[test]
fn oversized_and_non_utf8_files_are_rejected() {
    let (_home, folder) = skill();
    let most = usize::try_from(MAX_FILE_BYTES).unwrap();
    let path = folder.path().join("big");
    fs::write(&path, "x".repeat(most)).unwrap();
    assert_eq!(folder.text("big").unwrap().len(), most);
    fs::write(&path, "x".repeat(most + 1)).unwrap();
    assert_eq!(folder.text("big").unwrap_err().what, "larger than 256 KiB");
    fs::write(&path, b"fine\nb\xffd\n").unwrap();
    assert_eq!(folder.text("big").unwrap_err(), SkillFlaw::at(2, "this line is not UTF-8"));
    fs::write(&path, b"a\0b").unwrap();
    assert_eq!(folder.text("big").unwrap_err().what, "not a text file");
}

#[test]
fn the_number_of_files_is_limited() {
    let (_home, folder) = skill();
    for number in 0..MAX_FILES {
        fs::write(folder.path().join(format!("f{number:04}")), "").unwrap();
    }
    assert_eq!(folder.files().len(), MAX_FILES - 1, "and SKILL.md");
}

#[test]
fn files_beyond_the_limit_are_digested_by_size_only() {
    let (_home, folder) = skill();
    let big = usize::try_from(MAX_DIGEST_BYTES).unwrap();
    let write = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).unwrap();
    write("a", &vec![b'a'; big]);
    write("b", b"1");
    let before = folder.digests();
    write("b", b"2");
    assert_eq!(folder.digests(), before);
    write("b", b"22");
    assert_ne!(folder.digests(), before);
}

#[test]
fn instructions_and_files_have_separate_digests() {
    let (_home, folder) = skill();
    let before = folder.digests();
    assert_eq!(folder.digests(), before);
    fs::write(folder.path().join("more/table.txt"), "2\n").unwrap();
    let after = folder.digests();
    assert_eq!(after.skill, before.skill);
    assert_ne!(after.files, before.files);
    fs::write(folder.path().join(SKILL_FILE), "other").unwrap();
    assert_ne!(folder.digests().skill, before.skill);
    assert_eq!(folder.digests().files, after.files);
}
