//! Responses that run without their client.
//!
//! The hold and the queued response are written in one transaction. Whatever happens to the
//! response is written to the store as it happens, so that any process can tell of it; if this
//! process dies, the lease of the hold runs out, and the response is failed and not charged.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use gateway_store::ResponseEvent;
use ledger::MemberId;
use serde::Deserialize;
use tokio::time::{MissedTickBehavior, interval};
use wire::error::Code;
use wire::sse::Splitter;

use super::super::operations::json;
use super::super::paid::{Paid, again, write_replayed};
use super::Wish;
use super::keeper::ResponseKeeper;
use super::tail::{Followed, tail};
use crate::background::{Follower, Running};
use crate::catalogue::Target;
use crate::charge::{Again, Charge, Opened};
use crate::failure::{ApiError, chain};
use crate::proxy::ask::Question;
use crate::proxy::relay::{Keeper, Relay};
use crate::proxy::stage::MAX_EVENT_BYTES;
use crate::rate;
use crate::service::Service;
use crate::translate::responses::Status;

/// How often events are written, and how many may wait for it.
const WRITE_EVERY: Duration = Duration::from_millis(100);
const MAX_WAITING_EVENTS: usize = 256;
/// How often to look whether another process cancelled the response.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Starts a response and answers at once.
pub(super) async fn start<Q>(
    service: &Arc<Service>,
    paid: Paid,
    wish: &Wish,
    keeper: Arc<ResponseKeeper>,
    prepare: impl Future<Output = Result<Q, ApiError>> + Send + 'static,
) -> Result<Response, ApiError>
where
    Q: Fn(&Target) -> Result<Question, ApiError> + Send + Sync + 'static,
{
    // Refused before anything is set aside, if it is.
    let follower =
        wish.is_streamed.then(|| Follower::admit(service, keeper.lineage)).transpose()?;
    let queued = keeper.object(Status::Queued);
    let charge = match paid.open(service, keeper.stored(&queued)).await? {
        Opened::Charge(charge) => charge,
        Opened::Again(known) => {
            return match follower {
                Some(follower) => replay(service, follower, keeper.member, &known).await,
                None => Ok(again(known)),
            };
        }
    };
    let (room, id) = (charge.room(), charge.id());
    let beginning = paid.begin(service, &charge, prepare);
    let running = Running::start(service, &keeper.id);
    let target = Followed { member: keeper.member, id: keeper.id.clone(), after: -1 };
    let following = follower.map(|follower| tail(service, follower, target));
    service.tasks.spawn(run(service.clone(), charge, beginning, keeper, running));

    let mut response = following.unwrap_or_else(|| json(&queued));
    rate::write_price(response.headers_mut(), id, paid.price);
    rate::write_headers(room, response.headers_mut());
    Ok(response)
}

/// Tells of a response that was asked for before, from its first event.
async fn replay(
    service: &Arc<Service>,
    follower: Follower,
    member: MemberId,
    known: &Again,
) -> Result<Response, ApiError> {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    let named: Named =
        serde_json::from_slice(&known.answer.body).map_err(|_| ApiError::internal())?;
    if service.store.response_status(member, &named.id).await?.is_none() {
        let message = "the response to this Idempotency-Key was deleted";
        return Err(ApiError::new(Code::Conflict, message));
    }
    let target = Followed { member, id: named.id, after: -1 };
    let mut response = tail(service, follower, target);
    write_replayed(response.headers_mut());
    rate::write_receipt(response.headers_mut(), known.id, known.charged);
    Ok(response)
}

async fn run(
    service: Arc<Service>,
    mut charge: Charge,
    beginning: crate::proxy::relay::Beginning,
    keeper: Arc<ResponseKeeper>,
    running: Running,
) {
    charge.detach();
    let mut relay = Relay::waiting(&service, charge, beginning).keeping(Some(keeper.clone()));
    let mut record = Record::new(&service, &keeper, &running);
    tokio::select! {
        () = running.cancelled.cancelled() => {}
        () = cancelled_elsewhere(&service, &keeper) => {}
        () = record.write_all(&mut relay) => {}
    }
    // One that was cancelled is not read to its end, whatever is done for clients that leave.
    relay.forget();
}

/// Waits until another process has cancelled the response.
async fn cancelled_elsewhere(service: &Service, keeper: &ResponseKeeper) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let found = service.store.response_status(keeper.member, &keeper.id).await;
        if found.is_ok_and(|found| found.is_none_or(|status| status == "cancelled")) {
            return;
        }
    }
}

/// Writes down what happens to a response, as it happens.
struct Record<'a> {
    service: &'a Service,
    keeper: &'a ResponseKeeper,
    running: &'a Running,
    waiting: Vec<ResponseEvent>,
    has_begun: bool,
}

impl<'a> Record<'a> {
    fn new(service: &'a Service, keeper: &'a ResponseKeeper, running: &'a Running) -> Self {
        Self { service, keeper, running, waiting: Vec::new(), has_begun: false }
    }

    async fn write_all(&mut self, relay: &mut Relay) {
        let mut splitter = Splitter::new(MAX_EVENT_BYTES);
        let mut ticks = interval(WRITE_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            while self.waiting.len() >= MAX_WAITING_EVENTS {
                self.write().await;
            }
            let piece = {
                // A piece that is under way must not be dropped: it may be about to be charged.
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

    /// Writes what waits. If the store is unavailable, the next tick tries again.
    ///
    /// **Invariant:** no event is stored before the response is in progress, or over. Cancelling a
    /// response that is in progress is charged, so that no content can be read for nothing.
    async fn write(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let (store, keeper) = (&self.service.store, self.keeper);
        if !self.has_begun {
            match self.begin().await {
                Ok(Begin::Begun) => self.has_begun = true,
                Ok(Begin::Cancelled) => return self.waiting.clear(),
                Err(error) => {
                    let error = chain(&error);
                    tracing::warn!(response = keeper.id, %error, "response not updated");
                    return tokio::time::sleep(WRITE_EVERY).await;
                }
            }
        }
        match store.append_events(&keeper.id, &self.waiting).await {
            Ok(()) => {
                self.waiting.clear();
                self.running.wrote();
            }
            Err(error) => {
                tracing::warn!(response = keeper.id, error = %chain(&error), "events wait");
                tokio::time::sleep(WRITE_EVERY).await;
            }
        }
    }
}

/// Whether events of a response may be stored.
enum Begin {
    Begun,
    /// It was cancelled while it was queued, and nothing was charged.
    Cancelled,
}

impl Record<'_> {
    async fn begin(&self) -> Result<Begin, gateway_store::Error> {
        let (store, keeper) = (&self.service.store, self.keeper);
        let Some(row) = keeper.stored(&keeper.object(Status::InProgress)) else {
            return Ok(Begin::Cancelled);
        };
        if store.update_response(&row).await? {
            return Ok(Begin::Begun);
        }
        // It is over: a short response reaches its end before its first events are stored.
        let status = store.response_status(keeper.member, &keeper.id).await?;
        let is_cancelled = status.is_none_or(|status| status == "cancelled");
        Ok(if is_cancelled { Begin::Cancelled } else { Begin::Begun })
    }
}

fn sequence(data: &[u8]) -> Option<i64> {
    #[derive(Deserialize)]
    struct Numbered {
        sequence_number: i64,
    }
    serde_json::from_slice::<Numbered>(data).ok().map(|event| event.sequence_number)
}
