//! Requests answered by a model: held, sent to an upstream, charged.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use gateway_store::StoredResponse;
use http::HeaderValue;
use http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use ledger::{AnswerProgress, EndReason, IdempotencyKey, Micros};

use super::fixed_price::replayed;
use super::json_text;
use crate::background::AbortEarly;
use crate::billing::{Billing, Charge, Opened, Order, Results, saved_json};
use crate::catalogue::{Model, Target};
use crate::config::Operation;
use crate::failure::{ApiError, ApiResult, Dialect};
use crate::identity::Caller;
use crate::provider::Owner;
use crate::proxy::begin::{Begun, BegunAnswer, Context, begin};
use crate::proxy::chat_request::UpstreamRequest;
use crate::proxy::recorder::ResponseRecorder;
use crate::proxy::relay::{Beginning, MAX_STORED_ANSWER_BYTES, Relay, StreamPolicy};
use crate::proxy::whole::WholeAnswer;
use crate::raw_object::RawObject;
use crate::request_info::RequestInfo;
use crate::request_log;
use crate::response_headers;
use crate::service::Service;
use crate::upstreams::Upstreams;

/// The approximate number of headers of a response.
const HEADERS: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerForm {
    /// Sent whole, once it is charged.
    Whole,
    Events,
    /// As bytes of any kind, as they arrive.
    Bytes,
}

impl AnswerForm {
    pub(super) fn streamed(is_streamed: bool) -> Self {
        if is_streamed { Self::Events } else { Self::Whole }
    }
}

pub(super) struct ModelRequest {
    pub(super) info: RequestInfo,
    pub(super) caller: Caller,
    pub(super) model: Arc<Model>,
    pub(super) operation: Operation,
    pub(super) idempotency: Option<IdempotencyKey>,
    pub(super) dialect: Dialect,
}

impl ModelRequest {
    pub(super) fn price(&self) -> Micros {
        self.model.prices.of(self.operation)
    }

    /// Holds the price, asks the upstreams, and answers. `prepare` runs once the price is held.
    pub(super) async fn answer<Q>(
        self,
        service: &Service,
        form: AnswerForm,
        recorder: Option<Arc<ResponseRecorder>>,
        prepare: impl Future<Output = ApiResult<Q>> + Send + 'static,
    ) -> ApiResult
    where
        Q: Fn(&Target) -> ApiResult<UpstreamRequest> + Send + Sync + 'static,
    {
        let charge = match self.open(&service.billing, None).await? {
            Opened::Charge(charge) => charge,
            Opened::Replay(replay) => return Ok(replayed(replay)),
        };
        let beginning = self.begin(&service.upstreams, &charge, prepare);
        let policy = StreamPolicy::new(&service.config);
        let quiet = policy.without_comments();
        if form != AnswerForm::Whole {
            let policy = if form == AnswerForm::Events { policy } else { quiet };
            let relay = Relay::waiting(policy, charge, beginning, self.dialect);
            return stream(relay.recorded_by(recorder), self.price()).await;
        }
        let must_finish = charge.is_stored() || policy.finishes();
        let progress = charge.progress();
        let (dialect, price) = (self.dialect, self.price());
        let work = async move {
            match beginning.await {
                // Not JSON, which the request did not tell.
                Ok(begun @ Begun { answer: BegunAnswer::Stream(_), .. }) => {
                    let begun = Box::pin(std::future::ready(Ok(begun)));
                    stream(Relay::waiting(quiet, charge, begun, dialect), price).await
                }
                begun => whole(charge, recorder, begun).await,
            }
        };
        if !must_finish {
            return work.await;
        }
        // In a separate task, so that the answer is stored even if the client disconnects.
        let handle = service.billing.lifecycle.tasks.spawn(request_log::carry(work));
        AbortEarly::new(handle, progress).wait().await
    }

    pub(super) fn begin<Q>(
        &self,
        upstreams: &Arc<Upstreams>,
        charge: &Charge,
        prepare: impl Future<Output = ApiResult<Q>> + Send + 'static,
    ) -> Beginning
    where
        Q: Fn(&Target) -> ApiResult<UpstreamRequest> + Send + Sync + 'static,
    {
        let context = Context {
            upstreams: upstreams.clone(),
            model: self.model.clone(),
            owner: Owner::Member(self.caller.key.member),
            progress: charge.progress(),
            span: self.info.span,
        };
        Box::pin(async move { begin(context, prepare.await?).await })
    }

    pub(super) async fn open(
        &self,
        billing: &Arc<Billing>,
        background: Option<StoredResponse>,
    ) -> ApiResult<Opened> {
        let order = Order {
            id: self.info.id,
            caller: &self.caller,
            operation: self.operation.as_str(),
            model: Some(&self.model.id),
            price: self.price(),
            idempotency: self.idempotency.clone(),
            background,
            parent: None,
        };
        Charge::open(billing, order).await
    }
}

async fn stream(mut relay: Relay, price: Micros) -> ApiResult {
    relay.begin().await?;
    let (id, limit_status) = (relay.id(), relay.limit_status());
    let media_type = relay.media_type();
    let pieces = futures_util::stream::unfold(Some(relay), |relay| async move {
        let mut relay = relay?;
        match relay.next().await {
            Some(piece) => Some((Ok(piece), Some(relay))),
            None if relay.is_cut() => {
                Some((Err(io::Error::other("the response was interrupted")), None))
            }
            None => None,
        }
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.reserve(HEADERS);
    response_headers::write_stream(headers);
    if let Some(media_type) = media_type {
        headers.insert(CONTENT_TYPE, media_type);
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    if let Some(id) = id {
        response_headers::write_price(headers, id, price);
    }
    response_headers::write_limits(limit_status, headers);
    Ok(response)
}

/// Charges a whole answer, and only then returns it.
async fn whole(
    mut charge: Charge,
    recorder: Option<Arc<ResponseRecorder>>,
    begun: ApiResult<Begun>,
) -> ApiResult {
    let (model, answer) = match begun {
        Ok(Begun { model, answer: BegunAnswer::Whole(answer) }) => (model, answer),
        Ok(_) => return Err(ApiError::internal()),
        Err(error) => {
            let error = error.refunded(charge.id(), charge.limit_status());
            charge.fail(&error).await;
            return Err(error);
        }
    };
    let limit_status = charge.limit_status();
    let id = charge.id();
    charge.model = Some(model);
    let charged = settle(&mut charge, recorder.as_deref(), &answer).await?;
    let mut response = json_text(answer.body);
    let headers = response.headers_mut();
    headers.reserve(HEADERS);
    response_headers::write_receipt(headers, id, charged);
    response_headers::write_limits(limit_status, headers);
    Ok(response)
}

/// Charges a whole answer; an empty one is free.
async fn settle(
    charge: &mut Charge,
    recorder: Option<&ResponseRecorder>,
    whole: &WholeAnswer,
) -> ApiResult<Micros> {
    charge.tokens = whole.tokens;
    let response = recorder.zip(whole.response.as_ref());
    let response = response.and_then(|(recorder, response)| recorder.stored(response));
    let reached = if whole.has_content { AnswerProgress::Content } else { AnswerProgress::Begun };
    let fits = whole.has_content && whole.body.len() <= MAX_STORED_ANSWER_BYTES;
    let answer = (charge.is_stored() && fits).then(|| saved_json(whole.body.to_vec()));
    charge.close(EndReason::Complete, reached, Results { answer, response, media: None }).await
}

pub(super) fn required(object: &RawObject<'_>, name: &'static str) -> ApiResult<String> {
    let value: Option<String> = object.read(name, "a string")?;
    value
        .filter(|value| !value.is_empty())
        .ok_or_else(|| ApiError::invalid(name, format!("`{name}` is missing")))
}
