//! Reads the file of a conversation.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;

use super::{RecordError, RecordHeader, RecordLine};
use crate::context_window::opening;
use crate::conversation::Message;
use crate::usage::TaskUsage;

const MAX_BYTES: u64 = 256 * 1024 * 1024;

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
        if fs::metadata(path).map_err(cannot)?.len() > MAX_BYTES {
            return Err(RecordError::TooLarge { path: path.to_owned(), limit: MAX_BYTES });
        }
        let bytes = fs::read(path).map_err(cannot)?;
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let wrong = |line, source| RecordError::Line { path: path.to_owned(), line, source };
        let (first, rest) = match lines.split_first() {
            Some((first, rest)) => (*first, rest),
            None => (&b""[..], &[][..]),
        };
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
                self.messages.splice(first..end, [Message::summary(&summary)]);
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
