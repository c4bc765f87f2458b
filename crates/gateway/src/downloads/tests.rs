//! Publishing on a real disk.

use std::os::unix::fs::PermissionsExt;

use super::*;

fn publication(version: &str, files: &[&Path]) -> Publication {
    Publication {
        version: version.to_owned(),
        published_at: "2026-11-15T12:00:00Z".to_owned(),
        expires_at: "2027-02-13T12:00:00Z".to_owned(),
        files: files.iter().map(|path| path.to_path_buf()).collect(),
        platform: None,
    }
}

struct Fixture {
    folder: tempfile::TempDir,
    downloads: Downloads,
    public: [u8; 32],
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let downloads = Downloads {
            folder: folder.path().join("downloads"),
            key_file: folder.path().join("downloads.key"),
        };
        let public = download::read_public_key(&make_key(&downloads.key_file).unwrap()).unwrap();
        Self { folder, downloads, public }
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// All files below the folder of downloads.
    fn published(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.downloads.folder.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else {
                    let path = entry.path();
                    let path = path.strip_prefix(&self.downloads.folder).unwrap();
                    found.push(path.display().to_string());
                }
            }
        }
        found.sort();
        found
    }
}

#[test]
fn a_signing_key_is_private_and_never_overwritten() {
    let fixture = Fixture::new();
    let path = &fixture.downloads.key_file;
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    let before = fs::read(path).unwrap();
    assert!(make_key(path).is_err());
    assert_eq!(fs::read(path).unwrap(), before);
    assert_eq!(download::read_public_key(&show_key(path).unwrap()), Some(fixture.public));
    fs::write(path, "no key").unwrap();
    assert!(show_key(path).unwrap_err().message.contains("is not an Ed25519 key"));
}

#[test]
fn files_are_published_with_a_signed_manifest() {
    let fixture = Fixture::new();
    let one = fixture.file("agent-linux-x86_64", "one");
    let two = fixture.file("agent-macos-arm64.tar.gz", "two");
    let made = publish(&fixture.downloads, &publication("1.0.0", &[&two, &one])).unwrap();
    assert_eq!(made.verify(&fixture.public), Ok(()));
    let names: Vec<(&str, &str, u64)> = made
        .files
        .iter()
        .map(|file| (file.name.as_str(), file.platform.as_str(), file.bytes))
        .collect();
    assert_eq!(
        names,
        [
            ("agent-linux-x86_64", "linux-x86_64", 3),
            ("agent-macos-arm64.tar.gz", "macos-aarch64", 3)
        ]
    );
    let expected = [
        "1.0.0/.manifest.json", "1.0.0/agent-linux-x86_64", "1.0.0/agent-macos-arm64.tar.gz",
        "manifest.json",
    ];
    assert_eq!(fixture.published(), expected);
    let read = fs::read(fixture.downloads.folder.join(MANIFEST)).unwrap();
    assert_eq!(serde_json::from_slice::<Manifest>(&read).unwrap(), made);
}

#[test]
fn published_versions_increase_and_are_immutable() {
    let fixture = Fixture::new();
    let one = fixture.file("one", "1");
    publish(&fixture.downloads, &publication("1.0.0", &[&one])).unwrap();
    let two = fixture.file("two", "2");
    let grown = publish(&fixture.downloads, &publication("1.0.0", &[&two, &one])).unwrap();
    assert_eq!(grown.files.len(), 2);
    assert_eq!(grown.verify(&fixture.public), Ok(()));
    fixture.file("one", "changed");
    let refused = publish(&fixture.downloads, &publication("1.0.0", &[&one])).unwrap_err();
    assert!(refused.message.contains("is already published with different content"), "{refused}");
    let next = publish(&fixture.downloads, &publication("1.0.1", &[&one])).unwrap();
    assert_eq!((next.files.len(), next.version.as_str()), (1, "1.0.1"));
    assert_eq!(fs::read(fixture.downloads.folder.join("1.0.0/one")).unwrap(), b"1");
}

#[test]
fn failed_publication_changes_nothing() {
    let fixture = Fixture::new();
    let one = fixture.file("one", "1");
    publish(&fixture.downloads, &publication("1.0.0", &[&one])).unwrap();
    let manifest = fs::read(fixture.downloads.folder.join(MANIFEST)).unwrap();
    let absent = fixture.folder.path().join("absent");
    let odd = fixture.file("a b", "2");
    let two = fixture.file("two", "2");
    for wrong in [
        publication("1.1.0", &[&two, &absent]),
        publication("1.1.0", &[&two, &odd]),
        publication("../1.1.0", &[&two]),
        publication("", &[&two]),
        publication("1.2.0", &[]),
        Publication { platform: Some("a/b".to_owned()), ..publication("1.3.0", &[&two]) },
    ] {
        assert!(publish(&fixture.downloads, &wrong).is_err(), "{wrong:?}");
        assert_eq!(fs::read(fixture.downloads.folder.join(MANIFEST)).unwrap(), manifest);
    }
    let is_half = |name: &String| name.contains("/.") && !name.ends_with(OF_VERSION);
    assert!(!fixture.published().iter().any(is_half), "nothing half written");
}

#[test]
fn foreign_manifest_is_not_signed_again() {
    let fixture = Fixture::new();
    let one = fixture.file("one", "1");
    publish(&fixture.downloads, &publication("1.0.0", &[&one])).unwrap();
    let path = fixture.downloads.folder.join("1.0.0").join(OF_VERSION);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"bytes\": 1", "\"bytes\": 2")).unwrap();
    let two = fixture.file("two", "2");
    let refused = publish(&fixture.downloads, &publication("1.0.0", &[&two])).unwrap_err();
    assert!(refused.message.contains("signature"), "{refused}");
}

#[test]
fn platforms_are_detected_from_file_names() {
    for (name, platform) in [
        ("agent-x86_64-unknown-linux-musl", "linux-x86_64"),
        ("agent_linux_arm64", "linux-aarch64"),
        ("agent-aarch64-apple-darwin.tar.gz", "macos-aarch64"),
        ("agent-windows-amd64.exe", "windows-x86_64"),
        ("agent.exe", "windows"),
        ("checksums.txt", "any"),
    ] {
        assert_eq!(platform_of(name), platform, "{name}");
    }
}
