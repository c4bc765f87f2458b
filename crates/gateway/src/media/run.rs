//! One request for media, from its hold to its artifacts. Needs no HTTP: tools ask for it too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use gateway_store::{Artifact, MediaRun, SavedAnswer};
use ledger::{AnswerProgress, EndReason, HoldId, IdempotencyKey, Micros, RateLimitStatus};
use wire::error::Code;
use wire::media as view;

use super::input::{self, Question};
use super::make::{Made, Way};
use crate::abort_early::AbortEarly;
use crate::catalogue::{Model, Target};
use crate::charge::{Again, Charge, Opened, Order, Results};
use crate::clock;
use crate::config::{Capability, Operation};
use crate::envelope::Envelope;
use crate::failure::ApiError;
use crate::identity::{Caller, hex, may_use};
use crate::provider::{Failure, Owner, Sender};
use crate::proxy::begin;
use crate::request_log;
use crate::service::Service;
use crate::trace::Place;

/// How long a client is told to wait when a model is not usable.
const WAIT: Duration = Duration::from_secs(5);

/// A request for media.
#[derive(Debug)]
pub(crate) struct Ask {
    /// The full id of the model.
    pub(crate) model: String,
    /// A JSON object: `prompt` or `text`, and what the provider knows beside it.
    pub(crate) input: Bytes,
}

/// Who asks.
#[derive(Debug)]
pub(crate) struct Context {
    /// The id of the request, of its hold and of its receipt.
    pub(crate) id: HoldId,
    pub(crate) caller: Caller,
    pub(crate) idempotency: Option<IdempotencyKey>,
    pub(crate) traced: Option<Place>,
}

/// What came of a request.
pub(crate) enum Done {
    /// It was made now, and charged.
    Now(Box<Finished>),
    /// It was made before. The body of the answer is the run as [`view::MediaRun`].
    Again(Again),
}

/// A run that was charged.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) run: MediaRun,
    /// The bytes of its first artifact.
    pub(crate) first: Bytes,
    /// How much of its rate the key has left.
    pub(crate) room: Option<RateLimitStatus>,
}

/// Makes media: sets the price aside, asks the model, checks and stores what came, charges it.
pub(crate) async fn run(
    service: &Arc<Service>,
    context: Context,
    ask: &Ask,
) -> Result<Done, ApiError> {
    let Context { id, caller, idempotency, traced } = context;
    let (model, target, capability) = resolve(service, &caller, ask)?;
    let envelope = Envelope::parse(&ask.input)?;
    let question = input::question(&envelope, capability, &target, &service.config.media)?;
    let order = Order {
        id,
        caller: &caller,
        operation: Operation::Media.word(),
        model: Some(&model.id),
        price: model.media_price,
        idempotency,
        background: None,
    };
    let charge = match Charge::open(service, order).await? {
        Opened::Charge(charge) => charge,
        Opened::Again(known) => return Ok(Done::Again(known)),
    };
    let progress = charge.progress();
    let work = Work {
        service: service.clone(),
        caller,
        target,
        capability,
        price: model.media_price,
        traced,
    };
    // In a task of its own, so that what an upstream has begun to give is stored, or given back,
    // though the client may leave.
    let handle = service.tasks.spawn(request_log::carry(work.finish(charge, question)));
    AbortEarly::new(handle, progress).wait().await
}

/// The model of a full id that can make media, its provider, and what it is used for.
fn resolve(
    service: &Service,
    caller: &Caller,
    ask: &Ask,
) -> Result<(Arc<Model>, Target, Capability), ApiError> {
    let asked = ask.model.as_str();
    let catalogue = service.catalogue.load();
    let wrong = |code, message: String| ApiError::of_param(code, "model", message);
    let is_full = |model: &&Arc<Model>| model.full_target().is_some();
    let Some(model) = catalogue.model(asked).filter(is_full) else {
        return Err(wrong(Code::ModelNotFound, super::not_found(service, caller, asked)));
    };
    if !may_use(caller, asked) {
        let message = format!("this key may not use the model `{asked}`");
        return Err(wrong(Code::ModelNotAllowed, message));
    }
    let envelope = Envelope::parse(&ask.input).map_err(|_| {
        ApiError::of_param(Code::InvalidRequest, "input", "`input` must be an object")
    })?;
    let capability = input::capability(&envelope, &model.capabilities);
    let (Some(capability), Some(target)) = (capability, model.full_target()) else {
        let message = format!("the model `{asked}` is not offered for making media");
        return Err(wrong(Code::ModelNotForCapability, message));
    };
    if !model.is_usable() {
        let message = format!("the provider of the model `{asked}` is not usable at the moment");
        return Err(ApiError::new(Code::CapabilityUnavailable, message).retry_after(WAIT));
    }
    Ok((model.clone(), target.clone(), capability))
}

/// What is done for a request whose price is held.
struct Work {
    service: Arc<Service>,
    caller: Caller,
    target: Target,
    capability: Capability,
    price: Micros,
    traced: Option<Place>,
}

impl Work {
    async fn finish(self, mut charge: Charge, question: Question) -> Result<Done, ApiError> {
        let (id, room) = (charge.id(), charge.room());
        // Nothing was given yet, so nothing is charged, whatever the upstream has begun.
        charge.if_dropped(EndReason::ClientLeft, AnswerProgress::Nothing);
        match self.make(&mut charge, question).await {
            Ok((run, first)) => Ok(Done::Now(Box::new(Finished { run, first, room }))),
            Err(error) => {
                let error = error.refunded(id, room);
                charge.fail(&error).await;
                Err(error)
            }
        }
    }

    /// **Invariant:** the bytes are stored before the charge, and the rows that lead to them are
    /// written with it: nothing is charged that cannot be had.
    async fn make(
        &self,
        charge: &mut Charge,
        question: Question,
    ) -> Result<(MediaRun, Bytes), ApiError> {
        let made = self.ask(charge, question).await?;
        let first = made.first().map(|made| made.bytes.clone()).unwrap_or_default();
        // From here on a client that leaves changes nothing, and a fault is ours.
        charge.detach();
        let artifacts = self.store(made).await?;
        let now = clock::now();
        let kept = i64::try_from(self.service.config.media.kept.as_micros()).unwrap_or(i64::MAX);
        let run = MediaRun {
            id: super::run_id(charge.id()),
            member: self.caller.key.member,
            hold: charge.id(),
            model: self.target.id.to_string(),
            capability: self.capability.word().to_owned(),
            charge: self.price,
            created_at: now,
            expires_at: now.plus_micros(kept),
            artifacts,
        };
        let answer = charge.is_kept().then(|| SavedAnswer {
            status: 200,
            content_type: "application/json".to_owned(),
            body: serde_json::to_vec(&self.service.media_view(&run)).unwrap_or_default(),
        });
        charge.model = Some(self.target.id.clone());
        let results = Results { answer, media: Some(run.clone()), ..Results::default() };
        charge.close((EndReason::Complete, AnswerProgress::Content), results).await?;
        Ok((run, first))
    }

    async fn ask(&self, charge: &Charge, question: Question) -> Result<Vec<Made>, ApiError> {
        let progress = charge.progress();
        let (service, target) = (&*self.service, &self.target);
        let begun = Instant::now();
        let span = self.traced.map(|place| (place.child(), crate::trace::now()));
        let owner = Owner::Member(self.caller.key.member);
        let sender = Sender { owner, traced: span.map(|(place, _)| place) };
        let member = self.caller.key.member;
        let way = Way { service, target, progress: &progress, sender, member };
        let result = way.ask(question).await;
        let outcome = result.as_ref().map_or_else(Failure::word, |_| "ok");
        match &result {
            Ok(_) => target.provider.figures(&service.meter).answered(begun.elapsed()),
            Err(_) => service.meter.failed(&target.provider.name, outcome),
        }
        if let (Some(tracer), Some((place, started))) = (&service.tracer, span) {
            tracer.record(begin::span(target, place, started, outcome));
        }
        match result {
            Ok(made) => {
                target.provider.health.succeeded();
                request_log::note_upstream(&target.id, begun.elapsed());
                Ok(made)
            }
            Err(failure) => {
                begin::note(target, &failure);
                Err(told(failure))
            }
        }
    }

    /// Stores the bytes, each under the name of its digest; equal bytes are stored once.
    async fn store(&self, made: Vec<Made>) -> Result<Vec<Artifact>, ApiError> {
        let mut artifacts = Vec::with_capacity(made.len());
        for Made { media_type, bytes, sha256 } in made {
            let name = super::object_name(&sha256);
            let object = self.service.store.claim_object(sha256, &name).await?;
            let length = bytes.len() as u64;
            self.service.artifacts.put(&object, bytes).await.map_err(|error| {
                tracing::error!(%error, "an artifact was not stored");
                let message = "what was made cannot be stored at the moment; nothing was charged";
                ApiError::new(Code::Unavailable, message)
            })?;
            artifacts.push(Artifact {
                id: format!("art_{:032x}", fastrand::u128(..)),
                object,
                media_type: media_type.to_owned(),
                bytes: length,
                sha256,
            });
        }
        Ok(artifacts)
    }
}

/// What a member is told about a failure of an upstream.
fn told(failure: Failure) -> ApiError {
    match failure {
        Failure::Refused { message } => begin::refused(message.as_deref()),
        Failure::Malformed(what) | Failure::Gone(what) => {
            let message = format!("the provider gave nothing usable: {what}; nothing was charged");
            ApiError::new(Code::UpstreamUnavailable, message)
        }
        failure => begin::unavailable(begin::wait_after(&failure)),
    }
}

impl Service {
    /// A run as members see it.
    pub(crate) fn media_view(&self, run: &MediaRun) -> view::MediaRun {
        let base = self.config.public_url.to_string();
        let base = base.trim_end_matches('/');
        let artifact = |artifact: &Artifact| view::Artifact {
            id: artifact.id.clone(),
            url: format!("{base}/v1/media/artifacts/{}", artifact.id),
            media_type: artifact.media_type.clone(),
            bytes: artifact.bytes,
            sha256: hex(&artifact.sha256),
        };
        view::MediaRun {
            object: "media.run".to_owned(),
            id: run.id.clone(),
            model: run.model.clone(),
            capability: run.capability.clone(),
            artifacts: run.artifacts.iter().map(artifact).collect(),
            charge_micros: run.charge.get(),
            created_at: clock::rfc3339(run.created_at),
            expires_at: clock::rfc3339(run.expires_at),
        }
    }
}
