//! Passes a stream on, as fast as the client reads it and no faster.
//!
//! The client's connection polls for the next piece; only then the upstream is read. When the end
//! marker arrives, the request is charged, and only then the marker is sent. A relay that is dropped
//! has lost its client: by policy the upstream is then read to its end, or cancelled.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use gateway_store::{SavedAnswer, StoredResponse};
use http::HeaderValue;
use ledger::{AnswerProgress, EndReason, HoldId, HoldOutcome, LimitStatus};
use serde_json::Value;
use tokio::time::{Instant, timeout};
use wire::sse::Splitter;

use super::begin::{Begun, BegunAnswer, Streaming};
use super::chat::Fault;
use super::event_buffer::{EventBuffer, Step};
use super::recorder::ResponseRecorder;
use super::stage::{MAX_EVENT_BYTES, Stage};
use super::stream_timer::{StreamTimeouts, StreamTimer, Waited};
use crate::billing::{Charge, Results, saved_json};
use crate::config::{ClientGone, Config};
use crate::failure::{ApiError, ApiResult, Dialect};
use crate::provider::Failure;
use crate::response_headers::EVENT_STREAM;

pub(crate) const MAX_STORED_ANSWER_BYTES: usize = 8 * 1024 * 1024;

const NEVER: Duration = Duration::from_hours(365 * 24);

/// Maximum bytes of a stream that are joined into one piece.
const MAX_JOINED_BYTES: usize = 16 * 1024;

pub(crate) struct Relay(Option<Box<Inner>>);

pub(crate) type Beginning = Pin<Box<dyn Future<Output = ApiResult<Begun>> + Send>>;

type Searching = Pin<Box<dyn Future<Output = (Box<Streaming>, Result<(), Fault>)> + Send>>;

struct Inner {
    policy: StreamPolicy,
    charge: Charge,
    source: Source,
    /// Set once an upstream has begun.
    timer: Option<StreamTimer>,
    /// The shape of an error before the upstream has begun.
    dialect: Dialect,
    recorder: Option<Arc<ResponseRecorder>>,
    /// Everything that was sent, if it is stored for an idempotency key.
    sent: Option<BytesMut>,
    /// The type of an answer that is not a stream of events.
    media_type: Option<HeaderValue>,
    /// Whether such an answer was cut; shown only by closing the connection.
    is_cut: bool,
    begun: Instant,
}

enum Source {
    Waiting(Beginning),
    Live(Box<Streaming>),
    /// Web searches are executed between two rounds.
    Searching(Searching),
    EndResult,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamPolicy {
    /// Keep-alive interval.
    pub(crate) keepalive: Duration,
    max_stream: Duration,
    write_timeout: Duration,
    on_client_gone: ClientGone,
}

impl StreamPolicy {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            keepalive: config.limits.keepalive_comment.unwrap_or(NEVER),
            max_stream: config.limits.max_stream,
            write_timeout: config.limits.write_timeout,
            on_client_gone: config.on_client_gone,
        }
    }

    /// The policy of answers that cannot contain comments.
    pub(crate) fn without_comments(self) -> Self {
        Self { keepalive: NEVER, ..self }
    }

    /// Whether an answer is read to its end after its client disconnected.
    pub(crate) fn finishes(&self) -> bool {
        self.on_client_gone == ClientGone::Finish
    }
}

impl Relay {
    pub(crate) fn waiting(
        policy: StreamPolicy,
        charge: Charge,
        beginning: Beginning,
        dialect: Dialect,
    ) -> Self {
        charge.billing().metrics.streams.inc();
        let sent = charge.is_stored().then(BytesMut::new);
        Self(Some(Box::new(Inner {
            policy,
            charge,
            source: Source::Waiting(beginning),
            timer: None,
            dialect,
            recorder: None,
            sent,
            media_type: None,
            is_cut: false,
            begun: Instant::now(),
        })))
    }

    #[must_use]
    pub(crate) fn recorded_by(mut self, recorder: Option<Arc<ResponseRecorder>>) -> Self {
        if let Some(inner) = &mut self.0 {
            inner.recorder = recorder;
        }
        self
    }

    /// Waits for an upstream to begin, but no longer than the keep-alive interval. Nothing was sent
    /// yet, so a failure can still have its own status.
    pub(crate) async fn begin(&mut self) -> ApiResult<()> {
        let Some(inner) = &mut self.0 else { return Ok(()) };
        let Source::Waiting(beginning) = &mut inner.source else { return Ok(()) };
        let Ok(result) = timeout(inner.policy.keepalive, beginning).await else { return Ok(()) };
        let Err(error) = inner.begun(result) else { return Ok(()) };
        let error = error.refunded(inner.charge.id(), inner.charge.limit_status());
        inner.charge.fail(&error).await;
        Err(error)
    }

    /// The id of the request, until its end.
    pub(crate) fn id(&self) -> Option<HoldId> {
        self.0.as_ref().map(|inner| inner.charge.id())
    }

    pub(crate) fn limit_status(&self) -> LimitStatus {
        self.0.as_ref().map(|inner| inner.charge.limit_status()).unwrap_or_default()
    }

    pub(crate) fn media_type(&self) -> Option<HeaderValue> {
        self.0.as_ref()?.media_type.clone()
    }

    /// Whether to break off the connection, because the answer was truncated.
    pub(crate) fn is_cut(&self) -> bool {
        self.0.as_ref().is_some_and(|inner| inner.is_cut)
    }

    /// Ends without reading the rest, whatever the policy.
    pub(crate) fn abandon(mut self) {
        if let Some(inner) = self.0.take() {
            inner.charge.billing().metrics.streams.dec();
        }
    }

    /// The next piece for the client; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        self.0.as_mut()?.next_stored().await
    }
}

impl Inner {
    /// An upstream has begun, or none will.
    fn begun(&mut self, result: ApiResult<Begun>) -> ApiResult<()> {
        self.source = Source::EndResult;
        let Begun { model, answer } = result?;
        let BegunAnswer::Stream(streaming) = answer else { return Err(ApiError::internal()) };
        self.charge.model = Some(model);
        if let Stage::Bytes { media_type, .. } = &streaming.stage {
            self.media_type = Some(safe_type(media_type.as_ref()));
        }
        let timeouts = StreamTimeouts {
            keepalive: self.policy.keepalive,
            idle: streaming.upstream.idle,
            whole: self.policy.max_stream,
            blocked: self.policy.write_timeout,
        };
        self.timer = Some(StreamTimer::new(timeouts, self.begun));
        self.source = Source::Live(streaming);
        Ok(())
    }

    /// Whether an upstream is in the middle of its answer.
    fn is_under_way(&self) -> bool {
        match self.source {
            Source::Waiting(_) => self.charge.progress().has_begun(),
            Source::Live(_) | Source::Searching(_) => true,
            Source::EndResult => false,
        }
    }

    /// The next piece, stored if there is an idempotency key.
    async fn next_stored(&mut self) -> Option<Bytes> {
        let piece = self.next().await;
        if let (Some(piece), Some(sent)) = (&piece, &mut self.sent)
            && sent.len() <= MAX_STORED_ANSWER_BYTES
        {
            // One piece beyond the limit shows at the end that the answer is too large.
            sent.extend_from_slice(piece);
        }
        piece
    }

    /// Whether the rest is useless: it is too large to be stored for a repeated request.
    fn is_futile(&self) -> bool {
        let length = self.sent.as_ref().map_or(0, BytesMut::len);
        length > MAX_STORED_ANSWER_BYTES && !self.policy.finishes()
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match &mut self.source {
                Source::EndResult => return None,
                Source::Waiting(beginning) => {
                    let pause = self.policy.keepalive;
                    let Ok(result) = timeout(pause, beginning).await else {
                        return Some(comment());
                    };
                    if let Err(error) = self.begun(result) {
                        return Box::pin(self.refuse(&error)).await;
                    }
                }
                Source::Live(streaming) => {
                    if let Some(piece) = streaming.out.ready.take() {
                        return Some(piece);
                    }
                    // Boxed, to keep the future small while a stream waits.
                    match streaming.step {
                        Step::Done => return Box::pin(self.finish()).await,
                        Step::Search => {
                            if let Some(streaming) = self.take_stream() {
                                self.source = Source::Searching(Box::pin(streaming.search()));
                            }
                        }
                        Step::More => {
                            if let Some(comment) = self.read().await {
                                return Some(comment);
                            }
                        }
                    }
                }
                Source::Searching(searching) => {
                    let Ok((streaming, result)) = timeout(self.policy.keepalive, searching).await
                    else {
                        return Some(comment());
                    };
                    self.source = Source::Live(streaming);
                    if let Err(fault) = result {
                        return Box::pin(self.broken(EndReason::UpstreamFailed, fault)).await;
                    }
                }
            }
        }
    }

    fn take_stream(&mut self) -> Option<Box<Streaming>> {
        match std::mem::replace(&mut self.source, Source::EndResult) {
            Source::Live(streaming) => Some(streaming),
            _ => None,
        }
    }

    /// Reads the next piece of the upstream; returns a comment or failure to send.
    async fn read(&mut self) -> Option<Bytes> {
        let (Source::Live(streaming), Some(timer)) = (&mut self.source, &mut self.timer) else {
            return None;
        };
        let waited = timer.wait(&mut streaming.upstream).await;
        // An upstream whose client does not read may close the connection for that reason alone.
        let cut =
            if timer.is_blocked() { EndReason::ClientLeft } else { EndReason::UpstreamFailed };
        let failed = EndReason::UpstreamFailed;
        let (ending, fault) = match waited {
            Waited::Came(Ok(Some(piece))) => match streaming.take_all(piece, timer.came_at_once) {
                Ok(()) => return None,
                Err(fault) => (failed, fault),
            },
            Waited::Came(Ok(None)) => match streaming.take_rest() {
                Ok(Step::Done | Step::Search) => return None,
                Ok(Step::More) => (cut, Fault::Malformed("the stream ended without an end marker")),
                Err(fault) => (failed, fault),
            },
            Waited::Came(Err(Failure::Malformed(what))) => (failed, Fault::Malformed(what)),
            Waited::Came(Err(Failure::Gone(what))) => (cut, Fault::Malformed(what)),
            Waited::Came(Err(_)) => (cut, Fault::Malformed("the connection was closed")),
            Waited::KeepaliveDue => return Some(comment()),
            Waited::UpstreamSilent => (failed, Fault::Malformed("the stream stalled")),
            Waited::TooLong => {
                (EndReason::StreamLimit, Fault::Malformed("it exceeded the time limit"))
            }
        };
        Box::pin(self.broken(ending, fault)).await
    }

    /// Charges the request after the end marker, then returns the marker.
    async fn finish(&mut self) -> Option<Bytes> {
        let Streaming { upstream, stage, mut out, .. } = *self.take_stream()?;
        let last = out.last.take().unwrap_or_default();
        self.charge.tokens = stage.tokens();
        let object = stage.final_response();
        let response = self.stored(object);
        let reached = stage.reached();
        let is_charged = EndReason::Complete.rule(reached).outcome() == HoldOutcome::Settled;
        let answer = is_charged.then(|| self.answer(&last, object)).flatten();
        let results = Results { answer, response, media: None };
        let settling = self.charge.close(EndReason::Complete, reached, results);
        let (settled, ()) = tokio::join!(settling, upstream.close());
        match settled {
            Ok(_) => Some(last),
            Err(error) => {
                if let Some(recorder) = &self.recorder {
                    return Some(recorder.refused(&error).1);
                }
                let mut out = EventBuffer::default();
                let mut stage = stage;
                stage.fail(&error, &self.charge.id().to_string(), &mut out);
                out.take()
            }
        }
    }

    fn stored(&self, object: Option<&Value>) -> Option<StoredResponse> {
        self.recorder.as_ref()?.stored(object?)
    }

    fn answer(&mut self, last: &Bytes, object: Option<&Value>) -> Option<SavedAnswer> {
        let mut body = self.sent.take()?;
        let is_object = self.recorder.as_ref().is_some_and(|recorder| recorder.is_background);
        let answer = if is_object {
            saved_json(object?.to_string().into())
        } else {
            body.extend_from_slice(last);
            let own = self.media_type.as_ref().and_then(|media_type| media_type.to_str().ok());
            let content_type = own.unwrap_or(EVENT_STREAM).to_owned();
            SavedAnswer { status: 200, content_type, body: body.to_vec() }
        };
        (answer.body.len() <= MAX_STORED_ANSWER_BYTES).then_some(answer)
    }

    async fn broken(&mut self, ending: EndReason, fault: Fault) -> Option<Bytes> {
        let mut streaming = self.take_stream()?;
        self.is_cut = self.media_type.is_some();
        let what = match &fault {
            Fault::Told(_) => "it sent an error",
            Fault::Malformed(what) => what,
        };
        let reached = streaming.stage.reached();
        let rule = ending.rule(reached);
        let is_charged = rule.outcome() == HoldOutcome::Settled;
        let model = self.charge.model.as_deref().unwrap_or_default();
        let id = self.charge.id();
        tracing::warn!(request = %id, model, what, rule = rule.as_str(), "stream failed");
        self.charge.tokens = streaming.stage.tokens();
        let cost = if is_charged { "the request is charged" } else { "nothing was charged" };
        let message = format!("the provider's stream failed: {what}; {cost}");
        let error = ApiError::new(wire::error::Code::UpstreamUnavailable, message);
        // The client gets the events before the fault.
        let mut out = std::mem::take(&mut streaming.out.ready);
        streaming.stage.fail(&error, &self.charge.id().to_string(), &mut out);
        let out = out.take().unwrap_or_default();
        let object = streaming.stage.final_response();
        let response = self.stored(object);
        let answer = if is_charged { self.answer(&out, object) } else { None };
        self.sent = None;
        // The charge is durable before the client learns of the end.
        let results = Results { answer, response, media: None };
        match self.charge.close(ending, reached, results).await {
            Ok(_) => Some(out),
            Err(error) => {
                tracing::error!(error = error.message(), "stream not charged");
                Some(out)
            }
        }
    }

    /// Ends a stream that no upstream began, after comments were sent to the client.
    async fn refuse(&mut self, error: &ApiError) -> Option<Bytes> {
        self.sent = None;
        if let Some(recorder) = self.recorder.clone() {
            let (object, event) = recorder.refused(error);
            let results = Results { response: recorder.stored(&object), ..Results::default() };
            // A release cannot be refused.
            let _ = self.charge.close(error.ending(), AnswerProgress::Nothing, results).await;
            return Some(event);
        }
        self.charge.fail(error).await;
        let mut out = BytesMut::new();
        error.write_event(self.dialect, &self.charge.id().to_string(), &mut out);
        Some(out.freeze())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let Some(mut inner) = self.0.take() else { return };
        let billing = inner.charge.billing().clone();
        billing.metrics.streams.dec();
        let must_finish = inner.sent.is_some() || inner.policy.finishes();
        if must_finish && inner.is_under_way() {
            billing.metrics.streams.inc();
            // The task owns the inner part: a relay that is dropped unspawned would spawn another.
            billing.lifecycle.tasks.clone().spawn(async move {
                while !inner.is_futile() && inner.next_stored().await.is_some() {}
                billing.metrics.streams.dec();
            });
        }
    }
}

impl Streaming {
    /// Executes the searches of the round that has ended, and starts the next one.
    async fn search(mut self: Box<Self>) -> (Box<Self>, Result<(), Fault>) {
        let Stage::Translated(translation) = &mut self.stage else { return (self, Ok(())) };
        let searches = std::mem::take(&mut translation.searches);
        let (Some(rounds), Some(bridge)) = (&mut translation.rounds, &mut translation.bridge)
        else {
            return (self, Ok(()));
        };
        rounds.execute(&searches, bridge, self.out.ready.buffer()).await;
        let Some(messages) = bridge.translator().next_round() else {
            bridge.translator().finish(self.out.last.buffer());
            self.step = Step::Done;
            return (self, Ok(()));
        };
        match rounds.start(messages).await {
            Ok((upstream, anthropic)) => {
                translation.next_round(anthropic);
                self.upstream = upstream;
                self.splitter = Splitter::new(MAX_EVENT_BYTES);
                self.step = Step::More;
                (self, Ok(()))
            }
            Err(_) => (self, Err(Fault::Malformed("it failed after a web search"))),
        }
    }

    /// Processes a piece, and more that have already arrived.
    fn take_all(&mut self, piece: Bytes, has_more: bool) -> Result<(), Fault> {
        self.take(piece)?;
        if has_more { self.join() } else { Ok(()) }
    }

    /// Processes the rest after the upstream has ended: the last event may lack its blank line.
    fn take_rest(&mut self) -> Result<Step, Fault> {
        if matches!(self.stage, Stage::Bytes { .. }) {
            self.step = Step::Done;
        }
        let Some(event) = self.splitter.rest() else { return Ok(self.step) };
        let is_end_marker = event.data().trim_ascii() == b"[DONE]";
        if is_end_marker {
            self.step = self.stage.feed(&event, &mut self.out)?;
        }
        Ok(self.step)
    }

    fn join(&mut self) -> Result<(), Fault> {
        while self.step == Step::More && (1..MAX_JOINED_BYTES).contains(&self.out.ready.len()) {
            let Some(piece) = self.upstream.ready_piece() else { break };
            self.take(piece)?;
        }
        Ok(())
    }
}

/// The type of an upstream's answer, unless a browser could run it.
fn safe_type(media_type: Option<&HeaderValue>) -> HeaderValue {
    const SAFE: [&str; 6] =
        ["audio/", "image/", "text/plain", "text/vtt", "text/event-stream", "application/json"];
    let text = media_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_safe = SAFE.iter().any(|safe| text.starts_with(safe)) && !text.contains("svg");
    let found = media_type.filter(|_| is_safe).cloned();
    found.unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

/// Keeps an idle stream alive; readers ignore it.
pub(crate) fn comment() -> Bytes {
    Bytes::from_static(b": keep-alive\n\n")
}
