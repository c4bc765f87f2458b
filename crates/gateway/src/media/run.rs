//! One media request, from hold to artifacts. Independent of HTTP.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gateway_store::{Artifact, MediaRun};
use ledger::{AnswerProgress, EndReason, HoldId, IdempotencyKey, LimitStatus, Micros};
use wire::error::Code;

use super::Media;
use super::make::{self, Made, Maker, MediaInput};
use crate::background::AbortEarly;
use crate::billing::{Charge, Opened, Order, Replay, Results, saved_json};
use crate::catalogue::{Model, Target};
use crate::clock;
use crate::config::{Capability, Operation};
use crate::failure::{ApiError, ApiResult};
use crate::identity::{Caller, may_use};
use crate::provider::{Failure, Owner, Sender};
use crate::proxy::begin;
use crate::raw_object::RawObject;
use crate::request_log;
use crate::trace::SpanContext;
use crate::upstreams::Attempt;

const UNUSABLE_RETRY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct MediaRequest {
    pub(crate) model: String,
    /// A JSON object: `prompt` or `text`, and options of the provider.
    pub(crate) input: Bytes,
}

#[derive(Debug)]
pub(crate) struct RunContext {
    /// The id of the request, of its hold and of its receipt.
    pub(crate) id: HoldId,
    pub(crate) caller: Caller,
    pub(crate) idempotency: Option<IdempotencyKey>,
    pub(crate) span: Option<SpanContext>,
}

pub(crate) enum Done {
    /// Generated now, and charged.
    Now(Box<Finished>),
    /// An earlier result. The body of the answer is the run as [`wire::media::MediaRun`].
    Replay(Replay),
}

#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) run: MediaRun,
    pub(crate) first: Bytes,
    /// Remaining rate of the key.
    pub(crate) limit_status: LimitStatus,
}

impl Media {
    /// Runs a request: holds the price, asks the model, checks and stores the result, charges it.
    pub(crate) async fn run(
        self: &Arc<Self>,
        context: RunContext,
        request: &MediaRequest,
    ) -> ApiResult<Done> {
        let RunContext { id, caller, idempotency, span } = context;
        let (model, target, capability) = self.resolve(&caller, request)?;
        let input = RawObject::parse(&request.input)?;
        let input = make::translate(&input, capability, &target, self.config.media)?;
        let price = model.prices.of(Operation::Media);
        let order = Order {
            id,
            caller: &caller,
            operation: Operation::Media.as_str(),
            model: Some(&model.id),
            price,
            idempotency,
            background: None,
            parent: None,
        };
        let charge = match Charge::open(&self.billing, order).await? {
            Opened::Charge(charge) => charge,
            Opened::Replay(replay) => return Ok(Done::Replay(replay)),
        };
        let progress = charge.progress();
        let work = Work { media: self.clone(), caller, target, capability, price, span };
        // In a separate task, so that the result is stored, or the price released, even if the
        // client disconnects.
        let tasks = &self.billing.lifecycle.tasks;
        let handle = tasks.spawn(request_log::carry(work.finish(charge, input)));
        AbortEarly::new(handle, progress).wait().await
    }

    /// The model of a full id that makes media, its target, and the capability to use.
    fn resolve(
        &self,
        caller: &Caller,
        request: &MediaRequest,
    ) -> ApiResult<(Arc<Model>, Target, Capability)> {
        let asked = request.model.as_str();
        let model = self.exact_model(caller, asked)?;
        let input = RawObject::parse(&request.input)
            .map_err(|_| ApiError::invalid("input", "`input` must be an object"))?;
        let capability = make::capability(&input, &model.capabilities);
        let (Some(capability), Some(target)) = (capability, model.full_target()) else {
            let message = format!("the model `{asked}` does not support media generation");
            return Err(ApiError::of_param(Code::ModelNotForCapability, "model", message));
        };
        let target = target.clone();
        check_usable(&model)?;
        Ok((model, target, capability))
    }

    /// The model of a full id that this key may use for a capability, and that is usable now.
    pub(crate) fn model_for(
        &self,
        caller: &Caller,
        asked: &str,
        capability: Capability,
    ) -> ApiResult<Arc<Model>> {
        let model = self.exact_model(caller, asked)?;
        if !model.is_for(capability) {
            let message = format!("the model `{asked}` does not support {}", capability.as_str());
            return Err(ApiError::of_param(Code::ModelNotForCapability, "model", message));
        }
        check_usable(&model)?;
        Ok(model)
    }

    /// The model of a full id that this key may use.
    fn exact_model(&self, caller: &Caller, asked: &str) -> ApiResult<Arc<Model>> {
        let catalogue = self.upstreams.catalogue.load();
        let wrong = |code, message: String| ApiError::of_param(code, "model", message);
        let is_full = |model: &&Arc<Model>| model.full_target().is_some();
        let Some(model) = catalogue.model(asked).filter(is_full) else {
            return Err(wrong(Code::ModelNotFound, self.not_found(caller, asked)));
        };
        if !may_use(caller, asked) {
            let message = format!("this key may not use the model `{asked}`");
            return Err(wrong(Code::ModelNotAllowed, message));
        }
        Ok(model.clone())
    }
}

fn check_usable(model: &Model) -> ApiResult<()> {
    if model.is_usable() {
        return Ok(());
    }
    let message = format!("the provider of the model `{}` is currently unavailable", model.id);
    let error = ApiError::new(Code::CapabilityUnavailable, message);
    Err(error.retry_after(UNUSABLE_RETRY))
}

struct Work {
    media: Arc<Media>,
    caller: Caller,
    target: Target,
    capability: Capability,
    price: Micros,
    span: Option<SpanContext>,
}

impl Work {
    async fn finish(self, mut charge: Charge, input: MediaInput) -> ApiResult<Done> {
        let (id, limit_status) = (charge.id(), charge.limit_status());
        // Nothing was delivered yet, so a disconnect is free, whatever the upstream's progress.
        charge.if_dropped(EndReason::ClientLeft, AnswerProgress::Nothing);
        match self.make(&mut charge, input).await {
            Ok((run, first)) => Ok(Done::Now(Box::new(Finished { run, first, limit_status }))),
            Err(error) => {
                let error = error.refunded(id, limit_status);
                charge.fail(&error).await;
                Err(error)
            }
        }
    }

    /// **Invariant:** the bytes are stored before the charge, and the rows that refer to them are
    /// written with it: nothing is charged that cannot be downloaded.
    async fn make(&self, charge: &mut Charge, input: MediaInput) -> ApiResult<(MediaRun, Bytes)> {
        let made = self.ask(charge, input).await?;
        let first = made.first().map(|made| made.bytes.clone()).unwrap_or_default();
        // From here on a disconnect has no effect, and failures are ours.
        charge.detach();
        let artifacts = self.store(made).await?;
        let now = clock::now();
        let kept = clock::micros(self.media.config.artifacts.kept);
        let run = MediaRun {
            id: format!("run_{}", charge.id().to_string().trim_start_matches("req_")),
            member: self.caller.key.member,
            hold: charge.id(),
            model: self.target.id.to_string(),
            capability: self.capability.as_str().to_owned(),
            charge: self.price,
            created_at: now,
            expires_at: now.plus_micros(kept),
            artifacts,
        };
        let body = || serde_json::to_vec(&self.media.view(&run)).unwrap_or_default();
        let answer = charge.is_stored().then(|| saved_json(body()));
        charge.model = Some(self.target.id.clone());
        let results = Results { answer, media: Some(run.clone()), ..Results::default() };
        charge.close(EndReason::Complete, AnswerProgress::Content, results).await?;
        Ok((run, first))
    }

    async fn ask(&self, charge: &Charge, input: MediaInput) -> ApiResult<Vec<Made>> {
        let media = &*self.media;
        let attempt = Attempt::start(&media.upstreams, &self.target, self.span);
        let (member, progress) = (self.caller.key.member, charge.progress());
        let maker = Maker {
            config: &media.config,
            parser: &media.parser,
            target: &self.target,
            progress: &progress,
            sender: Sender { owner: Owner::Member(member), span: attempt.span() },
            member,
        };
        let result = maker.make(input).await;
        attempt.end(&result, &progress);
        result.map_err(api_error)
    }

    /// Stores the bytes under the names of their digests; equal bytes are stored once.
    async fn store(&self, made: Vec<Made>) -> ApiResult<Vec<Artifact>> {
        let mut artifacts = Vec::with_capacity(made.len());
        for Made { media_type, bytes, sha256 } in made {
            let name = super::object_name(&sha256);
            let object = self.media.billing.store.claim_object(sha256, &name).await?;
            let length = bytes.len() as u64;
            self.media.artifacts.put(&object, bytes).await.map_err(|error| {
                tracing::error!(%error, "artifact not stored");
                let message = "the generated files could not be stored; nothing was charged";
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

fn api_error(failure: Failure) -> ApiError {
    match failure {
        Failure::Refused { message } => begin::refused(message.as_deref()),
        Failure::Malformed(what) | Failure::Gone(what) => {
            let message =
                format!("the provider returned no usable result: {what}; nothing was charged");
            ApiError::new(Code::UpstreamUnavailable, message)
        }
        failure => begin::unavailable(begin::retry_after(&failure)),
    }
}
