//! Passes a stream on, as fast as the client reads it and no faster.
//!
//! The client's connection asks for the next piece; only then the upstream is read. When the end
//! marker has come, the request is charged, and only then the marker goes out. A relay that is
//! dropped has lost its client: by policy the upstream is then read to its end, or cancelled.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use gateway_store::{SavedAnswer, StoredResponse};
use ledger::{AnswerProgress, EndReason, HoldId, HoldOutcome, RateLimitStatus};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::begin::{Answering, Begun, Streaming};
use super::chat::Fault;
use super::patience::{Bounds, Patience, Waited};
use super::stage::{Out, Step};
use crate::charge::{Charge, Results};
use crate::failure::ApiError;
use crate::provider::Failure;
use crate::service::Service;

/// The largest answer that is kept for whoever asks again.
pub(crate) const MAX_KEPT_BYTES: usize = 8 * 1024 * 1024;

/// Up to so much of a stream goes out in one piece.
const MAX_JOINED_BYTES: usize = 16 * 1024;

/// A stream on its way to a client.
pub(crate) struct Relay(Option<Box<Inner>>);

/// An upstream that has not begun to answer yet.
pub(crate) type Beginning = Pin<Box<dyn Future<Output = Result<Begun, ApiError>> + Send>>;

/// What a stream of the responses interface leaves behind, and how it says that it failed.
pub(crate) trait Keeper: Send + Sync {
    /// What is stored of the response object at its end.
    fn stored(&self, response: &Value) -> Option<StoredResponse>;

    /// The response object and the event of a response that no upstream began to answer.
    fn refused(&self, error: &ApiError) -> (Value, Bytes);

    /// Whether the answer that is kept for whoever asks again is the response object.
    fn answers_with_object(&self) -> bool;
}

struct Inner {
    service: Arc<Service>,
    charge: Charge,
    source: Source,
    keeper: Option<Arc<dyn Keeper>>,
    /// Everything that was sent, where it is kept for whoever asks again.
    kept: Option<BytesMut>,
    begun: Instant,
}

enum Source {
    Waiting(Beginning),
    Live(Box<Streaming>, Patience),
    Ended,
}

/// What is done about the upstream of a client that left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    Cancel,
    Finish,
}

impl Relay {
    /// A stream that no upstream has begun yet.
    pub(crate) fn waiting(service: &Arc<Service>, charge: Charge, beginning: Beginning) -> Self {
        service.meter.streams.inc();
        let kept = charge.is_kept().then(BytesMut::new);
        Self(Some(Box::new(Inner {
            service: service.clone(),
            charge,
            source: Source::Waiting(beginning),
            keeper: None,
            kept,
            begun: Instant::now(),
        })))
    }

    /// Says what becomes of the response object at the end.
    #[must_use]
    pub(crate) fn keeping(mut self, keeper: Option<Arc<dyn Keeper>>) -> Self {
        if let Some(inner) = &mut self.0 {
            inner.keeper = keeper;
        }
        self
    }

    /// Waits for an upstream to begin, but no longer than this. Nothing was sent to the client
    /// yet, so that a failure can still be told by a status.
    pub(crate) async fn begin(&mut self, patience: Duration) -> Result<(), ApiError> {
        let Some(inner) = &mut self.0 else { return Ok(()) };
        let Source::Waiting(beginning) = &mut inner.source else { return Ok(()) };
        let Ok(result) = timeout(patience, beginning).await else { return Ok(()) };
        let Err(error) = inner.begun(result) else { return Ok(()) };
        let error = error.refunded(inner.charge.id(), inner.charge.room());
        inner.charge.fail(&error).await;
        Err(error)
    }

    /// The id of the request, until its end.
    pub(crate) fn id(&self) -> Option<HoldId> {
        self.0.as_ref().map(|inner| inner.charge.id())
    }

    /// How much of its rate the key has left.
    pub(crate) fn room(&self) -> Option<RateLimitStatus> {
        self.0.as_ref().and_then(|inner| inner.charge.room())
    }

    /// The next piece for the client; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        self.0.as_mut()?.next_kept().await
    }
}

impl Inner {
    /// An upstream has begun, or none will.
    fn begun(&mut self, result: Result<Begun, ApiError>) -> Result<(), ApiError> {
        self.source = Source::Ended;
        let Begun { model, answer } = result?;
        let Answering::Stream(streaming) = answer else { return Err(ApiError::internal()) };
        self.charge.model = Some(model);
        let bounds = Bounds {
            keepalive: self.service.keepalive(),
            idle: streaming.upstream.idle(),
            whole: self.service.config.limits.max_stream,
            held_up: self.service.config.limits.write_timeout,
        };
        self.source = Source::Live(streaming, Patience::new(bounds, self.begun));
        Ok(())
    }

    /// Whether an upstream is in the middle of its answer.
    fn is_under_way(&self) -> bool {
        match self.source {
            Source::Waiting(_) => self.charge.progress().has_begun(),
            Source::Live(..) => true,
            Source::Ended => false,
        }
    }

    /// The next piece, kept where it is to be kept.
    async fn next_kept(&mut self) -> Option<Bytes> {
        let piece = self.next().await;
        if let (Some(piece), Some(kept)) = (&piece, &mut self.kept)
            && kept.len() <= MAX_KEPT_BYTES
        {
            // What goes over the limit shows at the end that not all was kept.
            kept.extend_from_slice(piece);
        }
        piece
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match &mut self.source {
                Source::Ended => return None,
                Source::Waiting(beginning) => {
                    let pause = self.service.keepalive();
                    let Ok(result) = timeout(pause, beginning).await else {
                        return Some(comment());
                    };
                    if let Err(error) = self.begun(result) {
                        return Box::pin(self.refuse(&error)).await;
                    }
                }
                Source::Live(streaming, _) => {
                    if let Some(piece) = streaming.out.take() {
                        return Some(piece);
                    }
                    // Boxed: a stream waits for long, and ends but once.
                    if streaming.step == Step::Done {
                        return Box::pin(self.finish()).await;
                    }
                    if let Some(comment) = self.read().await {
                        return Some(comment);
                    }
                }
            }
        }
    }

    /// Reads the next piece of the upstream; returns what is to be sent meanwhile.
    async fn read(&mut self) -> Option<Bytes> {
        let Source::Live(streaming, patience) = &mut self.source else { return None };
        let waited = patience.wait(&mut streaming.upstream).await;
        // An upstream whose client does not read may close the connection for that reason alone.
        let cut =
            if patience.is_held_up() { EndReason::ClientLeft } else { EndReason::UpstreamFailed };
        let failed = EndReason::UpstreamFailed;
        let (ending, fault) = match waited {
            Waited::Came(Ok(Some(piece))) => {
                match streaming.take_all(piece, patience.came_at_once()) {
                    Ok(()) => return None,
                    Err(fault) => (failed, fault),
                }
            }
            Waited::Came(Ok(None)) => match streaming.take_rest() {
                Ok(Step::Done) => return None,
                Ok(Step::More) => (cut, Fault::Malformed("it ended without its end marker")),
                Err(fault) => (failed, fault),
            },
            Waited::Came(Err(Failure::Malformed(what))) => (failed, Fault::Malformed(what)),
            Waited::Came(Err(Failure::Gone(what))) => (cut, Fault::Malformed(what)),
            Waited::Came(Err(_)) => (cut, Fault::Malformed("it broke off")),
            Waited::Quiet => return Some(comment()),
            Waited::Stopped => (failed, Fault::Malformed("it stopped in the middle of its answer")),
            Waited::TooLong => {
                (EndReason::StreamLimit, Fault::Malformed("its stream is longer than allowed"))
            }
        };
        Box::pin(self.broken(ending, fault)).await
    }

    /// The end marker has come: the request is charged, then the marker goes out.
    async fn finish(&mut self) -> Option<Bytes> {
        let Source::Live(streaming, _) = std::mem::replace(&mut self.source, Source::Ended) else {
            return None;
        };
        let Streaming { upstream, stage, mut last, .. } = *streaming;
        let last = last.take().unwrap_or_default();
        self.charge.tokens = stage.tokens();
        let object = stage.final_response();
        let response = self.stored(object);
        let reached = stage.reached();
        let is_charged = EndReason::Complete.rule(reached).outcome() == HoldOutcome::Settled;
        let answer = is_charged.then(|| self.answer(&last, object)).flatten();
        let results = Results { answer, response, media: None };
        let settling = self.charge.close((EndReason::Complete, reached), results);
        let (settled, ()) = tokio::join!(settling, upstream.close());
        match settled {
            Ok(_) => Some(last),
            Err(error) => {
                if let Some(keeper) = &self.keeper {
                    return Some(keeper.refused(&error).1);
                }
                let mut out = Out::default();
                let mut stage = stage;
                stage.fail(&error, &self.charge.id().to_string(), &mut out);
                out.take()
            }
        }
    }

    fn stored(&self, object: Option<&Value>) -> Option<StoredResponse> {
        self.keeper.as_ref()?.stored(object?)
    }

    /// What is kept for whoever asks again.
    fn answer(&mut self, last: &Bytes, object: Option<&Value>) -> Option<SavedAnswer> {
        let mut body = self.kept.take()?;
        let is_object = self.keeper.as_ref().is_some_and(|keeper| keeper.answers_with_object());
        let answer = if is_object {
            let (status, content_type) = (200, "application/json".to_owned());
            SavedAnswer { status, content_type, body: object?.to_string().into() }
        } else {
            body.extend_from_slice(last);
            SavedAnswer { status: 200, content_type: STREAM.to_owned(), body: body.to_vec() }
        };
        (answer.body.len() <= MAX_KEPT_BYTES).then_some(answer)
    }

    /// The stream ends in the middle of its answer.
    async fn broken(&mut self, ending: EndReason, fault: Fault) -> Option<Bytes> {
        let Source::Live(mut streaming, _) = std::mem::replace(&mut self.source, Source::Ended)
        else {
            return None;
        };
        let what = match &fault {
            Fault::Told(_) => "it told of an error",
            Fault::Malformed(what) => what,
        };
        let reached = streaming.stage.reached();
        let rule = ending.rule(reached);
        let is_charged = rule.outcome() == HoldOutcome::Settled;
        let model = self.charge.model.as_deref().unwrap_or_default();
        tracing::warn!(request = %self.charge.id(), model, what, rule = rule.as_str(), "stream broke");
        self.charge.tokens = streaming.stage.tokens();
        let cost = if is_charged { "the request is charged" } else { "nothing was charged" };
        let message = format!("the model's provider broke off: {what}; {cost}");
        let error = ApiError::new(wire::error::Code::UpstreamUnavailable, message);
        // What came before the fault is the client's.
        let mut out = std::mem::take(&mut streaming.out);
        streaming.stage.fail(&error, &self.charge.id().to_string(), &mut out);
        let out = out.take().unwrap_or_default();
        let object = streaming.stage.final_response();
        let response = self.stored(object);
        let answer = if is_charged { self.answer(&out, object) } else { None };
        self.kept = None;
        // The money is decided before the client is told.
        let results = Results { answer, response, media: None };
        match self.charge.close((ending, reached), results).await {
            Ok(_) => Some(out),
            Err(error) => {
                tracing::error!(error = error.message(), "stream not charged");
                Some(out)
            }
        }
    }

    /// No upstream began to answer, and the client is waiting for a stream already.
    async fn refuse(&mut self, error: &ApiError) -> Option<Bytes> {
        self.kept = None;
        if let Some(keeper) = self.keeper.clone() {
            let (object, event) = keeper.refused(error);
            let results = Results { response: keeper.stored(&object), ..Results::default() };
            // Not charged, so that nothing can be refused.
            let _ = self.charge.close((error.ending(), AnswerProgress::Nothing), results).await;
            return Some(event);
        }
        self.charge.fail(error).await;
        let mut body = error.body();
        body.error.request_id = Some(self.charge.id().to_string());
        let mut out = BytesMut::new();
        wire::sse::write_data(&mut out, &serde_json::to_vec(&body).unwrap_or_default());
        Some(out.freeze())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let Some(inner) = self.0.take() else { return };
        inner.service.meter.streams.dec();
        let must_finish = inner.kept.is_some() || inner.service.leaving() == Leaving::Finish;
        if must_finish && inner.is_under_way() {
            let (service, mut rest) = (inner.service.clone(), inner);
            service.meter.streams.inc();
            // Of the inner part: a relay that cannot be spawned any more would spawn another.
            service.tasks.spawn(async move {
                while rest.next_kept().await.is_some() {}
                rest.service.meter.streams.dec();
            });
        }
    }
}

impl Relay {
    /// Ends for good, whatever is left to be read.
    pub(crate) fn forget(mut self) {
        if let Some(inner) = self.0.take() {
            inner.service.meter.streams.dec();
        }
    }
}

impl Streaming {
    /// Takes a piece, and where there are more behind it, those too.
    fn take_all(&mut self, piece: Bytes, has_more: bool) -> Result<(), Fault> {
        self.take_more(piece)?;
        if has_more { self.join() } else { Ok(()) }
    }

    /// Takes what is left when the upstream has ended: an event may lack its blank line.
    fn take_rest(&mut self) -> Result<Step, Fault> {
        let Some(event) = self.splitter.rest() else { return Ok(self.step) };
        let is_end_marker = event.data().trim_ascii() == b"[DONE]";
        if is_end_marker {
            self.step = self.stage.feed(&event, &mut self.out, &mut self.last)?;
        }
        Ok(self.step)
    }

    /// Takes what came meanwhile: pieces that are there together go out together.
    fn join(&mut self) -> Result<(), Fault> {
        while self.step == Step::More && (1..MAX_JOINED_BYTES).contains(&self.out.len()) {
            let Some(piece) = self.upstream.ready_piece() else { break };
            self.take_more(piece)?;
        }
        Ok(())
    }

    fn take_more(&mut self, piece: Bytes) -> Result<(), Fault> {
        self.splitter.push(piece);
        while let Some(event) = self.splitter.next() {
            let event = event.map_err(|_| Fault::Malformed("an event is too long"))?;
            if event.is_comment() {
                continue;
            }
            self.step = self.stage.feed(&event, &mut self.out, &mut self.last)?;
            if self.step == Step::Done {
                break;
            }
        }
        Ok(())
    }
}

/// The media type of streams.
pub(crate) const STREAM: &str = "text/event-stream";

/// Keeps an idle stream alive, and means nothing to its reader.
pub(crate) fn comment() -> Bytes {
    Bytes::from_static(b": keep-alive\n\n")
}
