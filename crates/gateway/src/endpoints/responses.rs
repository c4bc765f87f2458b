//! `/v1/responses`: answers that can be asked for again, gone on from, and run without a client.

mod background;
mod keeper;
mod stored;
mod tail;

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use gateway_store::Scope;
use http::Request;
use serde_json::{Map, Value};
use wire::error::Code;

pub(super) use stored::{cancel, delete, find, input_items};

use self::keeper::ResponseKeeper;
use super::paid::{self, Paid, Received};
use crate::caps::{self, Conversation};
use crate::catalogue::{Model, Target};
use crate::clock;
use crate::config::{Capability, Operation};
use crate::envelope::{self, Envelope};
use crate::failure::ApiError;
use crate::identity::Caller;
use crate::images::{self, Images, Remote};
use crate::proxy::ask::Ask;
use crate::proxy::ask_responses::AskResponses;
use crate::proxy::native::Ours;
use crate::proxy::whole::new_id;
use crate::server::Arrival;
use crate::service::Service;
use crate::translate::responses::{Shape, input_items as items_of, output_items};

/// The most items of one request.
const MAX_ITEMS: usize = 10_000;
/// The longest chain of responses that is gone on from.
const MAX_CHAIN: usize = 200;
/// What such a chain may weigh, in bytes of JSON.
const MAX_CHAIN_BYTES: usize = 32 * 1024 * 1024;

pub(super) async fn create(
    State(service): State<Arc<Service>>,
    Extension(arrival): Extension<Arrival>,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let Arrival { id, traced, .. } = arrival;
    let received = paid::receive(&service, request, Scope::Responses, "responses").await?;
    let Received { caller, bytes, idempotency } = received;

    let envelope = Envelope::parse(&bytes)?;
    let asked: String = paid::required(&envelope, "model")?;
    let wish = Wish::read(&envelope)?;
    let model = paid::resolve(&service, &caller, &asked, Capability::Responses)?;
    let mut fields: Map<String, Value> = envelope::tree(&bytes)?;
    let items = fields.get("input").and_then(Value::as_array).map_or(0, Vec::len);
    if items > MAX_ITEMS {
        let message = format!("`input` has more than {MAX_ITEMS} items");
        return Err(ApiError::of_param(Code::InvalidRequest, "input", message));
    }
    let (mut earlier, weight) = match &wish.previous {
        Some(previous) => earlier(&service, &caller, previous).await?,
        None => (Vec::new(), 0),
    };
    let (max_tokens, remote) = check_conversation(&service, &model, &envelope, (&earlier, weight))?;
    if let Some(tokens) = max_tokens {
        fields.insert("max_output_tokens".to_owned(), tokens.into());
    }

    let answer_id = new_id("resp");
    let created = clock::unix_seconds();
    let shape = Shape::new(&fields, &answer_id, created);
    let keeper = Arc::new(ResponseKeeper {
        id: answer_id.clone(),
        hold: id,
        member: caller.key.member,
        lineage: caller.key.lineage,
        shape: shape.clone(),
        input: Value::from(items_of(&fields, new_id)).to_string().into(),
        previous: wish.previous.clone(),
        is_stored: wish.is_stored,
        is_background: wish.is_background,
        kept: service.config.responses_kept,
    });
    let ask = Ask {
        id,
        body: bytes.clone(),
        rest: None,
        is_streamed: wish.is_streamed || wish.is_background,
        wants_usage: true,
        model: None,
        max_tokens: None,
    };
    let ours = ours(&wish, &answer_id, &fields);
    let prepare = {
        let service = service.clone();
        async move {
            if remote == Remote::Fetched {
                let input = fields.get_mut("input").into_iter();
                for value in input.chain(&mut earlier) {
                    images::inline(&service, value).await?;
                }
            }
            let ask = AskResponses { ask, fields, earlier, shape, ours };
            Ok(move |target: &Target| ask.question(target))
        }
    };
    let price = model.responses_price;
    let operation = Operation::Responses;
    let paid = Paid { id, caller, model, price, operation, idempotency, traced };
    if wish.is_background {
        return background::start(&service, paid, &wish, keeper, prepare).await;
    }
    paid.answer(&service, wish.is_streamed, Some(keeper), prepare).await
}

/// Checks a conversation, with the responses before it and their length, against the caps of its
/// model. Returns the limit on tokens to send along, and whether images must be fetched.
fn check_conversation(
    service: &Service,
    model: &Model,
    envelope: &Envelope<'_>,
    (earlier, weight): (&[Value], usize),
) -> Result<(Option<u64>, Remote), ApiError> {
    let mut images = Images::in_items(earlier);
    let mut bytes = weight;
    for input in envelope.all_like("input") {
        images = images.and(Images::in_text(input)?);
        bytes += input.len();
    }
    bytes += envelope.all_like("instructions").map(str::len).sum::<usize>();
    let remote = images.check_remote(service.config.remote_images)?;
    let conversation = Conversation { field: "input", bytes, images: images.count };
    Ok((caps::check(&model.caps, envelope, &conversation)?, remote))
}

/// What the service itself must know of a request.
struct Wish {
    is_streamed: bool,
    is_background: bool,
    is_stored: bool,
    previous: Option<String>,
}

impl Wish {
    fn read(envelope: &Envelope<'_>) -> Result<Self, ApiError> {
        let wrong = |param: &str, message: &str| {
            Err(ApiError::of_param(Code::InvalidRequest, param, message))
        };
        match envelope.raw("input").map(str::as_bytes) {
            Some([b'"' | b'[', ..]) => {}
            Some(_) => return wrong("input", "`input` must be a string or a list"),
            None => return wrong("input", "`input` is missing"),
        }
        let wish = Self {
            is_streamed: envelope.read("stream", "a boolean")?.unwrap_or(false),
            is_background: envelope.read("background", "a boolean")?.unwrap_or(false),
            is_stored: envelope.read("store", "a boolean")?.unwrap_or(true),
            previous: envelope.read("previous_response_id", "a string")?,
        };
        if wish.is_background && !wish.is_stored {
            return wrong("store", "a response that runs in the background must be stored");
        }
        Ok(wish)
    }
}

/// What is ours in the response object of an upstream that speaks the interface.
fn ours(wish: &Wish, id: &str, fields: &Map<String, Value>) -> Ours {
    let mut ours = Ours::new();
    ours.insert("id".to_owned(), id.into());
    ours.insert("store".to_owned(), wish.is_stored.into());
    ours.insert("background".to_owned(), wish.is_background.into());
    ours.insert("previous_response_id".to_owned(), wish.previous.clone().into());
    ours.extend(fields.get("model").map(|model| ("model".to_owned(), model.clone())));
    ours
}

/// All items of the responses before, oldest first, and how many bytes they have.
async fn earlier(
    service: &Service,
    caller: &Caller,
    id: &str,
) -> Result<(Vec<Value>, usize), ApiError> {
    let wrong =
        |message: String| ApiError::of_param(Code::InvalidRequest, "previous_response_id", message);
    let mut turns: Vec<Vec<Value>> = Vec::new();
    let mut weight = 0;
    let mut next = Some(id.to_owned());
    while let Some(id) = next {
        let found = if stored::is_id(&id) {
            service.store.response(caller.key.member, &id).await?
        } else {
            None
        };
        let Some(stored) = found else {
            let shown: String = id.chars().take(100).collect();
            return Err(wrong(format!("there is no response `{shown}` of yours")));
        };
        if !matches!(&*stored.status, "completed" | "incomplete") {
            return Err(wrong(format!("the response `{id}` is {}", stored.status)));
        }
        weight += stored.body.len() + stored.input.len();
        if turns.len() >= MAX_CHAIN || weight > MAX_CHAIN_BYTES {
            return Err(wrong("the responses before are too many or too long".to_owned()));
        }
        let mut items: Vec<Value> = serde_json::from_slice(&stored.input).unwrap_or_default();
        let body: Value = serde_json::from_slice(&stored.body).unwrap_or_default();
        items.extend(output_items(&body).iter().cloned());
        turns.push(items);
        next = stored.previous;
    }
    Ok((turns.into_iter().rev().flatten().collect(), weight))
}
