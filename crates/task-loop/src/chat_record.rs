//! The file of one conversation: a header line, then one line for every event.
//!
//! Each line is written at once and in one piece, so that a killed program loses at most the line
//! it was writing. A lock on the file keeps other processes out.

mod parsed;

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

pub use self::parsed::{ParsedRecord, summary};
use crate::attachment::Attachment;
use crate::conversation::{Journal, Message};
use crate::usage::TaskUsage;

/// The most attachments in one file. Further ones are only described, so that the file stays small
/// enough to be read.
const MAX_ATTACHMENT_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("cannot read {}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} exceeds the limit of {limit} bytes", .path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("{}:{line}: invalid line", .path.display())]
    Line { path: PathBuf, line: usize, source: serde_json::Error },
    #[error("cannot resume the conversation in {}", .path.display())]
    Resume { path: PathBuf, source: io::Error },
}

/// Learns that a conversation is no longer stored.
pub trait RecordObserver: fmt::Debug + Send + Sync {
    fn failed(&self, path: &Path, error: &io::Error);
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordHeader {
    pub id: String,
    /// RFC 3339.
    pub created: String,
    pub model: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RecordLine {
    Said(Message),
    Model {
        model: String,
    },
    Spent {
        spent: TaskUsage,
    },
    /// The messages between the opening and the last `kept` gave way to a summary.
    Summary {
        summary: String,
        kept: usize,
    },
}

/// Keeps a conversation. Clones keep the same one.
#[derive(Debug, Clone)]
pub struct ChatRecord {
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
    observer: Box<dyn RecordObserver>,
    /// Bytes of attachments that can still be stored.
    room: usize,
    /// Writing failed, and the observer knows.
    is_broken: bool,
}

impl ChatRecord {
    /// A new conversation. The file is created with the first message.
    pub fn begin(
        path: PathBuf,
        head: RecordHeader,
        opening: Vec<Message>,
        observer: Box<dyn RecordObserver>,
    ) -> Self {
        let (file, is_broken) = (None, false);
        let room = MAX_ATTACHMENT_BYTES;
        let inner = Inner { path, head, opening, file, observer, room, is_broken };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Resumes a conversation. Anything after `good` bytes is an incomplete line and is cut.
    pub fn resume(
        path: PathBuf,
        head: RecordHeader,
        good: u64,
        observer: Box<dyn RecordObserver>,
    ) -> Result<Self, RecordError> {
        let open = || -> io::Result<File> {
            let mut file = fs::OpenOptions::new().write(true).open(&path)?;
            lock(&file)?;
            file.set_len(good)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        match open() {
            Ok(file) => {
                let (opening, file) = (Vec::new(), Some(file));
                let stored = usize::try_from(good).unwrap_or(usize::MAX);
                let room = MAX_ATTACHMENT_BYTES.saturating_sub(stored);
                let inner = Inner { path, head, opening, file, observer, room, is_broken: false };
                Ok(Self { inner: Arc::new(Mutex::new(inner)) })
            }
            Err(source) => Err(RecordError::Resume { path, source }),
        }
    }

    pub fn id(&self) -> String {
        self.lock().head.id.clone()
    }

    pub fn has_begun(&self) -> bool {
        self.lock().file.is_some()
    }

    pub fn model(&self, model: &str) {
        let mut inner = self.lock();
        if inner.file.is_none() {
            model.clone_into(&mut inner.head.model);
            return;
        }
        inner.keep(&RecordLine::Model { model: model.to_owned() });
    }

    pub fn spent(&self, spent: TaskUsage) {
        self.lock().keep(&RecordLine::Spent { spent });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for ChatRecord {
    fn said(&mut self, message: &Message) {
        let (mut inner, mut message) = (self.lock(), message.clone());
        let bytes: usize = message.attachments().iter().map(Attachment::bytes).sum();
        if bytes > inner.room {
            message.drop_attachments("the file of the conversation has no room for it", |_| true);
        } else {
            inner.room -= bytes;
        }
        inner.keep(&RecordLine::Said(message));
    }

    fn summarised(&mut self, summary: &str, kept: usize) {
        self.lock().keep(&RecordLine::Summary { summary: summary.to_owned(), kept });
    }
}

impl Inner {
    /// Writes a line. A failure is reported once and does not end the conversation.
    fn keep(&mut self, line: &RecordLine) {
        if self.is_broken {
            return;
        }
        if let Err(error) = self.write(line) {
            self.is_broken = true;
            self.observer.failed(&self.path, &error);
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
        if let Some(folder) = self.path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut options = fs::OpenOptions::new();
        let mut file = options.create_new(true).write(true).mode(0o600).open(&self.path)?;
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
