//! Events on their way to the client.

use bytes::{Bytes, BytesMut};

/// Buffers events. A single event is passed on without a copy; several are joined.
#[derive(Debug, Default)]
pub(crate) struct EventBuffer {
    first: Option<Bytes>,
    joined: BytesMut,
}

/// The events of a stream for its client.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) ready: EventBuffer,
    /// Events from the end marker on, sent after the request is charged.
    pub(crate) last: EventBuffer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    More,
    /// The model called for web searches; another round follows.
    Search,
    /// The end marker arrived; the events after it are sent once the request is charged.
    Done,
}

impl EventBuffer {
    pub(crate) fn push(&mut self, event: Bytes) {
        if self.first.is_none() && self.joined.is_empty() {
            self.first = Some(event);
        } else {
            self.buffer().extend_from_slice(&event);
        }
    }

    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        if let Some(first) = self.first.take() {
            self.joined.extend_from_slice(&first);
        }
        &mut self.joined
    }

    pub(crate) fn len(&self) -> usize {
        self.first.as_ref().map_or(0, Bytes::len) + self.joined.len()
    }

    pub(crate) fn take(&mut self) -> Option<Bytes> {
        match self.first.take() {
            Some(first) => Some(first),
            None if self.joined.is_empty() => None,
            None => Some(self.joined.split().freeze()),
        }
    }
}
