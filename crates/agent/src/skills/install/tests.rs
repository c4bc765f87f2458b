//! What can be installed, what cannot, and what stays when it fails.

use super::*;

struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self { folder: tempfile::tempdir().unwrap() };
        fixture.write("SKILL.md", "---\nname: a\ndescription: x\n---\nDo it.\n");
        fixture
    }

    fn source(&self) -> PathBuf {
        self.folder.path().join("source")
    }

    fn shelf(&self) -> PathBuf {
        self.folder.path().join("skills")
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.source().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn plan(&self) -> Result<InstallPlan> {
        InstallPlan::of(&self.source(), None)
    }

    fn refused(&self) -> String {
        let diagnostic = self.plan().unwrap_err();
        assert!(!self.shelf().exists(), "nothing is written");
        diagnostic.message.unwrap()
    }
}

#[test]
fn a_skill_folder_is_copied_completely() {
    let fixture = Fixture::new();
    fixture.write("more/deep/run.sh", "#!/bin/sh\n");
    fixture.write(".git/config", "x");
    let plan = fixture.plan().unwrap();
    assert_eq!((plan.name.as_str(), plan.files.len(), plan.has_left_out), ("a", 2, true));
    assert!(!plan.copy_to(&fixture.shelf(), OnConflict::Keep).unwrap());
    let read = |path: &str| fs::read_to_string(fixture.shelf().join(path)).unwrap();
    assert_eq!(read("a/more/deep/run.sh"), "#!/bin/sh\n");
    assert!(!fixture.shelf().join("a/.git").exists());
    let names: Vec<_> = fs::read_dir(fixture.shelf()).unwrap().collect();
    assert_eq!(names.len(), 1, "no stage stays");
}

#[test]
fn installed_skills_are_overwritten_only_on_request() {
    let fixture = Fixture::new();
    fixture.plan().unwrap().copy_to(&fixture.shelf(), OnConflict::Keep).unwrap();
    fs::write(fixture.shelf().join("a/mine.txt"), "mine").unwrap();
    let error = fixture.plan().unwrap().copy_to(&fixture.shelf(), OnConflict::Keep).unwrap_err();
    assert_eq!(error.message.unwrap(), "skill `a` exists already");
    assert!(fixture.shelf().join("a/mine.txt").exists());
    assert!(fixture.plan().unwrap().copy_to(&fixture.shelf(), OnConflict::Replace).unwrap());
    assert!(!fixture.shelf().join("a/mine.txt").exists());
    let other = InstallPlan::of(&fixture.source(), Name::parse("b")).unwrap();
    assert!(!other.copy_to(&fixture.shelf(), OnConflict::Keep).unwrap());
    assert!(fixture.shelf().join("b/SKILL.md").exists());
}

#[test]
fn folders_without_a_valid_document_are_rejected() {
    let fixture = Fixture::new();
    fixture.write("SKILL.md", "---\nname: A\ndescription: x\n---\nDo it.\n");
    assert!(fixture.refused().contains("SKILL.md:2: invalid name `A`"));
    fs::remove_file(fixture.source().join("SKILL.md")).unwrap();
    assert!(fixture.refused().contains("SKILL.md: file not found"));
    let error = InstallPlan::of(&fixture.folder.path().join("none"), None).unwrap_err();
    assert!(error.message.unwrap().starts_with("cannot read"));
    fs::write(fixture.folder.path().join("file"), "x").unwrap();
    let error = InstallPlan::of(&fixture.folder.path().join("file"), None).unwrap_err();
    assert!(error.message.unwrap().ends_with("is not a folder"));
}

#[test]
fn skill_folder_size_and_depth_are_limited() {
    let fixture = Fixture::new();
    for number in 1..MAX_FILES {
        fixture.write(&format!("f{number}"), "x");
    }
    assert_eq!(fixture.plan().unwrap().files.len(), MAX_FILES);
    fixture.write("one-more", "x");
    assert!(fixture.refused().contains("has more than 200 files"));
    let fixture = Fixture::new();
    fixture.write("big", vec![b'x'; usize::try_from(MAX_BYTES).unwrap()]);
    assert!(fixture.refused().contains("is larger than 10 MiB"));
    let fixture = Fixture::new();
    fixture.write(&format!("{}/f", vec!["d"; MAX_DEPTH - 1].join("/")), "x");
    fixture.plan().unwrap();
    fixture.write(&format!("{}/f", vec!["d"; MAX_DEPTH].join("/")), "x");
    assert!(fixture.refused().contains("is more than 16 folders deep"));
}

#[test]
fn a_folder_that_grows_during_the_copy_is_not_installed() {
    let fixture = Fixture::new();
    fixture.write("data", "x");
    let plan = fixture.plan().unwrap();
    fixture.write("data", vec![b'x'; usize::try_from(MAX_BYTES).unwrap()]);
    assert!(plan.copy_to(&fixture.shelf(), OnConflict::Keep).is_err());
    assert_eq!(fs::read_dir(fixture.shelf()).unwrap().count(), 0);
}

#[test]
fn links_pipes_and_non_utf8_names_are_rejected() {
    use std::os::unix::fs::symlink;
    let fixture = Fixture::new();
    symlink("/etc/passwd", fixture.source().join("link")).unwrap();
    assert!(fixture.refused().ends_with("link is a link; links are not installed"));
    fs::remove_file(fixture.source().join("link")).unwrap();
    let pipe = fixture.source().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(fixture.refused().ends_with("pipe is neither a file nor a folder"));
    fs::remove_file(pipe).unwrap();
    fixture.write("a\x1b[2J", "x");
    let message = fixture.refused();
    assert!(message.ends_with("a\\u{1b}[2J has a name that is not valid UTF-8"), "{message}");
}

#[test]
fn only_the_executable_permission_is_copied() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new();
    fixture.write("run", "#!/bin/sh\n");
    let rights = fs::Permissions::from_mode(0o4755);
    fs::set_permissions(fixture.source().join("run"), rights).unwrap();
    fixture.plan().unwrap().copy_to(&fixture.shelf(), OnConflict::Keep).unwrap();
    let mode = |path: &str| {
        fs::metadata(fixture.shelf().join("a").join(path)).unwrap().permissions().mode()
    };
    assert_eq!(mode("run") & 0o7000, 0, "not run as somebody else");
    assert_eq!((mode("run") & 0o100, mode("SKILL.md") & 0o100), (0o100, 0));
}
