//! The processing of each event between the stream of an upstream and that of the client.

use api_dialects::{StreamFault, anthropic, responses};
use bytes::BytesMut;
use ledger::{AnswerProgress, TokenCounts};
use wire::sse::{Event, Splitter};

use super::chat::{ChatWatch, ChunkAction, Fault};
use super::event_buffer::{EventBuffer, Step};
use super::native::NativeWatch;

/// The largest event that is read.
pub(crate) const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

pub(crate) enum Stage {
    /// Chunks of the chat interface pass unchanged.
    Chat(ChatWatch),
    /// Events are translated, in one step or two.
    Translated(Box<Translation>),
    /// Events of the responses interface pass, with our fields replaced.
    Native(Box<NativeWatch>),
}

/// The translation of an upstream's events to the client's.
pub(crate) struct Translation {
    /// From the messages interface to the chat interface.
    anthropic: Option<(anthropic::Stream, Splitter)>,
    watch: ChatWatch,
    /// From the chat interface to the responses interface.
    bridge: Option<responses::Stream>,
}

impl Stage {
    pub(crate) fn translated(
        anthropic: Option<anthropic::Stream>,
        bridge: Option<responses::Stream>,
        watch: ChatWatch,
    ) -> Self {
        let anthropic = anthropic.map(|stream| (stream, Splitter::new(MAX_EVENT_BYTES)));
        Self::Translated(Box::new(Translation { anthropic, watch, bridge }))
    }

    /// Writes the events that precede the first one of the upstream.
    pub(crate) fn start(&mut self, out: &mut EventBuffer) {
        if let Self::Translated(translation) = self
            && let Some(bridge) = &mut translation.bridge
        {
            bridge.start(out.buffer());
        }
    }

    /// Processes one event. Everything from the end marker on goes to `last`.
    pub(crate) fn feed(
        &mut self,
        event: &Event,
        out: &mut EventBuffer,
        last: &mut EventBuffer,
    ) -> Result<Step, Fault> {
        match self {
            Self::Chat(watch) => match watch.look(event)? {
                ChunkAction::Pass(piece) => {
                    out.push(piece);
                    Ok(Step::More)
                }
                ChunkAction::Skip => Ok(Step::More),
                ChunkAction::Done => {
                    last.push(event.raw().clone());
                    Ok(Step::Done)
                }
            },
            Self::Translated(translation) => translation.feed(event, out, last),
            Self::Native(watch) => watch.feed(event, out, last),
        }
    }

    /// The token counts of the upstream.
    pub(crate) fn tokens(&self) -> TokenCounts {
        match self {
            Self::Chat(watch) => watch.tokens,
            Self::Translated(translation) => translation.watch.tokens,
            Self::Native(watch) => watch.tokens,
        }
    }

    pub(crate) fn reached(&self) -> AnswerProgress {
        let has_content = match self {
            Self::Chat(watch) => watch.has_content,
            Self::Translated(translation) => translation.watch.has_content,
            Self::Native(watch) => watch.has_content,
        };
        if has_content { AnswerProgress::Content } else { AnswerProgress::Begun }
    }

    /// The final response object of a stream of the responses interface.
    pub(crate) fn final_response(&self) -> Option<&serde_json::Value> {
        match self {
            Self::Chat(_) => None,
            Self::Translated(translation) => translation.bridge.as_ref()?.final_response(),
            Self::Native(watch) => watch.final_response(),
        }
    }

    /// Writes the event of a failure.
    pub(crate) fn fail(
        &mut self,
        error: &crate::failure::ApiError,
        id: &str,
        out: &mut EventBuffer,
    ) {
        match self {
            Self::Translated(translation) if translation.bridge.is_some() => {
                if let Some(bridge) = &mut translation.bridge {
                    bridge.fail(error.code().word(), error.message(), out.buffer());
                }
            }
            Self::Native(watch) => watch.fail(error, out),
            Self::Chat(_) | Self::Translated(_) => {
                let mut body = error.body();
                body.error.request_id = Some(id.to_owned());
                let text = serde_json::to_vec(&body).unwrap_or_default();
                wire::sse::write_data(out.buffer(), &text);
            }
        }
    }
}

impl Translation {
    fn feed(
        &mut self,
        event: &Event,
        out: &mut EventBuffer,
        last: &mut EventBuffer,
    ) -> Result<Step, Fault> {
        let Some((stream, splitter)) = &mut self.anthropic else {
            return look(&mut self.watch, self.bridge.as_mut(), event, out, last);
        };
        let mut chunks = BytesMut::new();
        stream.feed(event, &mut chunks).map_err(fault)?;
        splitter.push(chunks.freeze());
        while let Some(chunk) = splitter.next() {
            let chunk = chunk.map_err(|_| Fault::Malformed("an event is too long"))?;
            let step = look(&mut self.watch, self.bridge.as_mut(), &chunk, out, last)?;
            if step == Step::Done {
                return Ok(step);
            }
        }
        Ok(Step::More)
    }
}

/// Processes one chunk of the chat interface.
fn look(
    watch: &mut ChatWatch,
    bridge: Option<&mut responses::Stream>,
    chunk: &Event,
    out: &mut EventBuffer,
    last: &mut EventBuffer,
) -> Result<Step, Fault> {
    let seen = watch.look(chunk)?;
    match bridge {
        Some(bridge) => {
            if seen == ChunkAction::Done {
                bridge.finish(last.buffer());
                return Ok(Step::Done);
            }
            if let ChunkAction::Pass(_) = seen {
                bridge.feed(chunk, out.buffer()).map_err(fault)?;
            }
            Ok(Step::More)
        }
        None => match seen {
            ChunkAction::Pass(piece) => {
                out.push(piece);
                Ok(Step::More)
            }
            ChunkAction::Skip => Ok(Step::More),
            ChunkAction::Done => {
                last.push(chunk.raw().clone());
                Ok(Step::Done)
            }
        },
    }
}

fn fault(fault: StreamFault) -> Fault {
    match fault {
        StreamFault::Upstream { peer_message, .. } => Fault::Told(Some(peer_message)),
        StreamFault::Malformed(_) => Fault::Malformed("an event is not as documented"),
    }
}
