//! What happens to each event of an upstream's stream on its way to the client.

use bytes::{Bytes, BytesMut};
use ledger::{AnswerProgress, TokenCounts};
use wire::sse::{Event, Splitter};

use super::chat::{ChatWatch, Fault, Look};
use super::native::NativeWatch;
use crate::translate::{StreamFault, anthropic, responses};

/// The largest event that is read.
pub(crate) const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// What happens to each event.
pub(crate) enum Stage {
    /// Chunks of the chat interface pass as they are.
    Chat(ChatWatch),
    /// Events are translated, in one step or two.
    Translated(Box<Translation>),
    /// Events of the responses interface pass, but for what is ours in them.
    Native(Box<NativeWatch>),
}

/// Steps between an upstream's events and the client's.
pub(crate) struct Translation {
    /// From the messages interface to the chat interface.
    anthropic: Option<(anthropic::Stream, Splitter)>,
    watch: ChatWatch,
    /// From the chat interface to the responses interface.
    bridge: Option<responses::Stream>,
}

/// Events on their way out. One piece goes out as it came in, several are joined.
#[derive(Debug, Default)]
pub(crate) struct Out {
    first: Option<Bytes>,
    joined: BytesMut,
}

/// Whether the stream goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    More,
    /// The end marker was seen; what is in `last` is to be sent once the request is charged.
    Done,
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

    /// What goes out before the first event of the upstream.
    pub(crate) fn start(&mut self, out: &mut Out) {
        if let Self::Translated(translation) = self
            && let Some(bridge) = &mut translation.bridge
        {
            bridge.start(&mut out.joined);
        }
    }

    /// Takes one event. What follows the end marker goes to `last`.
    pub(crate) fn feed(
        &mut self,
        event: &Event,
        out: &mut Out,
        last: &mut Out,
    ) -> Result<Step, Fault> {
        match self {
            Self::Chat(watch) => match watch.look(event)? {
                Look::Pass(piece) => {
                    out.push(piece);
                    Ok(Step::More)
                }
                Look::Skip => Ok(Step::More),
                Look::Done => {
                    last.push(event.raw().clone());
                    Ok(Step::Done)
                }
            },
            Self::Translated(translation) => translation.feed(event, out, last),
            Self::Native(watch) => watch.feed(event, out, last),
        }
    }

    /// What the upstream counted.
    pub(crate) fn tokens(&self) -> TokenCounts {
        match self {
            Self::Chat(watch) => watch.tokens,
            Self::Translated(translation) => translation.watch.tokens,
            Self::Native(watch) => watch.tokens,
        }
    }

    /// How far the answer has come.
    pub(crate) fn reached(&self) -> AnswerProgress {
        let has_content = match self {
            Self::Chat(watch) => watch.has_content,
            Self::Translated(translation) => translation.watch.has_content,
            Self::Native(watch) => watch.has_content,
        };
        if has_content { AnswerProgress::Content } else { AnswerProgress::Begun }
    }

    /// The response object at its end, of a stream of the responses interface.
    pub(crate) fn final_response(&self) -> Option<&serde_json::Value> {
        match self {
            Self::Chat(_) => None,
            Self::Translated(translation) => translation.bridge.as_ref()?.final_response(),
            Self::Native(watch) => watch.final_response(),
        }
    }

    /// Tells the client that the stream failed.
    pub(crate) fn fail(&mut self, error: &crate::failure::ApiError, id: &str, out: &mut Out) {
        match self {
            Self::Translated(translation) if translation.bridge.is_some() => {
                if let Some(bridge) = &mut translation.bridge {
                    bridge.fail(error.code().word(), error.message(), &mut out.joined);
                }
            }
            Self::Native(watch) => watch.fail(error, out),
            Self::Chat(_) | Self::Translated(_) => {
                let mut body = error.body();
                body.error.request_id = Some(id.to_owned());
                let text = serde_json::to_vec(&body).unwrap_or_default();
                out.close_first();
                wire::sse::write_data(&mut out.joined, &text);
            }
        }
    }
}

impl Translation {
    fn feed(&mut self, event: &Event, out: &mut Out, last: &mut Out) -> Result<Step, Fault> {
        let Some((stream, splitter)) = &mut self.anthropic else {
            return look(&mut self.watch, self.bridge.as_mut(), event, (out, last));
        };
        let mut chunks = BytesMut::new();
        stream.feed(event, &mut chunks).map_err(fault)?;
        splitter.push(chunks.freeze());
        while let Some(chunk) = splitter.next() {
            let chunk = chunk.map_err(|_| Fault::Malformed("an event is too long"))?;
            let step = look(&mut self.watch, self.bridge.as_mut(), &chunk, (out, last))?;
            if step == Step::Done {
                return Ok(step);
            }
        }
        Ok(Step::More)
    }
}

/// Takes one chunk of the chat interface.
fn look(
    watch: &mut ChatWatch,
    bridge: Option<&mut responses::Stream>,
    chunk: &Event,
    (out, last): (&mut Out, &mut Out),
) -> Result<Step, Fault> {
    let seen = watch.look(chunk)?;
    match bridge {
        Some(bridge) => {
            if seen == Look::Done {
                bridge.finish(&mut last.joined);
                return Ok(Step::Done);
            }
            if let Look::Pass(_) = seen {
                bridge.feed(chunk, &mut out.joined).map_err(fault)?;
            }
            Ok(Step::More)
        }
        None => match seen {
            Look::Pass(piece) => {
                out.push(piece);
                Ok(Step::More)
            }
            Look::Skip => Ok(Step::More),
            Look::Done => {
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

impl Out {
    /// Adds a whole event.
    pub(crate) fn push(&mut self, event: Bytes) {
        if self.first.is_none() && self.joined.is_empty() {
            self.first = Some(event);
        } else {
            self.close_first();
            self.joined.extend_from_slice(&event);
        }
    }

    /// Where more can be written.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        self.close_first();
        &mut self.joined
    }

    fn close_first(&mut self) {
        if let Some(first) = self.first.take() {
            self.joined.extend_from_slice(&first);
        }
    }

    /// How many bytes wait to go out.
    pub(crate) fn len(&self) -> usize {
        self.first.as_ref().map_or(0, Bytes::len) + self.joined.len()
    }

    /// Everything, and nothing after it.
    pub(crate) fn take(&mut self) -> Option<Bytes> {
        match self.first.take() {
            Some(first) => Some(first),
            None if self.joined.is_empty() => None,
            None => Some(self.joined.split().freeze()),
        }
    }
}
