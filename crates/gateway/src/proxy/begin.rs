//! Asks one upstream after the other until one begins to answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use tokio::time::timeout;
use wire::error::Code;
use wire::sse::Splitter;

use super::ask::{Question, RESPONSES_PATH, Reading};
use super::chat::Fault;
use super::stage::{MAX_EVENT_BYTES, Out, Stage, Step};
use super::whole::Piece;
use crate::catalogue::{Model, Target};
use crate::charge::Progress;
use crate::config::Responses;
use crate::failure::ApiError;
use crate::provider::{Failure, Owner, Provider, Sender, Upstream};
use crate::request_log;
use crate::service::Service;
use crate::trace::{self, Place};
use crate::within::within;

/// The most upstreams that are asked for one request.
const MAX_ATTEMPTS: usize = 4;

/// How long a client is told to wait unless the upstreams know better.
const USUAL_WAIT: Duration = Duration::from_secs(2);

/// An upstream that has begun to answer.
pub(crate) struct Begun {
    /// The full id of its model.
    pub(crate) model: Arc<str>,
    pub(crate) answer: Answering,
}

/// How it answers.
pub(crate) enum Answering {
    Stream(Box<Streaming>),
    Whole(Piece),
}

/// A stream of which the first event has come.
pub(crate) struct Streaming {
    pub(crate) upstream: Upstream,
    pub(crate) splitter: Splitter,
    pub(crate) stage: Stage,
    /// What goes out first.
    pub(crate) out: Out,
    /// What goes out last, should the end have come already.
    pub(crate) last: Out,
    pub(crate) step: Step,
}

/// What a request is asked with.
pub(crate) struct Context {
    pub(crate) service: Arc<Service>,
    pub(crate) model: Arc<Model>,
    /// Whose request it is.
    pub(crate) owner: Owner,
    /// Where it is told that an upstream began to answer.
    pub(crate) progress: Progress,
    /// Where the request stands in a trace.
    pub(crate) traced: Option<Place>,
}

/// Asks until one begins to answer. Nothing has been sent to the client by then.
pub(crate) async fn begin(
    context: Context,
    question: impl Fn(&Target) -> Result<Question, ApiError>,
) -> Result<Begun, ApiError> {
    let Context { service, model, owner, progress, traced } = context;
    let (mut untranslatable, mut wait, mut is_full) = (None, None, true);
    for target in model.candidates().into_iter().take(MAX_ATTEMPTS) {
        let made = match question(target) {
            Ok(question) => question,
            Err(error) => {
                // Another upstream may know the words that this one lacks.
                untranslatable = Some(error);
                continue;
            }
        };
        let path = made.path;
        let begun = Instant::now();
        let place = traced.map(|place| (place.child(), trace::now()));
        let way = Way {
            begun,
            provider: &target.provider,
            progress: &progress,
            sender: Sender { owner, traced: place.map(|place| place.0) },
            max_time: service.config.limits.max_stream,
        };
        let mut result = attempt(&way, made).await;
        match bridge(target, path, &result, &question) {
            None => {}
            Some(Ok(bridged)) => {
                let way = Way { begun: Instant::now(), ..way };
                result = attempt(&way, bridged).await;
                if result.is_ok() {
                    target.provider.responses.set(Responses::Bridged);
                }
            }
            Some(Err(error)) => result = Err(Failure::Unfit(error)),
        }
        let outcome = result.as_ref().map_or_else(Failure::word, |_| "ok");
        match &result {
            Ok(_) => target.provider.figures(&service.meter).answered(begun.elapsed()),
            Err(_) => service.meter.failed(&target.provider.name, outcome),
        }
        if let (Some(tracer), Some((place, started))) = (&service.tracer, place) {
            tracer.record(span(target, place, started, outcome));
        }
        match result {
            Ok(answer) => {
                target.provider.health.succeeded();
                request_log::note_upstream(&target.id, begun.elapsed());
                return Ok(Begun { model: target.id.clone(), answer });
            }
            Err(Failure::Unfit(error)) => {
                progress.set(false);
                untranslatable = Some(error);
            }
            Err(failure) => {
                progress.set(false);
                is_full &= matches!(failure, Failure::Full);
                note(target, &failure);
                if let Failure::Refused { message } = failure {
                    return Err(refused(message.as_deref()));
                }
                wait = Some(wait_after(&failure).min(wait.unwrap_or(Duration::MAX)));
            }
        }
    }
    // Whoever was asked and failed may answer another time; who lacks the words will not.
    match (wait, untranslatable) {
        (None, Some(error)) => Err(error),
        (Some(wait), _) if is_full => Err(busy(wait)),
        (wait, _) => Err(unavailable(wait.unwrap_or(USUAL_WAIT))),
    }
}

/// The question as a chat, for an upstream that turned out not to have the responses interface, or
/// why it cannot be asked as one; `None` if there is nothing to try.
fn bridge(
    target: &Target,
    path: &str,
    result: &Result<Answering, Failure>,
    question: impl Fn(&Target) -> Result<Question, ApiError>,
) -> Option<Result<Question, ApiError>> {
    let modes = &target.provider.responses;
    if path != RESPONSES_PATH || modes.get() != Responses::Auto {
        return None;
    }
    match result {
        Ok(_) => {
            modes.set(Responses::Native);
            None
        }
        Err(Failure::NotThere) => {
            modes.set(Responses::Bridged);
            let question = question(target);
            // Whether it stays so, the next attempt tells.
            modes.set(Responses::Auto);
            Some(question)
        }
        Err(_) => None,
    }
}

/// One upstream on the way.
struct Way<'a> {
    /// When it began to be asked.
    begun: Instant,
    provider: &'a Provider,
    progress: &'a Progress,
    sender: Sender,
    /// How long a whole answer may take.
    max_time: Duration,
}

/// What a trace tells about an upstream.
pub(crate) fn span(
    target: &Target,
    place: Place,
    started: i64,
    outcome: &'static str,
) -> trace::Span {
    trace::Span {
        place,
        side: trace::Side::Client,
        name: "upstream",
        started,
        ended: trace::now(),
        failed: outcome != "ok",
        words: vec![
            ("gen_ai.request.model", target.name.as_str().into()),
            ("agent.provider", (*target.provider.name).into()),
            ("agent.outcome", outcome.into()),
        ],
    }
}

/// Asks one upstream.
async fn attempt(way: &Way<'_>, question: Question) -> Result<Answering, Failure> {
    let provider = way.provider;
    let is_whole = matches!(question.reading, Reading::Whole(_));
    let sent = provider.send(question.path, question.body, way.sender).await;
    let mut upstream = sent.map_err(|failure| match failure {
        // How much there is to answer, the member decided.
        Failure::Late if is_whole => Failure::Gone("its answer did not come in time"),
        failure => failure,
    })?;
    way.progress.set(true);
    match question.reading {
        Reading::Whole(whole) => {
            let reading = upstream.read(provider.max_answer_bytes);
            let body = within(way.max_time, reading)
                .await
                .map_err(|_| Failure::Gone("its answer took too long"))??;
            whole.read(body).map(Answering::Whole)
        }
        Reading::Stream(stage) => {
            let is_stream = upstream
                .headers
                .get(CONTENT_TYPE)
                .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
            if !is_stream {
                return Err(Failure::Malformed("its answer is not a stream"));
            }
            // Nobody asks for them any more, and a stream may stay for long.
            upstream.headers = HeaderMap::new();
            let left = provider.timeouts.first_byte.saturating_sub(way.begun.elapsed());
            first_event(upstream, stage, left).await.map(Answering::Stream)
        }
    }
}

/// Waits for the first event: until it has come, another upstream may be asked.
async fn first_event(
    upstream: Upstream,
    stage: Stage,
    wait: Duration,
) -> Result<Box<Streaming>, Failure> {
    let mut streaming = Box::new(Streaming {
        upstream,
        splitter: Splitter::new(MAX_EVENT_BYTES),
        stage,
        out: Out::default(),
        last: Out::default(),
        step: Step::More,
    });
    let first = async {
        loop {
            let Some(piece) = streaming.upstream.piece().await? else {
                return Err(Failure::Gone("it ended before its first event"));
            };
            if streaming.take(piece)? {
                return Ok(());
            }
        }
    };
    match timeout(wait, first).await {
        Ok(result) => result?,
        Err(_) => return Err(Failure::Gone("it sent no event in time")),
    }
    Ok(streaming)
}

impl Streaming {
    /// Takes the first piece; gives whether an event has come.
    fn take(&mut self, piece: Bytes) -> Result<bool, Failure> {
        self.splitter.push(piece);
        let mut has_event = false;
        while let Some(event) = self.splitter.next() {
            let event = event.map_err(|_| Failure::Malformed("an event is too long"))?;
            if event.is_comment() {
                continue;
            }
            if !has_event {
                self.stage.start(&mut self.out);
                has_event = true;
            }
            self.step = self
                .stage
                .feed(&event, &mut self.out, &mut self.last)
                .map_err(|fault| failure(&fault))?;
            if self.step == Step::Done {
                break;
            }
        }
        Ok(has_event)
    }
}

/// A stream whose first words are that it failed has not begun.
fn failure(fault: &Fault) -> Failure {
    match fault {
        Fault::Told(_) => Failure::Broken { status: 200 },
        Fault::Malformed(what) => Failure::Malformed(what),
    }
}

/// Remembers a failure, for the operator and for the upstream's health.
pub(crate) fn note(target: &Target, failure: &Failure) {
    let provider = &target.provider;
    let (what, status, cause) = (failure.word(), failure.status(), failure.cause());
    let model = &*target.id;
    tracing::warn!(provider = %provider.name, model, what, status, cause, "an upstream failed");
    if failure.is_its_fault() && provider.health.failed() {
        tracing::error!(provider = %provider.name, "provider ejected");
    }
}

/// How long to leave an upstream alone that failed so: as long as it asks for, if it does.
pub(crate) fn wait_after(failure: &Failure) -> Duration {
    match failure {
        Failure::Busy { retry_after } => retry_after.unwrap_or(USUAL_WAIT),
        _ => USUAL_WAIT,
    }
}

pub(crate) fn refused(message: Option<&str>) -> ApiError {
    let message = message.unwrap_or("it gave no reason that can be told");
    let message = format!("the model's provider refused the request: {message}");
    ApiError::new(Code::InvalidRequest, message)
}

/// Everyone who could answer has as much to do as they may.
fn busy(wait: Duration) -> ApiError {
    let message = "this model has as many requests as it takes at once; nothing was charged";
    ApiError::new(Code::ModelBusy, message).retry_after(wait)
}

/// The client may come again as soon as the first of the upstreams wants it to.
pub(crate) fn unavailable(wait: Duration) -> ApiError {
    let message = "no provider of this model gave an answer; nothing was charged";
    ApiError::new(Code::UpstreamUnavailable, message).retry_after(wait)
}
