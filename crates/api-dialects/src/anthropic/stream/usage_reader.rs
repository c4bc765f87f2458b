//! Usage of messages that pass unchanged.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use wire::sse::Event;

use super::super::super::{Malformed, StreamFault, Usage};
use super::super::answer::Counts;
use super::Incoming;

/// Reads the usage and the progress of a message.
#[derive(Debug, Default)]
pub struct UsageReader {
    counts: Option<Counts>,
    has_content: bool,
    is_done: bool,
}

/// The fields of a whole message that are read.
#[derive(Deserialize)]
struct Message<'a> {
    content: Vec<IgnoredAny>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model: Option<&'a RawValue>,
}

impl UsageReader {
    /// Reads an event of a stream; an `error` event is a fault.
    pub fn feed(&mut self, event: &Event) -> Result<(), StreamFault> {
        match event.name() {
            // Most events are of this type, and the name is enough.
            Some("content_block_delta") => self.has_content = true,
            Some("content_block_stop" | "ping") => {}
            _ if event.is_comment() => {}
            _ => {
                if let Some(incoming) = Incoming::read(&event.data())? {
                    return self.read_event(incoming);
                }
            }
        }
        Ok(())
    }

    /// Reads a whole message; returns its model, as JSON.
    pub fn read<'a>(&mut self, message: &'a [u8]) -> Result<Option<&'a RawValue>, Malformed> {
        let message: Message<'a> =
            serde_json::from_slice(message).map_err(|_| Malformed::Missing("content"))?;
        self.has_content = !message.content.is_empty();
        self.counts = message.usage.and_then(|usage| serde_json::from_str(usage.get()).ok());
        self.is_done = true;
        Ok(message.model)
    }

    /// Upstream usage so far.
    pub fn usage(&self) -> Option<Usage> {
        self.counts.as_ref().map(Counts::usage)
    }

    /// Whether the message has any content yet.
    pub fn has_content(&self) -> bool {
        self.has_content
    }

    /// Whether the upstream sent the end of the message.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    fn read_event(&mut self, incoming: Incoming<'_>) -> Result<(), StreamFault> {
        match &*incoming.kind {
            "message_start" => self.count(incoming.message.and_then(|message| message.usage)),
            "message_delta" => self.count(incoming.usage),
            "message_stop" => self.is_done = true,
            "content_block_delta" => self.has_content = true,
            "content_block_start" => {
                let kind = incoming.content_block.map(|block| block.kind);
                let begins_empty = matches!(kind.as_deref(), None | Some("text" | "thinking"));
                self.has_content |= !begins_empty;
            }
            "error" => {
                let error = incoming.error.unwrap_or_default();
                return Err(StreamFault::upstream(&error.kind, &error.message));
            }
            _ => {}
        }
        Ok(())
    }

    fn count(&mut self, counts: Option<Counts>) {
        if let Some(counts) = counts {
            self.counts.get_or_insert_default().update(counts);
        }
    }
}
