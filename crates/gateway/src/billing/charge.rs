//! A request that costs money, from hold to settlement.
//!
//! **Invariant:** a hold ends exactly once, and [`EndReason::rule`] alone decides whether it is
//! charged. The owner of a [`Charge`] closes it; if the charge is dropped instead (the client
//! disconnected, and with it the work), the drop handler ends the hold in a separate task, or
//! finishes an end that was begun. While the store is unavailable, ending is retried; if this
//! process dies, the lease runs out and the store expires the hold.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway_store::{HoldClosing, KeyRecord, MediaRun, NewHold, SavedAnswer, StoredResponse};
use ledger::{
    AnswerProgress, ChargeRule, EndReason, EndResult, Hold, HoldEnd, HoldId, HoldOutcome,
    HoldRequest, IdempotencyConflict, IdempotencyKey, LimitStatus, MemberId, Micros, Receipt,
    Refusal, TokenCounts,
};

use wire::error::Code;

use super::{Billing, Progress};
use crate::failure::{ApiError, ApiResult};
use crate::request_log::{self, RequestLog};

/// Maximum time of retries to end a hold while the store is unavailable.
const MAX_RETRY_TIME: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(2);

pub(crate) struct Order<'a> {
    pub(crate) id: HoldId,
    pub(crate) caller: &'a KeyRecord,
    pub(crate) operation: &'static str,
    pub(crate) model: Option<&'a Arc<str>>,
    pub(crate) price: Micros,
    pub(crate) idempotency: Option<IdempotencyKey>,
    pub(crate) background: Option<StoredResponse>,
    pub(crate) parent: Option<HoldId>,
}

pub(crate) struct Charge {
    billing: Arc<Billing>,
    hold: Option<Hold>,
    id: HoldId,
    /// The rule for settlement on drop; `None`: the client disconnected.
    if_dropped: Option<ChargeRule>,
    /// Set while the hold is being ended; the drop handler finishes it.
    pending: Option<Box<HoldClosing>>,
    failed: Option<Box<StoredResponse>>,
    progress: Progress,
    log: Option<Arc<RequestLog>>,
    pub(crate) model: Option<Arc<str>>,
    pub(crate) tokens: TokenCounts,
}

#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) answer: Option<SavedAnswer>,
    pub(crate) response: Option<StoredResponse>,
    pub(crate) media: Option<MediaRun>,
}

#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(crate) enum Opened {
    Charge(Charge),
    Replay(Replay),
}

/// The stored answer of an earlier request with the same idempotency key.
pub(crate) struct Replay {
    pub(crate) id: HoldId,
    pub(crate) charged: Micros,
    pub(crate) answer: SavedAnswer,
}

impl Charge {
    /// Holds the price durably, before any work for the request begins.
    pub(crate) async fn open(billing: &Arc<Billing>, order: Order<'_>) -> ApiResult<Opened> {
        let request = HoldRequest {
            id: order.id,
            member: order.caller.key.member,
            lineage: order.caller.key.lineage,
            amount: order.price,
            operation: order.operation.into(),
            model: order.model.cloned(),
            owner: billing.owner,
            lease_micros: billing.lease_micros(),
            idempotency: order.idempotency,
        };
        let member = request.member;
        let failed = order.background.as_ref().map(StoredResponse::failed);
        let mut pending = PendingHold::new(billing, &request, failed.clone());
        let opening = NewHold { request, response: order.background, parent: order.parent };
        let begun = Instant::now();
        let result = billing.store.hold(opening).await?;
        pending.closing = None;
        billing.metrics.hold_seconds.observe(begun.elapsed().as_secs_f64());
        match result {
            Ok(hold) => Ok(Opened::Charge(Self {
                billing: billing.clone(),
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
                Replay::find(billing, member, id).await.map(Opened::Replay)
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    pub(crate) fn billing(&self) -> &Arc<Billing> {
        &self.billing
    }

    pub(crate) fn id(&self) -> HoldId {
        self.id
    }

    pub(crate) fn limit_status(&self) -> LimitStatus {
        self.hold.as_ref().map(|hold| hold.limits).unwrap_or_default()
    }

    /// Whether the answer is stored for an idempotency key.
    pub(crate) fn is_stored(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.idempotency.is_some())
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Sets how the hold ends if this is dropped.
    pub(crate) fn if_dropped(&mut self, ending: EndReason, reached: AnswerProgress) {
        self.if_dropped = Some(ending.rule(reached));
    }

    /// No client is waiting: if this is dropped, the service failed.
    pub(crate) fn detach(&mut self) {
        self.if_dropped(EndReason::ServiceFailed, AnswerProgress::Nothing);
    }

    /// Ends the hold by the rule of the ending, and returns the charge. The end of an answer may be
    /// sent only if this succeeds.
    pub(crate) async fn close(
        &mut self,
        ending: EndReason,
        reached: AnswerProgress,
        results: Results,
    ) -> ApiResult<Micros> {
        let rule = ending.rule(reached);
        if rule.outcome() == HoldOutcome::Settled {
            return self.settle(rule, results).await;
        }
        self.release(rule, results).await;
        Ok(Micros::ZERO)
    }

    pub(crate) async fn fail(&mut self, error: &ApiError) {
        self.release(error.ending().rule(AnswerProgress::Nothing), Results::default()).await;
    }

    async fn settle(&mut self, rule: ChargeRule, results: Results) -> ApiResult<Micros> {
        let Some(closing) = self.closing(rule, results) else {
            return Err(ApiError::internal());
        };
        let begun = Instant::now();
        let closing = self.pending.insert(Box::new(closing));
        let receipt = match end(&self.billing, closing).await {
            Ok(receipt) => receipt,
            Err(error) => {
                // The answer is not sent, so it is not charged.
                let rule = EndReason::ServiceFailed.rule(AnswerProgress::Nothing);
                self.pending = self.closing(rule, Results::default()).map(Box::new);
                return Err(error);
            }
        };
        self.billing.metrics.settle_seconds.observe(begun.elapsed().as_secs_f64());
        self.clear();
        match receipt {
            Some(receipt) if receipt.rule.outcome() == HoldOutcome::Settled => {
                note_end(&self.billing, self.log.as_deref(), &receipt);
                Ok(receipt.charged)
            }
            receipt => {
                let rule = receipt.map_or("unknown", |receipt| receipt.rule.as_str());
                // The store was unavailable for longer than the lease, and another process ended it.
                tracing::error!(request = %self.id, rule, "hold ended early");
                let message = "the database was unavailable for too long; nothing was charged";
                Err(ApiError::new(Code::Unavailable, message))
            }
        }
    }

    /// Releases the hold. If the store is unavailable, the drop handler retries.
    async fn release(&mut self, rule: ChargeRule, results: Results) {
        let Some(closing) = self.closing(rule, results) else { return };
        let closing = self.pending.insert(Box::new(closing));
        match end(&self.billing, closing).await {
            Ok(receipt) => {
                self.clear();
                if let Some(receipt) = receipt {
                    note_end(&self.billing, self.log.as_deref(), &receipt);
                }
            }
            Err(error) => {
                tracing::error!(request = %self.id, error = error.message(), "hold not released");
            }
        }
    }

    fn clear(&mut self) {
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
                attempts: self.progress.attempts(),
                answered: hold.idempotency.is_some(),
            },
            answer: results.answer,
            response: results.response.or_else(failed),
            media: results.media,
        })
    }
}

impl Replay {
    async fn find(billing: &Billing, member: MemberId, id: HoldId) -> ApiResult<Self> {
        let answer = billing.store.answer(id).await?;
        let receipt = Box::pin(billing.store.receipt(Some(member), id)).await?;
        match (answer, receipt) {
            (Some(answer), Some(receipt)) => Ok(Self { id, charged: receipt.charged, answer }),
            _ => Err(ApiError::new(
                Code::Conflict,
                "the response to this Idempotency-Key was charged, but it was too large to store",
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
            persist(&self.billing, closing, self.log.take());
        }
    }
}

/// A hold that was requested and may or may not exist. Dropping it before the store has answered,
/// because the client disconnected or the store failed, releases the hold.
struct PendingHold<'a> {
    billing: &'a Arc<Billing>,
    closing: Option<HoldClosing>,
}

impl<'a> PendingHold<'a> {
    fn new(
        billing: &'a Arc<Billing>,
        request: &HoldRequest,
        failed: Option<StoredResponse>,
    ) -> Self {
        let end = HoldEnd {
            id: request.id,
            member: request.member,
            rule: EndReason::ClientLeft.rule(AnswerProgress::Nothing),
            model: None,
            tokens: TokenCounts::default(),
            attempts: None,
            answered: false,
        };
        Self {
            billing,
            closing: Some(HoldClosing { end, answer: None, response: failed, media: None }),
        }
    }
}

impl Drop for PendingHold<'_> {
    fn drop(&mut self) {
        if let Some(closing) = self.closing.take() {
            persist(self.billing, closing, request_log::current());
        }
    }
}

fn note_end(billing: &Billing, log: Option<&RequestLog>, receipt: &Receipt) {
    billing.ended(receipt);
    if let Some(log) = log {
        log.ended(receipt);
    }
}

/// Ends a hold in a separate task, however long that takes: this process renews its lease.
fn persist(billing: &Arc<Billing>, closing: HoldClosing, log: Option<Arc<RequestLog>>) {
    let billing = billing.clone();
    billing.lifecycle.tasks.clone().spawn(async move {
        let id = closing.end.id;
        while let Err(error) = end(&billing, &closing)
            .await
            .map(|receipt| receipt.iter().for_each(|it| note_end(&billing, log.as_deref(), it)))
        {
            tracing::error!(request = %id, error = error.message(), "hold not ended, retrying");
            tokio::time::sleep(MAX_PAUSE).await;
        }
    });
}

/// Ends a hold, with retries while the store is unavailable. Returns the receipt, even if another
/// task or process ended the hold first.
async fn end(billing: &Billing, closing: &HoldClosing) -> ApiResult<Option<Receipt>> {
    let mut first_failure = None;
    let mut pause = FIRST_PAUSE;
    let (id, member) = (closing.end.id, closing.end.member);
    loop {
        let result = match billing.store.end(closing.clone()).await {
            Ok(EndResult::Ended(receipt)) => return Ok(Some(receipt)),
            Ok(EndResult::AlreadyEnded) => Box::pin(billing.store.receipt(Some(member), id)).await,
            Err(error) => Err(error),
        };
        match result {
            Ok(receipt) => return Ok(receipt),
            Err(error) => {
                let is_temporary = error.kind() == gateway_store::ErrorKind::Temporary;
                let since = *first_failure.get_or_insert_with(Instant::now);
                if !is_temporary || since.elapsed() + pause > MAX_RETRY_TIME {
                    return Err(error.into());
                }
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}
