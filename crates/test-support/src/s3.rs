//! An S3 server, s3rver of Node, with one bucket in a folder of its own. It knows keys by their ids,
//! and does not verify signatures of version 4.

use std::path::PathBuf;

use tempfile::TempDir;

use crate::mcp::Launch;
use crate::mcp::installed::{must_exist, private_folder, script};
use crate::oauth::Process;

/// A running server.
#[derive(Debug)]
pub struct S3 {
    process: Process,
    folder: TempDir,
}

impl S3 {
    /// The name of its bucket.
    pub const BUCKET: &str = "made-here";
    /// The only key id it knows, and its secret.
    pub const KEY: &str = "S3RVER";

    /// Starts it.
    ///
    /// # Panics
    /// If it is not installed or does not start.
    #[expect(clippy::expect_used, reason = "a test without its peer cannot go on")]
    pub fn start() -> Self {
        let modules = private_folder("s3");
        must_exist(&modules.join("node_modules/s3rver"));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let launch = Launch {
            command: "node".into(),
            args: vec![script("s3.mjs")],
            env: vec![
                ("S3_MODULES".to_owned(), text(modules)),
                ("S3_FOLDER".to_owned(), text(folder.path().to_owned())),
                ("S3_BUCKET".to_owned(), Self::BUCKET.to_owned()),
            ],
        };
        Self { process: Process::start(&launch), folder }
    }

    /// Where it is.
    pub fn endpoint(&self) -> &str {
        self.process.address("s3")
    }

    /// The contents of all objects.
    pub fn objects(&self) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().join(Self::BUCKET)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.to_string_lossy().ends_with("._S3rver_object") {
                    found.extend(std::fs::read(path));
                }
            }
        }
        found
    }
}
