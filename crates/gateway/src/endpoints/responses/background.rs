//! Responses that run without their client, and the stream of what happens to them.
//!
//! The hold and the queued response are written in one transaction. Whatever happens to the
//! response is written to the store as it happens, so that any process can tell of it; if this
//! process dies, the lease of the hold runs out, and the response is failed and not charged.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use gateway_store::ResponseEvent;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use ledger::MemberId;
use serde::Deserialize;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use wire::error::Code;
use wire::sse::Splitter;

use super::super::paid::{Paid, again, write_replayed, write_stream_headers};
use super::Wish;
use super::keeper::ResponseKeeper;
use crate::charge::{Again, Charge, Opened};
use crate::failure::{ApiError, chain};
use crate::proxy::ask_responses::AskResponses;
use crate::proxy::begin::begin;
use crate::proxy::relay::{Keeper, Relay, comment};
use crate::proxy::stage::MAX_EVENT_BYTES;
use crate::rate;
use crate::service::Service;
use crate::translate::responses::Status;

/// How often events are written, and how many may wait for it.
const WRITE_EVERY: Duration = Duration::from_millis(100);
const MAX_WAITING_EVENTS: usize = 256;
/// How often to look whether another process cancelled the response.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How often a reader looks for new events, and how many it takes at once.
const POLL_EVERY: Duration = Duration::from_millis(100);
const MAX_EVENTS_AT_ONCE: u32 = 256;
/// How long the last events of a response that is over may take to be written.
const LAST_EVENTS: Duration = Duration::from_secs(1);

/// Starts a response and answers at once.
pub(super) async fn start(
    service: &Arc<Service>,
    paid: Paid,
    wish: &Wish,
    keeper: Arc<ResponseKeeper>,
    ask: Arc<AskResponses>,
) -> Result<Response, ApiError> {
    let queued = keeper.object(Status::Queued);
    let charge = match paid.open(service, keeper.stored(&queued)).await? {
        Opened::Charge(charge) => charge,
        Opened::Again(known) if wish.is_streamed => return replay(service, &paid, &known).await,
        Opened::Again(known) => return Ok(again(known)),
    };
    let (room, id) = (charge.room(), charge.id());
    let question = move |target: &_| ask.question(target);
    let beginning = Box::pin(begin(paid.context(service, &charge), question));
    let token = CancellationToken::new();
    service.background.pin().insert(keeper.id.clone(), token.clone());
    service.tasks.spawn(run(service.clone(), charge, beginning, keeper.clone(), token));

    let mut response = if wish.is_streamed {
        tail(service.clone(), keeper.member, keeper.id.clone(), -1)
    } else {
        let mut response = Response::new(Body::from(queued.to_string()));
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        response
    };
    rate::write_receipt(response.headers_mut(), id, paid.price);
    if let Some(room) = room {
        rate::write_headers(&room, response.headers_mut());
    }
    Ok(response)
}

/// Tells of a response that was asked for before, from its first event.
async fn replay(service: &Arc<Service>, paid: &Paid, known: &Again) -> Result<Response, ApiError> {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    let member = paid.caller.key.member;
    let named: Named =
        serde_json::from_slice(&known.answer.body).map_err(|_| ApiError::internal())?;
    if service.store.response(member, &named.id).await?.is_none() {
        let message = "the response to this Idempotency-Key was deleted";
        return Err(ApiError::new(Code::Conflict, message));
    }
    let mut response = tail(service.clone(), member, named.id, -1);
    write_replayed(response.headers_mut(), known.id, known.charged);
    Ok(response)
}

async fn run(
    service: Arc<Service>,
    mut charge: Charge,
    beginning: crate::proxy::relay::Beginning,
    keeper: Arc<ResponseKeeper>,
    token: CancellationToken,
) {
    charge.detach();
    let mut relay = Relay::waiting(&service, charge, beginning).keeping(Some(keeper.clone()));
    tokio::select! {
        () = token.cancelled() => {}
        () = cancelled_elsewhere(&service, &keeper) => {}
        () = record(&service, &mut relay, &keeper) => {}
    }
    // One that was cancelled is not read to its end, whatever is done for clients that leave.
    relay.forget();
    service.background.pin().remove(&keeper.id);
}

/// Waits until another process has cancelled the response.
async fn cancelled_elsewhere(service: &Service, keeper: &ResponseKeeper) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let found = service.store.response(keeper.member, &keeper.id).await;
        if found.is_ok_and(|found| found.is_none_or(|stored| stored.status == "cancelled")) {
            return;
        }
    }
}

/// Writes down what happens, as it happens.
async fn record(service: &Service, relay: &mut Relay, keeper: &ResponseKeeper) {
    let mut splitter = Splitter::new(MAX_EVENT_BYTES);
    let mut waiting: Vec<ResponseEvent> = Vec::new();
    let mut ticks = interval(WRITE_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut has_begun = false;
    loop {
        while waiting.len() >= MAX_WAITING_EVENTS {
            write(service, keeper, &mut waiting, &mut has_begun).await;
        }
        let piece = {
            // A piece that is under way must not be dropped: it may be about to be charged.
            let mut next = pin!(relay.next());
            loop {
                tokio::select! {
                    piece = &mut next => break piece,
                    _ = ticks.tick() => {
                        write(service, keeper, &mut waiting, &mut has_begun).await;
                    }
                }
            }
        };
        let Some(piece) = piece else { break };
        splitter.push(piece);
        while let Some(Ok(event)) = splitter.next() {
            if let Some(sequence) = sequence(&event.data()) {
                waiting.push(ResponseEvent { sequence, event: event.raw().to_vec() });
            }
        }
    }
    while !waiting.is_empty() {
        write(service, keeper, &mut waiting, &mut has_begun).await;
    }
}

/// Writes what waits. Should the store be away, it is tried again with the next tick.
async fn write(
    service: &Service,
    keeper: &ResponseKeeper,
    waiting: &mut Vec<ResponseEvent>,
    has_begun: &mut bool,
) {
    if waiting.is_empty() {
        return;
    }
    if !*has_begun
        && let Some(row) = keeper.stored(&keeper.object(Status::InProgress))
        && let Err(error) = service.store.update_response(&row).await
    {
        tracing::warn!(response = keeper.id, error = %chain(&error), "a response was not updated");
    }
    *has_begun = true;
    match service.store.append_events(&keeper.id, waiting).await {
        Ok(()) => waiting.clear(),
        Err(error) => {
            tracing::warn!(response = keeper.id, error = %chain(&error), "events wait");
            tokio::time::sleep(WRITE_EVERY).await;
        }
    }
}

fn sequence(data: &[u8]) -> Option<i64> {
    #[derive(Deserialize)]
    struct Numbered {
        sequence_number: i64,
    }
    serde_json::from_slice::<Numbered>(data).ok().map(|event| event.sequence_number)
}

/// A stream of what happened after an event, and of what goes on to happen.
pub(super) fn tail(service: Arc<Service>, member: MemberId, id: String, after: i64) -> Response {
    let keepalive = service.keepalive();
    let state = Tail { service, member, id, after, over_since: None, is_over: false };
    let pieces = futures_util::stream::unfold(state, move |mut state| async move {
        let piece = state.next(keepalive).await?;
        Some((Ok::<Bytes, std::convert::Infallible>(piece), state))
    });
    let mut response = Body::from_stream(pieces).into_response();
    write_stream_headers(response.headers_mut());
    response
}

struct Tail {
    service: Arc<Service>,
    member: MemberId,
    id: String,
    after: i64,
    /// Since when the response is known to be over.
    over_since: Option<Instant>,
    /// Whether nothing more is to be told.
    is_over: bool,
}

impl Tail {
    async fn next(&mut self, keepalive: Duration) -> Option<Bytes> {
        let begun = Instant::now();
        while !self.is_over {
            let found = self.service.store.response(self.member, &self.id).await.ok()?;
            let events =
                self.service.store.events(&self.id, self.after, MAX_EVENTS_AT_ONCE).await.ok()?;
            if let Some(last) = events.last() {
                self.after = last.sequence;
                self.is_over = is_last(&last.event);
                let joined: Vec<u8> = events.into_iter().flat_map(|event| event.event).collect();
                return Some(joined.into());
            }
            match found.map(|stored| stored.status).as_deref() {
                None | Some("cancelled") => break,
                Some(status) if is_over(status) => {
                    // It is charged first and told then: its last events may be on their way.
                    let since = *self.over_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > LAST_EVENTS {
                        break;
                    }
                }
                Some(_) => {}
            }
            if begun.elapsed() > keepalive {
                return Some(comment());
            }
            tokio::time::sleep(POLL_EVERY).await;
        }
        self.is_over = true;
        None
    }
}

/// Whether an event is the last one of its response.
fn is_last(event: &[u8]) -> bool {
    const LAST: [&[u8]; 3] = [b"completed", b"failed", b"incomplete"];
    let name = event.strip_prefix(b"event: response.");
    let name = name.and_then(|rest| rest.split(|byte| matches!(byte, b'\r' | b'\n')).next());
    name.is_some_and(|name| LAST.contains(&name))
}

/// Whether nothing more happens to a response.
pub(super) fn is_over(status: &str) -> bool {
    !matches!(status, "queued" | "in_progress")
}
