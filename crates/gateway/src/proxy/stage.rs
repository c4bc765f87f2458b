//! The processing of each event between the stream of an upstream and that of the client.

use std::sync::Arc;

use api_dialects::{Search, anthropic};
use bytes::BytesMut;
use http::HeaderValue;
use ledger::{AnswerProgress, TokenCounts};
use serde_json::Value;
use wire::sse::{Event, Splitter};

use super::chat::{ChatWatch, ChunkAction, Fault, token_counts};
use super::event_buffer::{EventBuffer, Output, Step};
use super::native::{MessagesWatch, NativeWatch};
use super::rounds::{Bridge, Rounds, sum};
use crate::failure::Dialect;
use crate::provider::{Provider, Sender};

pub(crate) const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

pub(crate) enum Stage {
    /// Chunks of the chat interface pass unchanged.
    Chat(ChatWatch),
    /// Events are translated, in one step or two.
    Translated(Box<Translation>),
    /// Events of the responses interface pass, with our fields replaced.
    Native(Box<NativeWatch>),
    /// Events of the messages interface pass unchanged.
    Messages(Box<MessagesWatch>),
    /// Not events, but bytes of any kind.
    Bytes { media_type: Option<HeaderValue>, has_content: bool },
}

pub(crate) struct Translation {
    /// From the messages interface to the chat interface.
    anthropic: Option<(anthropic::Stream, Splitter)>,
    watch: ChatWatch,
    pub(super) bridge: Option<Bridge>,
    /// Further rounds, if the answer may search the web.
    pub(super) rounds: Option<Rounds>,
    pub(super) searches: Vec<Search>,
    earlier: TokenCounts,
}

impl Stage {
    pub(crate) fn translated(
        anthropic: Option<anthropic::Stream>,
        bridge: Option<Bridge>,
        watch: ChatWatch,
        rounds: Option<Rounds>,
    ) -> Self {
        let anthropic = anthropic.map(|stream| (stream, Splitter::new(MAX_EVENT_BYTES)));
        let (searches, earlier) = (Vec::new(), TokenCounts::default());
        let translation = Translation { anthropic, watch, bridge, rounds, searches, earlier };
        Self::Translated(Box::new(translation))
    }

    pub(crate) fn set_upstream(&mut self, provider: &Arc<Provider>, sender: Sender) {
        if let Self::Translated(translation) = self
            && let Some(rounds) = &mut translation.rounds
        {
            rounds.set_upstream(provider.clone(), sender);
        }
    }

    pub(crate) fn start(&mut self, out: &mut EventBuffer) {
        if let Self::Translated(translation) = self
            && let Some(bridge) = &mut translation.bridge
        {
            bridge.translator().start(out.buffer());
        }
    }

    /// Processes one event. Everything from the end marker on goes to `last`.
    pub(crate) fn feed(&mut self, event: &Event, out: &mut Output) -> Result<Step, Fault> {
        match self {
            Self::Chat(watch) => Ok(pass(watch.inspect(event)?, event, out)),
            Self::Translated(translation) => translation.feed(event, out),
            Self::Native(watch) => watch.feed(event, out),
            Self::Messages(watch) => watch.feed(event, out),
            Self::Bytes { .. } => Ok(Step::More),
        }
    }

    pub(crate) fn tokens(&self) -> TokenCounts {
        match self {
            Self::Chat(watch) => watch.tokens,
            Self::Translated(translation) => sum(translation.earlier, translation.watch.tokens),
            Self::Native(watch) => watch.tokens,
            Self::Messages(watch) => token_counts(watch.reader.usage()),
            Self::Bytes { .. } => TokenCounts::default(),
        }
    }

    pub(crate) fn reached(&self) -> AnswerProgress {
        let has_content = match self {
            Self::Chat(watch) => watch.has_content,
            Self::Translated(translation) => translation.watch.has_content,
            Self::Native(watch) => watch.has_content,
            Self::Messages(watch) => watch.reader.has_content(),
            Self::Bytes { has_content, .. } => *has_content,
        };
        if has_content { AnswerProgress::Content } else { AnswerProgress::Begun }
    }

    pub(crate) fn final_response(&self) -> Option<&Value> {
        match self {
            Self::Chat(_) | Self::Messages(_) | Self::Bytes { .. } => None,
            Self::Translated(translation) => match translation.bridge.as_ref()? {
                Bridge::Responses(stream) => stream.final_response(),
                Bridge::Messages(_) => None,
            },
            Self::Native(watch) => watch.final_response(),
        }
    }

    pub(crate) fn fail(
        &mut self,
        error: &crate::failure::ApiError,
        id: &str,
        out: &mut EventBuffer,
    ) {
        let dialect = match self {
            // The connection is broken off instead.
            Self::Bytes { .. } => return,
            Self::Native(watch) => return watch.fail(error, out),
            Self::Translated(translation) => match &mut translation.bridge {
                Some(Bridge::Responses(stream)) => {
                    return stream.fail(error.code().as_str(), error.message(), out.buffer());
                }
                Some(Bridge::Messages(_)) => Dialect::Anthropic,
                None => Dialect::OpenAi,
            },
            Self::Chat(_) => Dialect::OpenAi,
            Self::Messages(_) => Dialect::Anthropic,
        };
        error.write_event(dialect, id, out.buffer());
    }
}

impl Translation {
    pub(super) fn next_round(&mut self, anthropic: Option<anthropic::Stream>) {
        self.anthropic = anthropic.map(|stream| (stream, Splitter::new(MAX_EVENT_BYTES)));
        self.earlier = sum(self.earlier, std::mem::take(&mut self.watch.tokens));
    }

    fn feed(&mut self, event: &Event, out: &mut Output) -> Result<Step, Fault> {
        let Some((stream, splitter)) = &mut self.anthropic else {
            return self.inspect(event, out);
        };
        let mut chunks = BytesMut::new();
        stream.feed(event, &mut chunks)?;
        splitter.push(chunks.freeze());
        while let Some(chunk) = self.anthropic.as_mut().and_then(|(_, splitter)| splitter.next()) {
            let chunk = chunk.map_err(|_| Fault::Malformed("an event is too long"))?;
            let step = self.inspect(&chunk, out)?;
            if step != Step::More {
                return Ok(step);
            }
        }
        Ok(Step::More)
    }

    fn inspect(&mut self, chunk: &Event, out: &mut Output) -> Result<Step, Fault> {
        let seen = self.watch.inspect(chunk)?;
        let Some(bridge) = &mut self.bridge else {
            return Ok(pass(seen, chunk, out));
        };
        match seen {
            ChunkAction::Pass(_) => bridge.translator().feed(chunk, out.ready.buffer())?,
            ChunkAction::Skip => {}
            ChunkAction::Done => {
                if self.rounds.as_ref().is_some_and(Rounds::may_continue) {
                    self.searches = bridge.translator().begin_searches(out.ready.buffer());
                }
                if !self.searches.is_empty() {
                    return Ok(Step::Search);
                }
                bridge.translator().finish(out.last.buffer());
                return Ok(Step::Done);
            }
        }
        Ok(Step::More)
    }
}

fn pass(seen: ChunkAction, chunk: &Event, out: &mut Output) -> Step {
    match seen {
        ChunkAction::Pass(piece) => out.ready.push(piece),
        ChunkAction::Skip => {}
        ChunkAction::Done => {
            out.last.push(chunk.raw().clone());
            return Step::Done;
        }
    }
    Step::More
}
