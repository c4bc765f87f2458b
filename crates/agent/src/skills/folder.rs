//! The folder of one skill. Whatever is read of it is inside it, whichever way it was named.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use ring::digest::{Context, SHA256};
use walkdir::{DirEntry, WalkDir};

use super::document::Document;
use super::{SKILL_FILE, SkillFlaw};
use crate::download::digest::Digest;

/// The longest file that is read.
pub(crate) const MAX_FILE_BYTES: u64 = 256 * 1024;
/// How deep folders may lie in one another.
pub(crate) const MAX_DEPTH: usize = 16;
/// The most files that are looked at.
const MAX_FILES: usize = 1000;
/// The most bytes that a digest reads; of what is left only the size counts.
const MAX_DIGEST_BYTES: u64 = 10 * 1024 * 1024;
/// The longest path of a file in a skill, in bytes.
const MAX_PATH_BYTES: usize = 1024;

/// The folder of a skill, by its real path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folder {
    root: PathBuf,
}

/// What a folder held at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digests {
    /// Of `SKILL.md`.
    pub(crate) skill: String,
    /// Of everything else.
    pub(crate) files: String,
}

impl Folder {
    /// The folder at this path, which must really lie below `bound` if one is given.
    pub(crate) fn open(path: &Path, bound: Option<&Path>) -> Result<Self, SkillFlaw> {
        let root = fs::canonicalize(path).map_err(|error| SkillFlaw::of(error.to_string()))?;
        if bound.is_some_and(|bound| !root.starts_with(bound)) {
            return Err(SkillFlaw::of("the folder is a link that leads out of the project"));
        }
        Ok(Self { root })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.root
    }

    /// Reads and understands `SKILL.md`.
    pub(crate) fn document(&self) -> Result<Document, SkillFlaw> {
        Document::parse(&self.text(SKILL_FILE)?)
    }

    /// The text of a file, by its path in the folder.
    pub(crate) fn text(&self, file: &str) -> Result<String, SkillFlaw> {
        let path = self.inside(file)?;
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|open| open.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| SkillFlaw::of(format!("it cannot be read: {error}")))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(SkillFlaw::of(format!("it has more than {} KiB", MAX_FILE_BYTES / 1024)));
        }
        if bytes.contains(&0) {
            return Err(SkillFlaw::of("it is no text"));
        }
        String::from_utf8(bytes).map_err(|error| {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = good.split(|byte| *byte == b'\n').count();
            SkillFlaw::at(line as u64, "this line is not UTF-8")
        })
    }

    /// The real path of a file that is in the folder and nowhere else.
    fn inside(&self, file: &str) -> Result<PathBuf, SkillFlaw> {
        let relative = Path::new(file);
        let is_plain = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
        let is_named = !file.is_empty() && file.len() <= MAX_PATH_BYTES && !file.contains('\0');
        if !is_named || !relative.components().all(is_plain) {
            return Err(SkillFlaw::of("it is no path inside the skill's folder"));
        }
        let path = fs::canonicalize(self.root.join(relative)).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                return SkillFlaw::of("there is no such file");
            }
            SkillFlaw::of(format!("it cannot be read: {error}"))
        })?;
        if !path.starts_with(&self.root) {
            return Err(SkillFlaw::of("it is a link that leads out of the skill's folder"));
        }
        // Opening a pipe would wait for whoever writes to it.
        if !fs::metadata(&path).is_ok_and(|file| file.is_file()) {
            return Err(SkillFlaw::of("it is no file"));
        }
        Ok(path)
    }

    /// The further files, by their paths in the folder. Links, and names that would break a line,
    /// are left out.
    pub(crate) fn files(&self) -> Vec<String> {
        let is_told = |name: &String| name != SKILL_FILE && !name.contains(char::is_control);
        let files = self.entries().filter(|entry| entry.file_type().is_file());
        files.map(|entry| self.name(&entry)).filter(is_told).collect()
    }

    /// What the folder holds now.
    pub(crate) fn digests(&self) -> Digests {
        let mut skill = Context::new(&SHA256);
        let mut files = Context::new(&SHA256);
        let mut left = MAX_DIGEST_BYTES;
        for entry in self.entries() {
            let name = self.name(&entry);
            let into = if name == SKILL_FILE { &mut skill } else { &mut files };
            let size = entry.metadata().map_or(0, |file| file.len());
            into.update(format!("{name}\0{size}\0").as_bytes());
            if entry.file_type().is_file() {
                left -= digest(entry.path(), left, into);
            }
        }
        Digests { skill: Digest::of(&skill).to_string(), files: Digest::of(&files).to_string() }
    }

    /// Everything but folders, in a fixed order.
    fn entries(&self) -> impl Iterator<Item = DirEntry> {
        WalkDir::new(&self.root)
            .min_depth(1)
            .max_depth(MAX_DEPTH)
            .follow_links(false)
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|entry| entry.file_name() != ".git")
            .filter_map(Result::ok)
            .filter(|entry| !entry.file_type().is_dir())
            .take(MAX_FILES)
    }

    fn name(&self, entry: &DirEntry) -> String {
        let relative = entry.path().strip_prefix(&self.root).unwrap_or(entry.path());
        let parts: Vec<_> =
            relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        parts.join("/")
    }
}

/// Adds at most this many bytes of a file to a digest; how many there were.
fn digest(path: &Path, most: u64, into: &mut Context) -> u64 {
    let Ok(file) = File::open(path) else { return 0 };
    let mut file = file.take(most);
    let mut buffer = vec![0; 64 * 1024];
    let mut total = 0;
    while let Ok(read @ 1..) = file.read(&mut buffer) {
        into.update(&buffer[..read]);
        total += read as u64;
    }
    total
}

#[cfg(test)]
mod tests {
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
    fn files_are_read_by_their_path_in_the_folder() {
        let (_home, folder) = skill();
        assert_eq!(folder.files(), ["more/table.txt"]);
        assert_eq!(folder.text("more/table.txt").unwrap(), "1\n");
        assert_eq!(folder.text("./more/table.txt").unwrap(), "1\n");
        assert_eq!(folder.document().unwrap().body, "Do it.");
    }

    #[test]
    fn no_path_leads_out_of_the_folder() {
        let (home, folder) = skill();
        let absolute = home.path().join("secret").display().to_string();
        let long = "a".repeat(MAX_PATH_BYTES + 1);
        let bad =
            ["", "..", "../secret", "more/../../secret", "/etc/passwd", &absolute, "a\0b", &long];
        for bad in bad {
            assert!(folder.text(bad).unwrap_err().what.contains("no path inside"), "{bad}");
        }
        assert!(folder.text("more").unwrap_err().what.contains("no file"));
        assert!(folder.text("none").unwrap_err().what.contains("no such file"));
    }

    #[cfg(unix)]
    #[test]
    fn links_may_not_lead_out_and_pipes_are_not_opened() {
        use std::os::unix::fs::symlink;
        let (home, folder) = skill();
        symlink(home.path().join("secret"), folder.path().join("out")).unwrap();
        symlink(home.path(), folder.path().join("up")).unwrap();
        symlink("more/table.txt", folder.path().join("within")).unwrap();
        fs::write(folder.path().join("a\nb"), "x").unwrap();
        for out in ["out", "up/secret"] {
            assert!(folder.text(out).unwrap_err().what.contains("leads out"), "{out}");
        }
        assert_eq!(folder.text("within").unwrap(), "1\n");
        assert_eq!(folder.files(), ["more/table.txt"], "links are not listed");
        let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status();
        assert!(made.unwrap().success());
        assert!(folder.text("pipe").unwrap_err().what.contains("no file"));
        folder.digests();
        fs::remove_file(folder.path().join(SKILL_FILE)).unwrap();
        symlink(home.path().join("secret"), folder.path().join(SKILL_FILE)).unwrap();
        assert!(folder.document().unwrap_err().what.contains("leads out"));
    }

    #[test]
    fn a_file_has_a_size_and_an_encoding() {
        let (_home, folder) = skill();
        let most = usize::try_from(MAX_FILE_BYTES).unwrap();
        let path = folder.path().join("big");
        fs::write(&path, "x".repeat(most)).unwrap();
        assert_eq!(folder.text("big").unwrap().len(), most);
        fs::write(&path, "x".repeat(most + 1)).unwrap();
        assert_eq!(folder.text("big").unwrap_err().what, "it has more than 256 KiB");
        fs::write(&path, b"fine\nb\xffd\n").unwrap();
        assert_eq!(folder.text("big").unwrap_err(), SkillFlaw::at(2, "this line is not UTF-8"));
        fs::write(&path, b"a\0b").unwrap();
        assert_eq!(folder.text("big").unwrap_err().what, "it is no text");
    }

    #[test]
    fn there_is_an_end_to_files() {
        let (_home, folder) = skill();
        for number in 0..MAX_FILES {
            fs::write(folder.path().join(format!("f{number:04}")), "").unwrap();
        }
        assert_eq!(folder.files().len(), MAX_FILES - 1, "and SKILL.md");
    }

    #[test]
    fn of_files_beyond_the_limit_only_the_size_counts() {
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
    fn a_digest_tells_the_instructions_from_the_files() {
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
}
