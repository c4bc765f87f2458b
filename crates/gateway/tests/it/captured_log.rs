//! What the services of this process log, for tests that read it.

use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Everything that was logged since somebody first wanted to know.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

/// The log of this process. Other tests may write to it too: a line must be known by its words.
pub(crate) fn log() -> Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    let start = || {
        let log = Log::default();
        let writer = log.clone();
        tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).init();
        log
    };
    LOG.get_or_init(start).clone()
}

impl Log {
    /// The lines that have these words in them.
    pub(crate) fn lines_with(&self, words: &str) -> Vec<String> {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let text = String::from_utf8(bytes).unwrap();
        text.lines().filter(|line| line.contains(words)).map(str::to_owned).collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
