//! The log file of a server: its standard error, and the log messages it sends.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::redact::Redactor;

const MAX_RUN_BYTES: usize = 1024 * 1024;
/// A larger file is rotated before the next run; one old file is kept.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The log file of a server in the folder of logs.
pub fn path(folder: &Path, server: &str) -> PathBuf {
    let name: String = server
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' })
        .take(64)
        .collect();
    folder.join(format!("mcp-{name}.log"))
}

/// One run of one server. Write errors are ignored: they are no reason to stop a server.
#[derive(Debug)]
pub(crate) struct ServerLog {
    file: Option<File>,
    left: usize,
    cut: bool,
    /// An unfinished line: secrets are redacted in whole lines.
    partial: Vec<u8>,
}

impl ServerLog {
    pub(crate) fn start(folder: &Path, server: &str) -> Self {
        let path = path(folder, server);
        if path.metadata().is_ok_and(|metadata| metadata.len() > MAX_FILE_BYTES) {
            let _ = fs::rename(&path, path.with_extension("log.old"));
        }
        let mut log = Self::open(folder, server);
        if let Some(file) = &mut log.file {
            let _ = writeln!(file, "--- {server} started");
        }
        log
    }

    pub(crate) fn open(folder: &Path, server: &str) -> Self {
        let _ = fs::create_dir_all(folder);
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path(folder, server)).ok();
        Self { file, left: MAX_RUN_BYTES, cut: false, partial: Vec::new() }
    }

    pub(crate) fn write(&mut self, bytes: &[u8], redactor: &Redactor) {
        if self.cut {
            return;
        }
        self.partial.extend_from_slice(bytes);
        if let Some(end) = memchr::memrchr(b'\n', &self.partial) {
            let lines: Vec<u8> = self.partial.drain(..=end).collect();
            self.put(&lines, redactor);
        }
        if self.partial.len() > MAX_RUN_BYTES / 16 {
            let line = std::mem::take(&mut self.partial);
            self.put(&line, redactor);
        }
    }

    fn put(&mut self, text: &[u8], redactor: &Redactor) {
        let Some(file) = &mut self.file else { return };
        let clean = redactor.redact(&String::from_utf8_lossy(text)).into_owned();
        let _ = file.write_all(clean.as_bytes());
        self.left = self.left.saturating_sub(clean.len());
        if self.left == 0 {
            self.cut = true;
            let _ = writeln!(
                file,
                "--- more than {MAX_RUN_BYTES} bytes: the rest of this run is not logged"
            );
        }
    }

    /// Ends the run; `tail` is the redacted end of the output.
    pub(crate) fn close(&mut self, tail: &str, redactor: &Redactor) {
        let mut rest = std::mem::take(&mut self.partial);
        if !rest.is_empty() && !self.cut {
            rest.push(b'\n');
            self.put(&rest, redactor);
        }
        let Some(file) = &mut self.file else { return };
        if self.cut {
            let _ = writeln!(file, "--- last output:\n{tail}");
        }
        let _ = writeln!(file, "--- stopped");
    }
}
