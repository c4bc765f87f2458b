//! Inspection of streams of an upstream with the messages interface, on their way to the client.

use std::sync::Arc;

use api_dialects::anthropic::UsageReader;
use bytes::Bytes;
use ledger::TokenCounts;
use serde::Deserialize;
use serde_json::value::RawValue;
use wire::sse::Event;

use super::chat::{Fault, renamed};
use super::event_buffer::{EventBuffer, Step};
use super::whole;

#[derive(Debug)]
pub(crate) struct MessagesWatch {
    reader: UsageReader,
    /// The model name for the answer, as JSON.
    model: Arc<str>,
}

/// The inspected fields of the first event.
#[derive(Deserialize)]
struct FirstEvent<'a> {
    #[serde(borrow)]
    message: FirstMessage<'a>,
}

#[derive(Deserialize)]
struct FirstMessage<'a> {
    #[serde(borrow)]
    model: &'a RawValue,
}

impl MessagesWatch {
    pub(crate) fn new(model: Arc<str>) -> Self {
        Self { reader: UsageReader::default(), model }
    }

    pub(crate) fn feed(
        &mut self,
        event: &Event,
        out: &mut EventBuffer,
        last: &mut EventBuffer,
    ) -> Result<Step, Fault> {
        self.reader.feed(event)?;
        if self.reader.is_done() {
            last.push(event.raw().clone());
            return Ok(Step::Done);
        }
        let is_first = event.name() == Some("message_start");
        let named = is_first.then(|| self.renamed(event)).flatten();
        out.push(named.unwrap_or_else(|| event.raw().clone()));
        Ok(Step::More)
    }

    pub(crate) fn tokens(&self) -> TokenCounts {
        whole::tokens(self.reader.usage())
    }

    pub(crate) fn has_content(&self) -> bool {
        self.reader.has_content()
    }

    /// The first event with our name of the model.
    fn renamed(&self, event: &Event) -> Option<Bytes> {
        // Only data on one line borrow from the event.
        let std::borrow::Cow::Borrowed(data) = event.data() else { return None };
        let first: FirstEvent<'_> = serde_json::from_slice(data).ok()?;
        renamed(event.raw(), first.message.model, &self.model).map(Bytes::from)
    }
}
