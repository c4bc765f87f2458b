//! One conversation in its file: a line when it begins, and then one for everything that happens.
//!
//! Each line is written in one piece as soon as it is known, so that whoever ends the program loses
//! at most the line that was being written. One process at a time has a conversation.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::config::made_folder_of;
use crate::diagnostic::Diagnostic;
use crate::output::Output;
use crate::task::TaskUsage;
use crate::task::conversation::{Journal, Message};

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordHeader {
    pub(super) id: String,
    /// RFC 3339.
    pub(super) created: String,
    /// The model it began with.
    pub(super) model: String,
}

/// Every other line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum RecordLine {
    /// Something was said.
    Said(Message),
    /// Another model was taken.
    Model { model: String },
    /// A task ended, and used this.
    Spent { spent: TaskUsage },
}

/// Keeps a conversation. Clones keep the same one.
#[derive(Debug, Clone)]
pub(super) struct ChatRecord {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    head: RecordHeader,
    /// What comes first once there is a file.
    opening: Vec<Message>,
    /// There is none until something was said.
    file: Option<File>,
    output: Output,
    /// It could not be written; that was told.
    is_broken: bool,
}

impl ChatRecord {
    /// A conversation that has not begun: there is no file until somebody speaks.
    pub(super) fn begin(
        path: PathBuf,
        head: RecordHeader,
        opening: Vec<Message>,
        output: Output,
    ) -> Self {
        let (file, is_broken) = (None, false);
        let inner = Inner { path, head, opening, file, output, is_broken };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// A conversation that goes on. What stands behind `good` bytes is no line and goes.
    pub(super) fn go_on(
        path: PathBuf,
        head: RecordHeader,
        good: u64,
        output: Output,
    ) -> Result<Self, Diagnostic> {
        let open = || -> io::Result<File> {
            let mut file = fs::OpenOptions::new().write(true).open(&path)?;
            lock(&file)?;
            file.set_len(good)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let file = open().map_err(|error| cannot(&path, &error))?;
        let (opening, is_broken) = (Vec::new(), false);
        let inner = Inner { path, head, opening, file: Some(file), output, is_broken };
        Ok(Self { inner: Arc::new(Mutex::new(inner)) })
    }

    /// By what it is known.
    pub(super) fn id(&self) -> String {
        self.lock().head.id.clone()
    }

    /// Whether anything of it is kept.
    pub(super) fn has_begun(&self) -> bool {
        self.lock().file.is_some()
    }

    /// Another model was taken.
    pub(super) fn model(&self, model: &str) {
        let mut inner = self.lock();
        if inner.file.is_none() {
            model.clone_into(&mut inner.head.model);
            return;
        }
        inner.keep(&RecordLine::Model { model: model.to_owned() });
    }

    /// A task ended.
    pub(super) fn spent(&self, spent: TaskUsage) {
        self.lock().keep(&RecordLine::Spent { spent });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for ChatRecord {
    fn said(&mut self, message: &Message) {
        self.lock().keep(&RecordLine::Said(message.clone()));
    }
}

impl Inner {
    /// Writes a line. What cannot be kept is told once, and the conversation goes on.
    fn keep(&mut self, line: &RecordLine) {
        if self.is_broken {
            return;
        }
        if let Err(error) = self.write(line) {
            self.is_broken = true;
            let path = self.path.display();
            self.output.warn(format!("the conversation is no longer kept in {path}: {error}"));
        }
    }

    fn write(&mut self, line: &RecordLine) -> io::Result<()> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => self.create()?,
        };
        let written = append(&mut file, line);
        self.file = Some(file);
        written
    }

    fn create(&mut self) -> io::Result<File> {
        made_folder_of(&self.path)?;
        let mut options = fs::OpenOptions::new();
        options.create_new(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.path)?;
        lock(&file)?;
        append(&mut file, &self.head)?;
        for message in self.opening.drain(..) {
            append(&mut file, &RecordLine::Said(message))?;
        }
        Ok(file)
    }
}

fn append(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    file.write_all(&bytes)
}

fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::WouldBlock, "it is open in another process"))
        }
    }
}

fn cannot(path: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("the conversation in {} cannot go on", path.display());
    Diagnostic::failed(message).because(error)
}
