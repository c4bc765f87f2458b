//! What all paid requests to models have in common.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use gateway_store::{KeyRecord, SavedAnswer, Scope, StoredResponse};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode};
use ledger::{AnswerProgress, EndReason, HoldId, IdempotencyKey, Micros, Refusal};
use wire::error::Code;
use wire::research::Depth;

use super::body;
use crate::abort_early::AbortEarly;
use crate::catalogue::{Model, Target};
use crate::charge::{Again, Charge, Opened, Order, Results};
use crate::config::{Capability, Operation};
use crate::envelope::Envelope;
use crate::failure::ApiError;
use crate::identity::{Caller, may_use};
use crate::parsing::SMALL_BYTES;
use crate::provider::Owner;
use crate::proxy::ask::Question;
use crate::proxy::begin::{Answering, Begun, Context, begin};
use crate::proxy::relay::{Beginning, Keeper, Leaving, MAX_KEPT_BYTES, Relay, STREAM};
use crate::proxy::whole::Piece;
use crate::rate;
use crate::request_log;
use crate::research::desk;
use crate::service::Service;
use crate::trace::Place;

/// Tells proxies in between not to hold a stream back.
static UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// About as many headers as an answer has.
const HEADERS: usize = 12;

/// A request that will be paid for.
pub(super) struct Paid {
    pub(super) id: HoldId,
    pub(super) caller: Caller,
    pub(super) model: Arc<Model>,
    pub(super) price: Micros,
    pub(super) operation: Operation,
    pub(super) idempotency: Option<IdempotencyKey>,
    pub(super) traced: Option<Place>,
}

/// A request of somebody who may send it, with its whole body.
pub(super) struct Received {
    pub(super) caller: Caller,
    pub(super) bytes: Bytes,
    pub(super) idempotency: Option<IdempotencyKey>,
}

/// Identifies the caller, then reads the body. A large body is taken only from a member that can pay
/// for the cheapest request of this scope, and is admitted for parsing when there is room.
/// `word` separates the uses of one idempotency key.
pub(super) async fn receive(
    service: &Service,
    request: Request<Body>,
    scope: Scope,
    word: &str,
) -> Result<Received, ApiError> {
    let (head, body) = request.into_parts();
    let caller = match service.caller_for(&head.headers, scope).await {
        Ok(caller) => caller,
        Err(error) => {
            body::discard(&head.headers, body);
            return Err(error);
        }
    };
    let is_announced = body::announced(&head.headers).is_some_and(|length| length > SMALL_BYTES);
    // A repeated request may be answered without money; the hold decides.
    let may_repeat = head.headers.contains_key(&body::IDEMPOTENCY_KEY);
    if is_announced
        && !may_repeat
        && let Err(error) = check_balance(service, &caller, scope).await
    {
        body::discard(&head.headers, body);
        return Err(error);
    }
    let bytes = body::read(service, &head.headers, body).await?;
    if bytes.len() > SMALL_BYTES && !is_announced && !may_repeat {
        check_balance(service, &caller, scope).await?;
    }
    let bytes = service.parsing.admit(bytes, service.config.limits.body_timeout).await?;
    let idempotency = body::idempotency(&head.headers, word, &bytes)?;
    Ok(Received { caller, bytes, idempotency })
}

/// Rejects a member whose balance does not cover the cheapest request of a scope. The hold is what
/// decides; this only spares the work before it.
async fn check_balance(
    service: &Service,
    caller: &KeyRecord,
    scope: Scope,
) -> Result<(), ApiError> {
    let needed = cheapest(service, scope);
    if needed == Micros::ZERO {
        return Ok(());
    }
    let account = service.store.account(caller.key.member).await?;
    let available = account.ok_or_else(ApiError::no_key)?.available();
    if available < needed {
        return Err(Refusal::InsufficientBalance { needed, available }.into());
    }
    Ok(())
}

/// What the cheapest request of a scope costs.
fn cheapest(service: &Service, scope: Scope) -> Micros {
    let catalogue = service.catalogue.load();
    let listed = |operation| Some(Micros::new(service.config.prices.default_of(operation)));
    let least = |capability, price: fn(&Model) -> Micros| {
        let models = catalogue.models().filter(|model| model.is_for(capability));
        models.map(|model| price(model)).min()
    };
    let cheapest = match scope {
        Scope::Chat => least(Capability::Chat, |model| model.chat_price),
        Scope::Responses => least(Capability::Responses, |model| model.responses_price),
        Scope::Media => catalogue.models().map(|model| model.media_price).min(),
        Scope::Search => listed(Operation::Search),
        Scope::Fetch => listed(Operation::Fetch),
        Scope::Research => {
            let depths = [Depth::Quick, Depth::Standard, Depth::Deep];
            let prices = catalogue.models().flat_map(|model| {
                depths.map(|depth| Micros::new(desk::price_micros(service, depth, &model.id)))
            });
            prices.min()
        }
        Scope::Models | Scope::Mcp => None,
    };
    cheapest.unwrap_or(Micros::ZERO)
}

impl Paid {
    /// Sets the price aside, asks the upstreams, and answers. What `prepare` does is paid for: it
    /// begins once the price is held.
    pub(super) async fn answer<Q>(
        self,
        service: &Arc<Service>,
        is_streamed: bool,
        keeper: Option<Arc<dyn Keeper>>,
        prepare: impl Future<Output = Result<Q, ApiError>> + Send + 'static,
    ) -> Result<Response, ApiError>
    where
        Q: Fn(&Target) -> Result<Question, ApiError> + Send + Sync + 'static,
    {
        let charge = match self.open(service, None).await? {
            Opened::Charge(charge) => charge,
            Opened::Again(known) => return Ok(again(known)),
        };
        let beginning = self.begin(service, &charge, prepare);
        if is_streamed {
            let mut relay = Relay::waiting(service, charge, beginning).keeping(keeper);
            // After this long the client learns that it is being worked on, with a comment.
            relay.begin(service.keepalive()).await?;
            return Ok(stream(relay, self.price));
        }
        let must_finish = charge.is_kept() || service.leaving() == Leaving::Finish;
        let progress = charge.progress();
        let work = whole(charge, keeper, beginning);
        if !must_finish {
            return work.await;
        }
        // In a task of its own the answer is finished and kept, though the client may leave.
        let handle = service.tasks.spawn(request_log::carry(work));
        AbortEarly::new(handle, progress).wait().await
    }

    /// Prepares the question, then asks the upstreams.
    pub(super) fn begin<Q>(
        &self,
        service: &Arc<Service>,
        charge: &Charge,
        prepare: impl Future<Output = Result<Q, ApiError>> + Send + 'static,
    ) -> Beginning
    where
        Q: Fn(&Target) -> Result<Question, ApiError> + Send + Sync + 'static,
    {
        let context = self.context(service, charge);
        Box::pin(async move { begin(context, prepare.await?).await })
    }

    fn context(&self, service: &Arc<Service>, charge: &Charge) -> Context {
        Context {
            service: service.clone(),
            model: self.model.clone(),
            owner: Owner::Member(self.caller.key.member),
            progress: charge.progress(),
            traced: self.traced,
        }
    }

    pub(super) async fn open(
        &self,
        service: &Arc<Service>,
        background: Option<StoredResponse>,
    ) -> Result<Opened, ApiError> {
        let order = Order {
            id: self.id,
            caller: &self.caller,
            operation: self.operation.word(),
            model: Some(&self.model.id),
            price: self.price,
            idempotency: self.idempotency.clone(),
            background,
        };
        Charge::open(service, order).await
    }
}

fn stream(relay: Relay, price: Micros) -> Response {
    let (id, room) = (relay.id(), relay.room());
    let pieces = futures_util::stream::unfold(relay, |mut relay| async move {
        relay.next().await.map(|piece| (Ok::<Bytes, std::convert::Infallible>(piece), relay))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.reserve(HEADERS);
    write_stream_headers(headers);
    if let Some(id) = id {
        rate::write_price(headers, id, price);
    }
    rate::write_headers(room, headers);
    response
}

/// Waits for the whole answer, charges it, and only then gives it away.
async fn whole(
    mut charge: Charge,
    keeper: Option<Arc<dyn Keeper>>,
    beginning: Beginning,
) -> Result<Response, ApiError> {
    let (model, piece) = match beginning.await {
        Ok(Begun { model, answer: Answering::Whole(piece) }) => (model, piece),
        Ok(_) => return Err(ApiError::internal()),
        Err(error) => {
            let error = error.refunded(charge.id(), charge.room());
            charge.fail(&error).await;
            return Err(error);
        }
    };
    let room = charge.room();
    let id = charge.id();
    charge.model = Some(model);
    let charged = settle(&mut charge, keeper.as_deref(), &piece).await?;
    let mut response = Response::new(Body::from(piece.body));
    let headers = response.headers_mut();
    headers.reserve(HEADERS);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    rate::write_receipt(headers, id, charged);
    rate::write_headers(room, headers);
    Ok(response)
}

/// Charges an answer in one piece; an empty one is free.
async fn settle(
    charge: &mut Charge,
    keeper: Option<&dyn Keeper>,
    piece: &Piece,
) -> Result<Micros, ApiError> {
    charge.tokens = piece.tokens;
    let response = keeper.zip(piece.response.as_ref());
    let response = response.and_then(|(keeper, response)| keeper.stored(response));
    let reached = if piece.has_content { AnswerProgress::Content } else { AnswerProgress::Begun };
    let is_kept = charge.is_kept() && piece.has_content && piece.body.len() <= MAX_KEPT_BYTES;
    let answer = is_kept.then(|| SavedAnswer {
        status: 200,
        content_type: "application/json".to_owned(),
        body: piece.body.to_vec(),
    });
    charge.close((EndReason::Complete, reached), Results { answer, response, media: None }).await
}

/// An answer that was given before.
pub(super) fn again(known: Again) -> Response {
    let Again { id, charged, answer } = known;
    let is_stream = answer.content_type == STREAM;
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    if is_stream {
        write_stream_headers(headers);
    } else if let Ok(value) = HeaderValue::from_str(&answer.content_type) {
        headers.insert(CONTENT_TYPE, value);
    }
    write_replayed(headers);
    rate::write_receipt(headers, id, charged);
    response
}

/// Says that an answer was given and paid for before.
pub(super) fn write_replayed(headers: &mut HeaderMap) {
    headers.insert("idempotent-replayed", HeaderValue::from_static("true"));
}

pub(super) fn write_stream_headers(headers: &mut HeaderMap) {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(&UNBUFFERED, HeaderValue::from_static("no"));
}

/// A field that must be a string and must not be empty.
pub(super) fn required(envelope: &Envelope<'_>, name: &'static str) -> Result<String, ApiError> {
    let value: Option<String> = envelope.read(name, "a string")?;
    value.filter(|value| !value.is_empty()).ok_or_else(|| {
        ApiError::of_param(Code::InvalidRequest, name, format!("`{name}` is missing"))
    })
}

/// The model that was asked for, if there is one that this key may use for this now.
pub(crate) fn resolve(
    service: &Service,
    caller: &KeyRecord,
    asked: &str,
    capability: Capability,
) -> Result<Arc<Model>, ApiError> {
    let catalogue = service.catalogue.load();
    let Some(model) = catalogue.model(asked) else {
        let similar = catalogue.similar(asked);
        let similar: Vec<&str> = similar.into_iter().filter(|name| may_use(caller, name)).collect();
        let shown: String = asked.chars().take(100).collect();
        let message = if similar.is_empty() {
            format!("there is no model `{shown}`; GET /v1/models lists those there are")
        } else {
            format!("there is no model `{shown}`; there is `{}`", similar.join("`, `"))
        };
        return Err(ApiError::of_param(Code::ModelNotFound, "model", message));
    };
    if !may_use(caller, asked) {
        let message = format!("this key may not use the model `{asked}`");
        return Err(ApiError::of_param(Code::ModelNotAllowed, "model", message));
    }
    if !model.is_for(capability) {
        let message = format!("the model `{asked}` is not offered for {}", capability.word());
        return Err(ApiError::of_param(Code::ModelNotForCapability, "model", message));
    }
    if !model.is_usable() {
        let message = format!("no provider of the model `{asked}` is usable at the moment");
        return Err(
            ApiError::new(Code::CapabilityUnavailable, message).retry_after(Duration::from_secs(5))
        );
    }
    Ok(model.clone())
}
