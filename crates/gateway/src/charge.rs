//! A request that costs money, from its hold to the end of it.
//!
//! **Invariant:** a hold ends exactly once, and [`EndReason::rule`] alone decides whether it is
//! charged. The owner of a [`Charge`] closes it; if the charge is dropped instead (the client
//! disconnected, and with it the work), the drop handler ends the hold in a separate task, or
//! finishes an end that was begun. While the store is unavailable, ending is retried; if this
//! process dies, the lease runs out and the store expires the hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gateway_store::{HoldClosing, KeyRecord, MediaRun, NewHold, SavedAnswer, StoredResponse};
use ledger::{
    AnswerProgress, ChargeRule, EndReason, EndResult, Hold, HoldEnd, HoldId, HoldOutcome,
    HoldRequest, IdempotencyConflict, IdempotencyKey, MemberId, Micros, RateLimitStatus, Receipt,
    Refusal, TokenCounts,
};

use wire::error::Code;

use crate::failure::ApiError;
use crate::request_log::{self, RequestLog};
use crate::service::Service;

/// How long an answer waits for a store that is away, before it is taken back.
const PATIENCE: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// What is to be charged, and to whom.
pub(crate) struct Order<'a> {
    pub(crate) id: HoldId,
    pub(crate) caller: &'a KeyRecord,
    pub(crate) operation: &'static str,
    pub(crate) model: Option<&'a Arc<str>>,
    pub(crate) price: Micros,
    pub(crate) idempotency: Option<IdempotencyKey>,
    /// A response that begins to run in the background with this hold.
    pub(crate) background: Option<StoredResponse>,
}

/// A hold that waits for its end.
pub(crate) struct Charge {
    service: Arc<Service>,
    hold: Option<Hold>,
    id: HoldId,
    /// By which rule it ends if it is dropped; `None`: the client disconnected.
    if_dropped: Option<ChargeRule>,
    /// How its end was begun: whoever is dropped while ending goes on with just that.
    pending: Option<Box<HoldClosing>>,
    /// What is stored of a background response that comes to nothing.
    failed: Option<Box<StoredResponse>>,
    progress: Progress,
    /// The line of the request waits for its end.
    log: Option<Arc<RequestLog>>,
    /// The model that answers.
    pub(crate) model: Option<Arc<str>>,
    /// What the upstream counted.
    pub(crate) tokens: TokenCounts,
}

/// Whether an upstream has begun to answer: a client that leaves after that is charged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress(Arc<AtomicBool>);

impl Progress {
    pub(crate) fn set(&self, answer_began: bool) {
        self.0.store(answer_began, Ordering::Relaxed);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn reached(&self) -> AnswerProgress {
        if self.has_begun() { AnswerProgress::Begun } else { AnswerProgress::Nothing }
    }
}

/// What comes with the end of a request.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// The answer to keep for whoever asks again.
    pub(crate) answer: Option<SavedAnswer>,
    /// The response to store.
    pub(crate) response: Option<StoredResponse>,
    /// The media that were made.
    pub(crate) media: Option<MediaRun>,
}

/// Whether there is something to do for a request, or an answer to give again.
pub(crate) enum Opened {
    Charge(Charge),
    Again(Again),
}

/// An answer that was given before.
pub(crate) struct Again {
    /// Its receipt.
    pub(crate) id: HoldId,
    /// What it cost then.
    pub(crate) charged: Micros,
    pub(crate) answer: SavedAnswer,
}

impl Charge {
    /// Sets the price aside, durably, before anything else is done for the request.
    pub(crate) async fn open(service: &Arc<Service>, order: Order<'_>) -> Result<Opened, ApiError> {
        let request = HoldRequest {
            id: order.id,
            member: order.caller.key.member,
            lineage: order.caller.key.lineage,
            amount: order.price,
            operation: order.operation.into(),
            model: order.model.cloned(),
            owner: service.owner,
            lease_micros: service.lease_micros(),
            idempotency: order.idempotency,
        };
        let member = request.member;
        let failed = order.background.as_ref().map(StoredResponse::failed);
        let mut unknown = Unknown::new(service, &request, failed.clone());
        let opening = NewHold { request, response: order.background };
        let begun = Instant::now();
        let result = service.store.hold(opening).await?;
        unknown.is_known();
        service.meter.held(begun.elapsed());
        match result {
            Ok(hold) => Ok(Opened::Charge(Self {
                service: service.clone(),
                id: hold.id,
                hold: Some(hold),
                if_dropped: None,
                pending: None,
                failed: failed.map(Box::new),
                progress: Progress::default(),
                log: request_log::current(),
                model: None,
                tokens: TokenCounts::default(),
            })),
            Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::Answered(id))) => {
                Again::find(service, member, id).await.map(Opened::Again)
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// The id of the hold and of its receipt.
    pub(crate) fn id(&self) -> HoldId {
        self.id
    }

    /// How much of its rate the key has left.
    pub(crate) fn room(&self) -> Option<RateLimitStatus> {
        self.hold.as_ref().and_then(|hold| hold.rate_limit)
    }

    /// Whether the client asked for its answer to be kept.
    pub(crate) fn is_kept(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.idempotency.is_some())
    }

    /// Where the work tells that an upstream has begun to answer.
    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// How the hold ends if this is dropped.
    pub(crate) fn if_dropped(&mut self, ending: EndReason, reached: AnswerProgress) {
        self.if_dropped = Some(ending.rule(reached));
    }

    /// No client is waiting: if this is dropped, the service failed.
    pub(crate) fn detach(&mut self) {
        self.if_dropped(EndReason::ServiceFailed, AnswerProgress::Nothing);
    }

    /// Ends the hold as the table says, and returns what was charged. The end of an answer may be
    /// sent only if this succeeds.
    pub(crate) async fn close(
        &mut self,
        (ending, reached): (EndReason, AnswerProgress),
        results: Results,
    ) -> Result<Micros, ApiError> {
        let rule = ending.rule(reached);
        if rule.outcome() == HoldOutcome::Settled {
            return self.settle(rule, results).await;
        }
        self.release(rule, results).await;
        Ok(Micros::ZERO)
    }

    /// Gives back the price of a request that failed with this error.
    pub(crate) async fn fail(&mut self, error: &ApiError) {
        self.release(error.ending().rule(AnswerProgress::Nothing), Results::default()).await;
    }

    async fn settle(&mut self, rule: ChargeRule, results: Results) -> Result<Micros, ApiError> {
        let Some(closing) = self.closing(rule, results) else {
            return Err(ApiError::internal());
        };
        let begun = Instant::now();
        let closing = self.pending.insert(Box::new(closing));
        let receipt = match end(&self.service, closing).await {
            Ok(receipt) => receipt,
            Err(error) => {
                // The answer is not given away, and so it is not charged either.
                let rule = EndReason::ServiceFailed.rule(AnswerProgress::Nothing);
                self.pending = self.closing(rule, Results::default()).map(Box::new);
                return Err(error);
            }
        };
        self.service.meter.settled(begun.elapsed());
        self.is_over();
        match receipt {
            Some(receipt) if receipt.rule.outcome() == HoldOutcome::Settled => {
                note_end(&self.service, self.log.as_deref(), &receipt);
                Ok(receipt.charged)
            }
            receipt => {
                let rule = receipt.map_or("unknown", |receipt| receipt.rule.as_str());
                // The books were away for longer than the lease, and another process looked first.
                tracing::error!(request = %self.id, rule, "a hold ended before its time");
                let message = "the books were away for too long; nothing was charged";
                Err(ApiError::new(Code::Unavailable, message))
            }
        }
    }

    /// Gives back what was set aside. If the store is unavailable, the drop handler retries.
    async fn release(&mut self, rule: ChargeRule, results: Results) {
        let Some(closing) = self.closing(rule, results) else { return };
        let closing = self.pending.insert(Box::new(closing));
        match end(&self.service, closing).await {
            Ok(receipt) => {
                self.is_over();
                if let Some(receipt) = receipt {
                    note_end(&self.service, self.log.as_deref(), &receipt);
                }
            }
            Err(error) => {
                tracing::error!(request = %self.id, error = error.message(), "not yet released");
            }
        }
    }

    fn is_over(&mut self) {
        self.hold = None;
        self.pending = None;
    }

    fn closing(&self, rule: ChargeRule, results: Results) -> Option<HoldClosing> {
        let hold = self.hold.as_ref()?;
        let is_released = rule.outcome() != HoldOutcome::Settled;
        let failed = || self.failed.as_deref().cloned().filter(|_| is_released);
        Some(HoldClosing {
            end: HoldEnd {
                id: hold.id,
                member: hold.member,
                rule,
                model: self.model.clone(),
                tokens: self.tokens,
                answered: hold.idempotency.is_some(),
            },
            answer: results.answer,
            response: results.response.or_else(failed),
            media: results.media,
        })
    }
}

impl Again {
    async fn find(service: &Service, member: MemberId, id: HoldId) -> Result<Self, ApiError> {
        let answer = service.store.answer(id).await?;
        let receipt = Box::pin(service.store.receipt(Some(member), id)).await?;
        match (answer, receipt) {
            (Some(answer), Some(receipt)) => Ok(Self { id, charged: receipt.charged, answer }),
            _ => Err(ApiError::new(
                Code::Conflict,
                "the answer to this Idempotency-Key was charged, but too long to be kept",
            )),
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let rule = match self.if_dropped {
            _ if std::thread::panicking() => EndReason::ServiceFailed.rule(AnswerProgress::Nothing),
            Some(rule) => rule,
            None => EndReason::ClientLeft.rule(self.progress.reached()),
        };
        let begun = self.pending.take().map(|closing| *closing);
        if let Some(closing) = begun.or_else(|| self.closing(rule, Results::default())) {
            persist(&self.service, closing, self.log.take());
        }
    }
}

/// A hold that was asked for, and of which nobody knows whether it stands.
struct Unknown<'a> {
    service: &'a Arc<Service>,
    closing: Option<HoldClosing>,
}

impl<'a> Unknown<'a> {
    fn new(
        service: &'a Arc<Service>,
        request: &HoldRequest,
        failed: Option<StoredResponse>,
    ) -> Self {
        let end = HoldEnd {
            id: request.id,
            member: request.member,
            rule: EndReason::ClientLeft.rule(AnswerProgress::Nothing),
            model: None,
            tokens: TokenCounts::default(),
            answered: false,
        };
        Self {
            service,
            closing: Some(HoldClosing { end, answer: None, response: failed, media: None }),
        }
    }

    /// The store has answered.
    fn is_known(&mut self) {
        self.closing = None;
    }
}

/// The client left, or the store broke, while the hold was being written: it may stand.
impl Drop for Unknown<'_> {
    fn drop(&mut self) {
        if let Some(closing) = self.closing.take() {
            persist(self.service, closing, request_log::current());
        }
    }
}

/// Counts and logs the end of a request.
fn note_end(service: &Service, log: Option<&RequestLog>, receipt: &Receipt) {
    service.meter.ended(receipt);
    if let Some(log) = log {
        log.ended(receipt);
    }
}

/// Ends a hold in a task of its own, however long that takes: this process renews its lease.
fn persist(service: &Arc<Service>, closing: HoldClosing, log: Option<Arc<RequestLog>>) {
    let service = service.clone();
    service.tasks.clone().spawn(async move {
        let id = closing.end.id;
        while let Err(error) = end(&service, &closing)
            .await
            .map(|receipt| receipt.iter().for_each(|it| note_end(&service, log.as_deref(), it)))
        {
            tracing::error!(request = %id, error = error.message(), "a hold is still to be ended");
            tokio::time::sleep(MAX_PAUSE).await;
        }
    });
}

/// Ends a hold, trying again while the store is away. Gives the receipt, by whomever it was made.
async fn end(service: &Service, closing: &HoldClosing) -> Result<Option<Receipt>, ApiError> {
    // Since the first failure.
    let mut away = None;
    let mut pause = FIRST_PAUSE;
    let (id, member) = (closing.end.id, closing.end.member);
    loop {
        let result = match service.store.end(closing.clone()).await {
            Ok(EndResult::Ended(receipt)) => return Ok(Some(receipt)),
            Ok(EndResult::AlreadyEnded) => Box::pin(service.store.receipt(Some(member), id)).await,
            Err(error) => Err(error),
        };
        match result {
            Ok(receipt) => return Ok(receipt),
            Err(error) => {
                let is_temporary = error.kind() == gateway_store::ErrorKind::Temporary;
                let away = *away.get_or_insert_with(Instant::now);
                if !is_temporary || away.elapsed() + pause > PATIENCE {
                    return Err(error.into());
                }
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}
