//! Responses that run in the background.
//!
//! The hold and the queued response are written in one transaction. Events are written to the store
//! as they arrive, so that any process can stream them; if this process dies, the lease of the hold
//! expires, and the response fails without a charge.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use api_dialects::responses::Status;
use gateway_store::ResponseEvent;
use ledger::MemberId;
use serde::Deserialize;
use wire::error::Code;
use wire::sse::Splitter;

use super::{Options, ResponseEvents};
use crate::background::{BackgroundTask, Follower};
use crate::billing::{Billing, Opened, Replay};
use crate::catalogue::Target;
use crate::clock;
use crate::endpoints::event_tail;
use crate::endpoints::fixed_price::replayed;
use crate::endpoints::json;
use crate::endpoints::model_request::ModelRequest;
use crate::failure::{ApiError, ApiResult, Dialect, chain};
use crate::proxy::chat_request::UpstreamRequest;
use crate::proxy::recorder::ResponseRecorder;
use crate::proxy::relay::{Relay, StreamPolicy};
use crate::proxy::stage::MAX_EVENT_BYTES;
use crate::response_headers;
use crate::service::Service;

/// Interval of writes, and maximum number of buffered events.
const WRITE_INTERVAL: Duration = Duration::from_millis(100);
const MAX_WAITING_EVENTS: usize = 256;
/// The interval of checks whether another process cancelled the response.
const STATUS_INTERVAL: Duration = Duration::from_secs(2);

pub(super) async fn start<Q>(
    service: &Service,
    request: ModelRequest,
    options: &Options,
    recorder: Arc<ResponseRecorder>,
    prepare: impl Future<Output = ApiResult<Q>> + Send + 'static,
) -> ApiResult
where
    Q: Fn(&Target) -> ApiResult<UpstreamRequest> + Send + Sync + 'static,
{
    // Before the hold, because it may be refused.
    let follower =
        options.is_streamed.then(|| service.background.follow(recorder.lineage)).transpose()?;
    let queued = recorder.object(Status::Queued);
    let mut charge = match request.open(&service.billing, recorder.stored(&queued)).await? {
        Opened::Charge(charge) => charge,
        Opened::Replay(replay) => {
            return match follower {
                Some(follower) => stream_replay(service, follower, recorder.member, &replay).await,
                None => Ok(replayed(replay)),
            };
        }
    };
    let (limit_status, id) = (charge.limit_status(), charge.id());
    let beginning = request.begin(&service.upstreams, &charge, prepare);
    let task = service.background.start(&recorder.id);
    let events = ResponseEvents::new(&service.billing, recorder.member, recorder.id.clone(), -1);
    let following = follower.map(|follower| event_tail::stream(service, follower, events));
    charge.detach();
    let policy = StreamPolicy::new(&service.config);
    let relay = Relay::waiting(policy, charge, beginning, Dialect::OpenAi);
    let relay = relay.recorded_by(Some(recorder.clone()));
    service.lifecycle.tasks.spawn(run(service.billing.clone(), relay, recorder, task));

    let mut response = following.unwrap_or_else(|| json(&queued));
    response_headers::write_price(response.headers_mut(), id, request.price());
    response_headers::write_limits(limit_status, response.headers_mut());
    Ok(response)
}

/// Streams the response of an earlier request from its first event.
async fn stream_replay(
    service: &Service,
    follower: Follower,
    member: MemberId,
    replay: &Replay,
) -> ApiResult {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    let named: Named =
        serde_json::from_slice(&replay.answer.body).map_err(|_| ApiError::internal())?;
    if service.billing.store.response_status(member, &named.id).await?.is_none() {
        let message = "the response to this Idempotency-Key was deleted";
        return Err(ApiError::new(Code::Conflict, message));
    }
    let events = ResponseEvents::new(&service.billing, member, named.id, -1);
    let mut response = event_tail::stream(service, follower, events);
    response_headers::write_replayed(response.headers_mut());
    response_headers::write_receipt(response.headers_mut(), replay.id, replay.charged);
    Ok(response)
}

async fn run(
    billing: Arc<Billing>,
    mut relay: Relay,
    recorder: Arc<ResponseRecorder>,
    task: BackgroundTask,
) {
    let mut writer = EventWriter {
        billing: &billing,
        recorder: &recorder,
        task: &task,
        waiting: Vec::new(),
        has_begun: false,
    };
    tokio::select! {
        () = task.cancelled.cancelled() => {}
        () = cancelled_elsewhere(&billing, &recorder) => {}
        () = writer.write_all(&mut relay) => {}
    }
    // A cancelled response is not read to its end, whatever the policy for disconnected clients.
    relay.abandon();
}

async fn cancelled_elsewhere(billing: &Billing, recorder: &ResponseRecorder) {
    loop {
        tokio::time::sleep(STATUS_INTERVAL).await;
        let found = billing.store.response_status(recorder.member, &recorder.id).await;
        if found.is_ok_and(|found| found.is_none_or(|status| status == "cancelled")) {
            return;
        }
    }
}

struct EventWriter<'a> {
    billing: &'a Billing,
    recorder: &'a ResponseRecorder,
    task: &'a BackgroundTask,
    waiting: Vec<ResponseEvent>,
    has_begun: bool,
}

impl EventWriter<'_> {
    async fn write_all(&mut self, relay: &mut Relay) {
        let mut splitter = Splitter::new(MAX_EVENT_BYTES);
        let mut ticks = clock::ticks(WRITE_INTERVAL);
        loop {
            while self.waiting.len() >= MAX_WAITING_EVENTS {
                self.write().await;
            }
            let piece = {
                // Not dropped while it is pending: it may be about to be charged.
                let mut next = pin!(relay.next());
                loop {
                    tokio::select! {
                        piece = &mut next => break piece,
                        _ = ticks.tick() => self.write().await,
                    }
                }
            };
            let Some(piece) = piece else { break };
            splitter.push(piece);
            while let Some(Ok(event)) = splitter.next() {
                if let Some(sequence) = sequence(&event.data()) {
                    let event = event.raw().to_vec();
                    self.waiting.push(ResponseEvent { sequence, event });
                }
            }
        }
        while !self.waiting.is_empty() {
            self.write().await;
        }
    }

    /// Writes the waiting events. If the store is unavailable, the next tick retries.
    ///
    /// **Invariant:** no event is stored before the response is in progress or has ended. Cancelling
    /// a response that is in progress is charged, so no content can be read for free.
    async fn write(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let (store, recorder) = (&self.billing.store, self.recorder);
        if !self.has_begun {
            match self.begin().await {
                Ok(true) => self.has_begun = true,
                Ok(false) => return self.waiting.clear(),
                Err(error) => {
                    let error = chain(&error);
                    tracing::warn!(response = recorder.id, %error, "response not updated");
                    return tokio::time::sleep(WRITE_INTERVAL).await;
                }
            }
        }
        match store.append_events(&recorder.id, &self.waiting).await {
            Ok(()) => {
                self.waiting.clear();
                self.task.notify();
            }
            Err(error) => {
                tracing::warn!(response = recorder.id, error = %chain(&error), "events not stored");
                tokio::time::sleep(WRITE_INTERVAL).await;
            }
        }
    }

    /// Marks the response as in progress; `false` if it was cancelled while it was queued, without
    /// a charge.
    async fn begin(&self) -> Result<bool, gateway_store::Error> {
        let (store, recorder) = (&self.billing.store, self.recorder);
        let Some(row) = recorder.stored(&recorder.object(Status::InProgress)) else {
            return Ok(false);
        };
        if store.update_response(&row).await? {
            return Ok(true);
        }
        // It has ended: a short response ends before its first events are stored.
        let status = store.response_status(recorder.member, &recorder.id).await?;
        Ok(status.is_some_and(|status| status != "cancelled"))
    }
}

fn sequence(data: &[u8]) -> Option<i64> {
    #[derive(Deserialize)]
    struct Numbered {
        sequence_number: i64,
    }
    serde_json::from_slice::<Numbered>(data).ok().map(|event| event.sequence_number)
}
