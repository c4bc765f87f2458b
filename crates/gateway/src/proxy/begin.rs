//! Asks one upstream after the other until one begins to answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use tokio::time::timeout;
use wire::error::Code;
use wire::sse::Splitter;

use super::chat::Fault;
use super::chat_request::{AnswerReader, UpstreamRequest};
use super::event_buffer::{Output, Step};
use super::stage::{MAX_EVENT_BYTES, Stage};
use super::whole::WholeAnswer;
use crate::billing::Progress;
use crate::catalogue::{Model, Target};
use crate::config::Responses;
use crate::failure::{ApiError, ApiResult};
use crate::provider::{COMPACT_PATH, Failure, Owner, Provider, RESPONSES_PATH, Sender, Upstream};
use crate::trace::SpanContext;
use crate::upstreams::{Attempt, Upstreams};

const MAX_ATTEMPTS: usize = 4;

/// Default `Retry-After`, if the upstreams send none.
const DEFAULT_RETRY: Duration = Duration::from_secs(2);

pub(crate) struct Begun {
    pub(crate) model: Arc<str>,
    pub(crate) answer: BegunAnswer,
}

pub(crate) enum BegunAnswer {
    Stream(Box<Streaming>),
    Whole(WholeAnswer),
}

/// A stream whose first event has arrived.
pub(crate) struct Streaming {
    pub(crate) upstream: Upstream,
    pub(crate) splitter: Splitter,
    pub(crate) stage: Stage,
    is_started: bool,
    pub(crate) out: Output,
    pub(crate) step: Step,
}

pub(crate) struct Context {
    pub(crate) upstreams: Arc<Upstreams>,
    pub(crate) model: Arc<Model>,
    pub(crate) owner: Owner,
    /// Set when an upstream begins to answer.
    pub(crate) progress: Progress,
    pub(crate) span: Option<SpanContext>,
}

/// Asks until one begins to answer. Nothing has been sent to the client by then.
pub(crate) async fn begin(
    context: Context,
    request_for: impl Fn(&Target) -> ApiResult<UpstreamRequest>,
) -> ApiResult<Begun> {
    let Context { upstreams, model, owner, progress, span } = context;
    let (mut unfit, mut wait, mut is_full) = (None, None, true);
    for target in model.candidates().into_iter().take(MAX_ATTEMPTS) {
        let request = match request_for(target) {
            Ok(request) => request,
            Err(error) => {
                // Another upstream may support what this one lacks.
                unfit.get_or_insert(error);
                continue;
            }
        };
        let path = request.path;
        let attempt = Attempt::start(&upstreams, target, span);
        let call = Call {
            begun: Instant::now(),
            provider: &target.provider,
            progress: &progress,
            sender: Sender { owner, span: attempt.span() },
            max_time: upstreams.config.limits.max_stream,
        };
        let mut result = call.send(request).await;
        match bridge(target, path, &result, &request_for) {
            None => {}
            Some(Ok(bridged)) => {
                let call = Call { begun: Instant::now(), ..call };
                result = call.send(bridged).await;
                if result.is_ok() && path == RESPONSES_PATH {
                    target.provider.responses.set(Responses::Bridged);
                }
            }
            Some(Err(error)) => result = Err(Failure::Unfit(error)),
        }
        attempt.end(&result, &progress);
        match result {
            Ok(answer) => return Ok(Begun { model: target.id.clone(), answer }),
            Err(Failure::Unfit(error)) => {
                progress.set(false);
                unfit.get_or_insert(error);
            }
            Err(failure) => {
                progress.set(false);
                is_full &= matches!(failure, Failure::Full);
                if let Failure::Refused { message } = failure {
                    return Err(refused(message.as_deref()));
                }
                wait = Some(retry_after(&failure).min(wait.unwrap_or(Duration::MAX)));
            }
        }
    }
    // An upstream that failed may answer later; one that does not support the request will not.
    match (wait, unfit) {
        (None, Some(error)) => Err(error),
        (Some(wait), _) if is_full => Err(busy(wait)),
        (wait, _) => Err(unavailable(wait.unwrap_or(DEFAULT_RETRY))),
    }
}

/// The request as a chat, for an upstream that turned out to lack the responses interface, or why it
/// cannot be one; `None` if there is nothing to retry.
fn bridge(
    target: &Target,
    path: &str,
    result: &Result<BegunAnswer, Failure>,
    request_for: impl Fn(&Target) -> ApiResult<UpstreamRequest>,
) -> Option<ApiResult<UpstreamRequest>> {
    let modes = &target.provider.responses;
    let before = modes.get();
    match (path, before) {
        // Few upstreams with the responses interface can compact.
        (RESPONSES_PATH, Responses::Auto) | (COMPACT_PATH, Responses::Native) => {}
        _ => return None,
    }
    match result {
        Ok(_) => {
            modes.set(Responses::Native);
            None
        }
        Err(Failure::NotThere) => {
            modes.set(Responses::Bridged);
            let request = request_for(target);
            // The next attempt shows whether this is permanent.
            modes.set(before);
            Some(request)
        }
        Err(_) => None,
    }
}

struct Call<'a> {
    begun: Instant,
    provider: &'a Arc<Provider>,
    progress: &'a Progress,
    sender: Sender,
    max_time: Duration,
}

impl Call<'_> {
    async fn send(&self, request: UpstreamRequest) -> Result<BegunAnswer, Failure> {
        let provider = self.provider;
        let is_whole = !matches!(request.reader, AnswerReader::Stream(_));
        let sent = provider.send(request.path, request.body, request.header, self.sender).await;
        let mut upstream = sent.map_err(|failure| match failure {
            // The member decides how long a whole answer takes.
            Failure::Late if is_whole => Failure::Gone("the response timed out"),
            failure => failure,
        })?;
        self.progress.set(true);
        match request.reader {
            AnswerReader::Whole(reader) => {
                reader.read(self.full_body(upstream).await?).map(BegunAnswer::Whole)
            }
            AnswerReader::Checked(reader, check) => {
                let body = self.full_body(upstream).await?;
                check(body.clone()).await?;
                reader.read(body).map(BegunAnswer::Whole)
            }
            AnswerReader::ByType(reader) if upstream.has_type("application/json") => {
                reader.read(self.full_body(upstream).await?).map(BegunAnswer::Whole)
            }
            AnswerReader::Bridged(mut reader) => {
                if let Some(rounds) = &mut reader.rounds {
                    rounds.set_upstream(provider.clone(), self.sender);
                }
                // Boxed: rare, and larger than the rest of this future, which every request allocates.
                let answer = Box::pin(reader.read(upstream, provider.max_answer_bytes));
                let answer = timeout(self.max_time, answer).await;
                let late = Failure::Gone("the response took too long");
                answer.map_err(|_| late)?.map(BegunAnswer::Whole)
            }
            AnswerReader::Bytes | AnswerReader::ByType(..) => {
                let headers = std::mem::take(&mut upstream.headers);
                let media_type = headers.get(CONTENT_TYPE).cloned();
                let stage = Stage::Bytes { media_type, has_content: false };
                first_event(upstream, stage, provider.timeouts.first_byte)
                    .await
                    .map(BegunAnswer::Stream)
            }
            AnswerReader::Stream(mut stage) => {
                stage.set_upstream(provider, self.sender);
                if !upstream.has_type("text/event-stream") {
                    return Err(Failure::Malformed("the response is not an event stream"));
                }
                // Not needed any more, and a stream may last long.
                upstream.headers = HeaderMap::new();
                let left = provider.timeouts.first_byte.saturating_sub(self.begun.elapsed());
                first_event(upstream, stage, left).await.map(BegunAnswer::Stream)
            }
        }
    }

    async fn full_body(&self, mut upstream: Upstream) -> Result<Bytes, Failure> {
        let body = timeout(self.max_time, upstream.read(self.provider.max_answer_bytes)).await;
        body.map_err(|_| Failure::Gone("the response took too long"))?
    }
}

/// Waits for the first event: until it arrives, another upstream can be asked.
async fn first_event(
    upstream: Upstream,
    stage: Stage,
    wait: Duration,
) -> Result<Box<Streaming>, Failure> {
    let mut streaming = Box::new(Streaming {
        upstream,
        splitter: Splitter::new(MAX_EVENT_BYTES),
        stage,
        is_started: false,
        out: Output::default(),
        step: Step::More,
    });
    let first = async {
        loop {
            let Some(piece) = streaming.upstream.piece().await? else {
                return Err(Failure::Gone("the stream ended before its first event"));
            };
            if streaming.take(piece).map_err(|fault| failure(&fault))? {
                return Ok(());
            }
        }
    };
    match timeout(wait, first).await {
        Ok(result) => result?,
        Err(_) => return Err(Failure::Gone("the first event timed out")),
    }
    Ok(streaming)
}

impl Streaming {
    /// Processes a piece; returns whether an event has arrived by now.
    pub(crate) fn take(&mut self, piece: Bytes) -> Result<bool, Fault> {
        if let Stage::Bytes { has_content, .. } = &mut self.stage {
            (self.is_started, *has_content) = (true, true);
            self.out.ready.push(piece);
            return Ok(true);
        }
        self.splitter.push(piece);
        while let Some(event) = self.splitter.next() {
            let event = event.map_err(|_| Fault::Malformed("an event is too long"))?;
            if event.is_comment() {
                continue;
            }
            if !self.is_started {
                self.stage.start(&mut self.out.ready);
                self.is_started = true;
            }
            self.step = self.stage.feed(&event, &mut self.out)?;
            if self.step != Step::More {
                break;
            }
        }
        Ok(self.is_started)
    }
}

/// A stream that begins with an error has not begun to answer.
fn failure(fault: &Fault) -> Failure {
    match fault {
        Fault::Told(_) => Failure::Broken { status: 200 },
        Fault::Malformed(what) => Failure::Malformed(what),
    }
}

pub(crate) fn retry_after(failure: &Failure) -> Duration {
    match failure {
        Failure::Busy { retry_after } => retry_after.unwrap_or(DEFAULT_RETRY),
        _ => DEFAULT_RETRY,
    }
}

pub(crate) fn refused(message: Option<&str>) -> ApiError {
    let message = message.unwrap_or("no reason given");
    let message = format!("the provider rejected the request: {message}");
    ApiError::new(Code::InvalidRequest, message)
}

/// All upstreams of the model have full queues.
fn busy(wait: Duration) -> ApiError {
    let message = "the model is at its limit of concurrent requests; nothing was charged";
    ApiError::new(Code::ModelBusy, message).retry_after(wait)
}

pub(crate) fn unavailable(wait: Duration) -> ApiError {
    let message = "no provider of this model responded; nothing was charged";
    ApiError::new(Code::UpstreamUnavailable, message).retry_after(wait)
}
