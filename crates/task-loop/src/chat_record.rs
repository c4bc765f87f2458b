//! The file of one conversation: a header line, then one line for every event.
//!
//! Each line is written at once and in one piece, so that a killed program loses at most the
//! line it was writing. A lock on the file keeps other processes out.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::attachment::Attachment;
use crate::context_window::opening;
use crate::conversation::{Journal, Message, without_question};
use crate::usage::TaskUsage;

/// Maximum size of attachments in one file. Further ones are only described, so that the file
/// stays small enough to be read.
const MAX_ATTACHMENT_BYTES: usize = 64 * 1024 * 1024;
const MAX_RECORD_BYTES: u64 = 256 * 1024 * 1024;

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

/// Is notified when a conversation is no longer stored.
pub trait RecordObserver: fmt::Debug + Send + Sync {
    fn failed(&self, path: &Path, error: &io::Error);
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordHeader {
    pub id: String,
    /// RFC 3339.
    pub created: String,
    pub model: String,
    #[serde(default, skip_serializing_if = "ToolChoice::is_all")]
    pub tools: ToolChoice,
}

/// The tools of a conversation, kept when it is resumed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolChoice {
    /// Restricts the tools to these servers; empty means all.
    pub servers: Vec<String>,
    pub none: bool,
}

impl ToolChoice {
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

/// A line after the header. A summary replaces the messages between the opening and the last
/// `kept`, but not the question of a turn that it ends in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RecordLine {
    Said(Message),
    Model { model: String },
    Spent { spent: TaskUsage },
    Summary { summary: String, kept: usize },
}

/// Records a conversation. Clones share the record.
#[derive(Debug, Clone)]
pub struct ChatRecord {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    head: RecordHeader,
    /// Written first when the file is created.
    opening: Vec<Message>,
    /// `None` until the first message.
    file: Option<File>,
    observer: Box<dyn RecordObserver>,
    /// Remaining bytes for attachments.
    room: usize,
    /// A write failed, and the observer was notified.
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
        let (file, room, is_broken) = (None, MAX_ATTACHMENT_BYTES, false);
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
        let file = open().map_err(|source| RecordError::Resume { path: path.clone(), source })?;
        let stored = usize::try_from(good).unwrap_or(usize::MAX);
        let room = MAX_ATTACHMENT_BYTES.saturating_sub(stored);
        let (opening, file) = (Vec::new(), Some(file));
        let inner = Inner { path, head, opening, file, observer, room, is_broken: false };
        Ok(Self { inner: Arc::new(Mutex::new(inner)) })
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
    fn push_message(&mut self, message: &Message) {
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
    file.try_lock().map_err(|error| match error {
        TryLockError::Error(error) => error,
        TryLockError::WouldBlock => {
            io::Error::new(io::ErrorKind::WouldBlock, "it is open in another process")
        }
    })
}

#[derive(Debug)]
pub struct ParsedRecord {
    pub head: RecordHeader,
    pub messages: Vec<Message>,
    pub model: String,
    pub spent: TaskUsage,
    /// Bytes in complete lines.
    pub good: u64,
    /// The last line was incomplete.
    pub is_torn: bool,
}

impl ParsedRecord {
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let cannot = |source| RecordError::Read { path: path.to_owned(), source };
        if fs::metadata(path).map_err(cannot)?.len() > MAX_RECORD_BYTES {
            return Err(RecordError::TooLarge { path: path.to_owned(), limit: MAX_RECORD_BYTES });
        }
        let bytes = fs::read(path).map_err(cannot)?;
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let first = lines.next().unwrap_or_default();
        let rest: Vec<&[u8]> = lines.collect();
        let wrong = |line, source| RecordError::Line { path: path.to_owned(), line, source };
        let head: RecordHeader = serde_json::from_slice(first).map_err(|error| wrong(1, error))?;
        let model = head.model.clone();
        let good = first.len() as u64;
        let (messages, spent) = (Vec::new(), TaskUsage::default());
        let mut read = Self { head, messages, model, spent, good, is_torn: false };
        for (at, line) in rest.iter().enumerate() {
            // A line without its end may lack more than that.
            let is_whole = line.ends_with(b"\n");
            match serde_json::from_slice(line) {
                Ok(line) if is_whole => read.take(line),
                Err(error) if is_whole && at + 1 < rest.len() => return Err(wrong(at + 2, error)),
                _ => {
                    read.is_torn = true;
                    break;
                }
            }
            read.good += line.len() as u64;
        }
        Ok(read)
    }

    fn take(&mut self, line: RecordLine) {
        match line {
            RecordLine::Said(message) => self.messages.push(message),
            RecordLine::Model { model } => self.model = model,
            RecordLine::Spent { spent } => self.spent = self.spent.plus(spent),
            RecordLine::Summary { summary, kept } => {
                let first = opening(&self.messages);
                let end = self.messages.len().saturating_sub(kept).max(first);
                let span = without_question(&mut self.messages, first..end);
                self.messages.splice(span, [Message::summary(&summary)]);
            }
        }
    }
}

/// A line without its attachments, which can be large.
#[derive(Deserialize)]
struct Brief {
    role: String,
    #[serde(default)]
    text: String,
}

/// The number of messages of the person and the model, and the first line of the person.
pub fn summary(path: &Path) -> io::Result<(usize, String)> {
    let (mut said, mut first) = (0, None);
    for line in BufReader::new(fs::File::open(path)?).split(b'\n') {
        let Ok(Brief { role, text }) = serde_json::from_slice(&line?) else { continue };
        match role.as_str() {
            "user" => {
                said += 1;
                first.get_or_insert(text.lines().next().unwrap_or_default().to_owned());
            }
            "assistant" if !text.is_empty() => said += 1,
            _ => {}
        }
    }
    Ok((said, first.unwrap_or_default()))
}

#[cfg(test)]
mod tests;
