//! A request that costs money, from its hold to the end of it.
//!
//! **Invariant:** a hold ends exactly once. Whoever holds a [`Charge`] ends it by a rule; if the
//! charge is dropped instead (the client left, and with it the work), the drop ends it in a task
//! of its own. Should the store be away, ending is tried again until it is back; should this
//! process die, the lease runs out and the store expires the hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gateway_store::{Answer, Closing, KeyRecord, Opening, StoredResponse};
use ledger::{
    End, Ended, Hold, HoldId, IdempotencyKey, Micros, Outcome, Receipt, Refusal, Repeated, Room,
    Rule, Tokens, Wanted,
};

use wire::error::Code;

use crate::failure::ApiError;
use crate::service::Service;

/// How long an answer waits for a store that is away, before it is taken back.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a hold that nobody waits for is tried to be ended.
const MAX_PERSISTENCE: Duration = Duration::from_mins(10);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// What is to be charged, and to whom.
pub(crate) struct Order<'a> {
    pub(crate) id: HoldId,
    pub(crate) caller: &'a KeyRecord,
    pub(crate) operation: &'static str,
    pub(crate) model: &'a str,
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
    /// By which rule it ends if it is dropped; `None` is that the client left.
    if_dropped: Option<Rule>,
    progress: Progress,
    /// The model that answers.
    pub(crate) model: Option<String>,
    /// What the upstream counted.
    pub(crate) tokens: Tokens,
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

    fn rule_if_client_leaves(&self) -> Rule {
        if self.has_begun() { Rule::ClientLeftLate } else { Rule::ClientLeftEarly }
    }
}

/// What comes with the end of a request.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// The answer to keep for whoever asks again.
    pub(crate) answer: Option<Answer>,
    /// The response to store.
    pub(crate) response: Option<StoredResponse>,
}

/// Whether there is something to do for a request, or an answer to give again.
pub(crate) enum Opened {
    Charge(Charge),
    Again(HoldId, Answer),
}

impl Charge {
    /// Sets the price aside, durably, before anything else is done for the request.
    pub(crate) async fn open(service: &Arc<Service>, order: Order<'_>) -> Result<Opened, ApiError> {
        let wanted = Wanted {
            id: order.id,
            member: order.caller.key.member,
            lineage: order.caller.key.lineage,
            amount: order.price,
            operation: order.operation.to_owned(),
            model: Some(order.model.to_owned()),
            owner: service.owner,
            lease_micros: service.lease_micros(),
            idempotency: order.idempotency,
        };
        let opening = Opening { wanted, response: order.background };
        let begun = Instant::now();
        let result = service.store.hold(opening).await?;
        service.meter.held(begun.elapsed());
        match result {
            Ok(hold) => Ok(Opened::Charge(Self {
                service: service.clone(),
                id: hold.id,
                hold: Some(hold),
                if_dropped: None,
                progress: Progress::default(),
                model: None,
                tokens: Tokens::default(),
            })),
            Err(Refusal::Repeated(Repeated::Answered(id))) => {
                match service.store.answer(id).await? {
                    Some(answer) => Ok(Opened::Again(id, answer)),
                    None => Err(ApiError::new(
                        Code::Conflict,
                        "the answer to this Idempotency-Key was charged, but too long to be kept",
                    )),
                }
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// The id of the hold and of its receipt.
    pub(crate) fn id(&self) -> HoldId {
        self.id
    }

    /// How much of its rate the key has left.
    pub(crate) fn room(&self) -> Option<Room> {
        self.hold.as_ref().and_then(|hold| hold.room)
    }

    /// Whether the client asked for its answer to be kept.
    pub(crate) fn is_kept(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.idempotency.is_some())
    }

    /// Where the work tells that an upstream has begun to answer.
    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// No client can leave any more: if this is dropped, the fault is ours.
    pub(crate) fn detach(&mut self) {
        self.if_dropped = Some(Rule::OurFault);
    }

    /// Charges the request; the answer may be given only if this succeeds.
    pub(crate) async fn settle(
        &mut self,
        rule: Rule,
        results: Results,
    ) -> Result<Micros, ApiError> {
        let Some(closing) = self.closing(rule, results) else {
            return Err(ApiError::internal());
        };
        let begun = Instant::now();
        let receipt = end(&self.service, closing, PATIENCE).await?;
        self.service.meter.settled(begun.elapsed());
        self.hold = None;
        match receipt {
            Some(receipt) if receipt.rule.outcome() == Outcome::Settled => {
                self.service.meter.ended(&receipt);
                Ok(receipt.charged)
            }
            receipt => {
                let rule = receipt.map_or("unknown", |receipt| receipt.rule.word());
                tracing::error!(request = %self.id, rule, "a hold ended before its time");
                Err(ApiError::internal())
            }
        }
    }

    /// Gives back what was set aside. It is done when this returns, or a task goes on trying.
    pub(crate) async fn release(mut self, rule: Rule) {
        self.release_with(rule, Results::default()).await;
    }

    /// Gives back what was set aside, and stores what became of the request.
    pub(crate) async fn release_with(&mut self, rule: Rule, results: Results) {
        let Some(closing) = self.closing(rule, results) else { return };
        match end(&self.service, closing, PATIENCE).await {
            Ok(receipt) => {
                self.hold = None;
                if let Some(receipt) = receipt {
                    self.service.meter.ended(&receipt);
                }
            }
            Err(error) => {
                tracing::error!(request = %self.id, error = error.message(), "not yet released");
                self.if_dropped = Some(rule);
            }
        }
    }

    fn closing(&self, rule: Rule, results: Results) -> Option<Closing> {
        let hold = self.hold.as_ref()?;
        Some(Closing {
            end: End {
                id: hold.id,
                member: hold.member,
                rule,
                model: self.model.clone(),
                tokens: self.tokens,
                answered: hold.idempotency.is_some(),
            },
            answer: results.answer,
            response: results.response,
        })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let rule = match self.if_dropped {
            _ if std::thread::panicking() => Rule::OurFault,
            Some(rule) => rule,
            None => self.progress.rule_if_client_leaves(),
        };
        let Some(closing) = self.closing(rule, Results::default()) else { return };
        let service = self.service.clone();
        let id = self.id;
        self.service.tasks.spawn(async move {
            match end(&service, closing, MAX_PERSISTENCE).await {
                Ok(Some(receipt)) => service.meter.ended(&receipt),
                Ok(None) => {}
                Err(_) => tracing::error!(request = %id, "a hold is left to its lease"),
            }
        });
    }
}

/// Ends a hold, trying again while the store is away. Gives the receipt, by whomever it was made.
async fn end(
    service: &Service,
    closing: Closing,
    patience: Duration,
) -> Result<Option<Receipt>, ApiError> {
    let begun = Instant::now();
    let mut pause = FIRST_PAUSE;
    let (id, member) = (closing.end.id, closing.end.member);
    loop {
        let result = match service.store.end(closing.clone()).await {
            Ok(Ended::Now(receipt)) => return Ok(Some(receipt)),
            Ok(Ended::Before) => service.store.receipt(Some(member), id).await,
            Err(error) => Err(error),
        };
        match result {
            Ok(receipt) => return Ok(receipt),
            Err(error) => {
                let is_temporary = error.kind() == gateway_store::Kind::Temporary;
                if !is_temporary || begun.elapsed() + pause > patience {
                    return Err(error.into());
                }
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}
