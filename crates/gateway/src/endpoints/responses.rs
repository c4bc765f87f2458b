//! `/v1/responses`: answers that can be stored, continued, and run in the background.

mod background;
mod stored;

pub(super) use stored::{cancel, delete, find, input_items};

use std::sync::Arc;
use std::time::Duration;

use api_dialects::responses::{Shape, input_items as items_of, output_items};
use bytes::Bytes;
use gateway_store::{Error, Scope, Store};
use ledger::MemberId;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::admission::{MemberRequest, Received};
use super::event_tail::{Batch, EventSource, MAX_EVENTS_AT_ONCE};
use super::json;
use super::messages::count_upstream;
use super::model_request::{self, AnswerForm, ModelRequest};
use super::web_search::MemberSearcher;
use crate::billing::Billing;
use crate::caps::{self, Conversation};
use crate::catalogue::{Model, Target};
use crate::clock;
use crate::config::{Capability, Config, Operation};
use crate::failure::{ApiError, ApiResult, Dialect};
use crate::identity::Caller;
use crate::images::{self, Images, Remote};
use crate::provider::{INPUT_TOKENS_PATH, Owner, Sender};
use crate::proxy::begin::unavailable;
use crate::proxy::chat_request::ChatRequest;
use crate::proxy::native::Ours;
use crate::proxy::recorder::ResponseRecorder;
use crate::proxy::responses_request::ResponsesRequest;
use crate::proxy::whole::new_id;
use crate::raw_object::{self, RawObject};
use crate::request_info::RequestInfo;

const MAX_ITEMS: usize = 10_000;
/// Limits of the chain of earlier responses.
const MAX_CHAIN: usize = 200;
const MAX_CHAIN_BYTES: usize = 32 * 1024 * 1024;
/// Maximum delay between the end of a response and its last stored events.
const LAST_EVENTS: Duration = Duration::from_secs(1);

pub(super) async fn create(request: MemberRequest) -> ApiResult {
    let searcher = MemberSearcher::of_request(&request);
    let received = request.receive(Scope::Responses, "responses").await?;
    let Asked { received, options, model, mut fields, mut earlier, remote } =
        Asked::read(received).await?;
    let Received { service, info, caller, bytes, idempotency } = received;

    let answer_id = new_id("resp");
    let created = clock::unix_seconds();
    let shape = Shape::new(&fields, &answer_id, created);
    let recorder = Arc::new(ResponseRecorder {
        id: answer_id.clone(),
        hold: info.id,
        member: caller.key.member,
        lineage: caller.key.lineage,
        shape: shape.clone(),
        input: Value::from(items_of(&fields, new_id)).to_string().into(),
        previous: options.previous.clone(),
        is_stored: options.is_stored,
        is_background: options.is_background,
        kept: service.config.responses_kept,
    });
    let is_streamed = options.is_streamed || options.is_background;
    let chat = ChatRequest { is_streamed, ..ChatRequest::new(info.id, bytes) };
    let ours = ours(&options, &answer_id, &fields);
    let (web, key) = (service.web.clone(), caller.key.lineage);
    let prepare = async move {
        if remote == Remote::Fetched {
            let input = fields.get_mut("input").into_iter();
            for value in input.chain(&mut earlier.items) {
                images::inline(&web, key, value).await?;
            }
        }
        let earlier = earlier.items;
        let request = ResponsesRequest { chat, fields, earlier, shape, ours, searcher };
        Ok(move |target: &Target| request.for_target(target))
    };
    let (operation, dialect) = (Operation::Responses, Dialect::OpenAi);
    let request = ModelRequest { info, caller, model, operation, idempotency, dialect };
    if options.is_background {
        return background::start(&service, request, &options, recorder, prepare).await;
    }
    let form = AnswerForm::streamed(options.is_streamed);
    request.answer(&service, form, Some(recorder), prepare).await
}

struct Asked {
    received: Received,
    options: Options,
    model: Arc<Model>,
    fields: Map<String, Value>,
    earlier: Earlier,
    remote: Remote,
}

impl Asked {
    async fn read(received: Received) -> ApiResult<Self> {
        let Received { service, caller, bytes, .. } = &received;
        let object = RawObject::parse(bytes)?;
        let asked: String = model_request::required(&object, "model")?;
        let options = Options::read(&object)?;
        let model = service.upstreams.resolve(caller, &asked, Capability::Responses)?;
        let mut fields: Map<String, Value> = raw_object::tree(bytes)?;
        let items = fields.get("input").and_then(Value::as_array).map_or(0, Vec::len);
        if items > MAX_ITEMS {
            let message = format!("`input` has more than {MAX_ITEMS} items");
            return Err(ApiError::invalid("input", message));
        }
        let earlier = match &options.previous {
            Some(previous) => Earlier::load(&service.billing.store, caller, previous).await?,
            None => Earlier::default(),
        };
        let (max_tokens, remote) = check_conversation(&service.config, &model, &object, &earlier)?;
        if let Some(tokens) = max_tokens {
            fields.insert("max_output_tokens".to_owned(), tokens.into());
        }
        Ok(Self { received, options, model, fields, earlier, remote })
    }

    /// The request without a stream.
    fn into_whole(self) -> (Received, Arc<Model>, ResponsesRequest) {
        let Self { mut received, model, fields, earlier, .. } = self;
        let chat = ChatRequest::new(received.info.id, std::mem::take(&mut received.bytes));
        let shape = Shape::new(&fields, "", 0);
        let (earlier, ours) = (earlier.items, Ours::new());
        let request = ResponsesRequest { chat, fields, earlier, shape, ours, searcher: None };
        (received, model, request)
    }
}

/// Replaces a conversation by a summary: `POST /v1/responses/compact`.
pub(super) async fn compact(request: MemberRequest) -> ApiResult {
    let received = request.receive(Scope::Responses, "compact").await?;
    let (received, model, request) = Asked::read(received).await?.into_whole();
    let Received { service, info, caller, idempotency, .. } = received;
    let prepare = async move { Ok(move |target: &Target| request.compaction_for(target)) };
    let (operation, dialect) = (Operation::Responses, Dialect::OpenAi);
    let request = ModelRequest { info, caller, model, operation, idempotency, dialect };
    request.answer(&service, AnswerForm::Whole, None, prepare).await
}

/// Counts the tokens of an input: `POST /v1/responses/input_tokens`.
pub(super) async fn input_tokens(request: MemberRequest) -> ApiResult {
    let received = request.receive(Scope::Responses, "input_tokens").await?;
    let (received, model, request) = Asked::read(received).await?.into_whole();
    let RequestInfo { span, .. } = received.info;
    let work = async {
        let unusable = || unavailable(Duration::from_secs(2));
        let target = model.candidates().into_iter().next().ok_or_else(unusable)?;
        let sender = Sender { owner: Owner::Member(received.caller.key.member), span };
        let counted = match request.count_for(target) {
            Some(body) => count_upstream(target, INPUT_TOKENS_PATH, body, None, sender).await.ok(),
            None => None,
        };
        let tokens = counted.map_or_else(|| request.estimated_tokens(), Ok)?;
        Ok(json(&json!({ "object": "response.input_tokens", "input_tokens": tokens })))
    };
    received.answer(Operation::CountTokens, work).await
}

/// Checks a conversation, with the responses before it, against the caps of its model. Returns the
/// limit on tokens to send along, and whether images must be fetched.
fn check_conversation(
    config: &Config,
    model: &Model,
    object: &RawObject<'_>,
    earlier: &Earlier,
) -> ApiResult<(Option<u64>, Remote)> {
    let mut images = Images::in_items(&earlier.items);
    let mut bytes = earlier.bytes;
    for input in object.all_like("input") {
        images = images.and(Images::in_text(input)?);
        bytes += input.len();
    }
    bytes += object.all_like("instructions").map(str::len).sum::<usize>();
    images.check_servers(config.remote_tools, "input")?;
    images::check_tools(config.remote_tools, object)?;
    let remote = images.check_remote(config.remote_images)?;
    let conversation = Conversation { field: "input", bytes, images: images.count };
    Ok((caps::check(&model.caps, object, &conversation)?, remote))
}

struct Options {
    is_streamed: bool,
    is_background: bool,
    is_stored: bool,
    previous: Option<String>,
}

impl Options {
    fn read(object: &RawObject<'_>) -> ApiResult<Self> {
        let wrong = |param: &str, message: &str| Err(ApiError::invalid(param, message));
        match object.raw("input").map(str::as_bytes) {
            Some([b'"' | b'[', ..]) => {}
            Some(_) => return wrong("input", "`input` must be a string or a list"),
            None => return wrong("input", "`input` is missing"),
        }
        let options = Self {
            is_streamed: object.read("stream", "a boolean")?.unwrap_or(false),
            is_background: object.read("background", "a boolean")?.unwrap_or(false),
            is_stored: object.read("store", "a boolean")?.unwrap_or(true),
            previous: object.read("previous_response_id", "a string")?,
        };
        if options.is_background && !options.is_stored {
            return wrong("store", "`background` requires `store`");
        }
        Ok(options)
    }
}

fn ours(options: &Options, id: &str, fields: &Map<String, Value>) -> Ours {
    let mut ours = Ours::new();
    ours.insert("id".to_owned(), id.into());
    ours.insert("store".to_owned(), options.is_stored.into());
    ours.insert("background".to_owned(), options.is_background.into());
    ours.insert("previous_response_id".to_owned(), options.previous.clone().into());
    ours.extend(fields.get("model").map(|model| ("model".to_owned(), model.clone())));
    ours
}

#[derive(Default)]
struct Earlier {
    /// All of their items, oldest first.
    items: Vec<Value>,
    bytes: usize,
}

impl Earlier {
    async fn load(store: &Store, caller: &Caller, id: &str) -> ApiResult<Self> {
        let wrong = |message: String| ApiError::invalid("previous_response_id", message);
        let mut turns: Vec<Vec<Value>> = Vec::new();
        let mut bytes = 0;
        let mut next = Some(id.to_owned());
        while let Some(id) = next {
            let found = if stored::is_id(&id) {
                store.response(caller.key.member, &id).await?
            } else {
                None
            };
            let Some(stored) = found else {
                let shown: String = id.chars().take(100).collect();
                return Err(wrong(format!("no response with the id `{shown}`")));
            };
            if !matches!(&*stored.status, "completed" | "incomplete") {
                return Err(wrong(format!("the response `{id}` is {}", stored.status)));
            }
            bytes += stored.body.len() + stored.input.len();
            if turns.len() >= MAX_CHAIN || bytes > MAX_CHAIN_BYTES {
                return Err(wrong("the conversation of earlier responses is too long".to_owned()));
            }
            let mut items: Vec<Value> = serde_json::from_slice(&stored.input).unwrap_or_default();
            let body: Value = serde_json::from_slice(&stored.body).unwrap_or_default();
            items.extend(output_items(&body).iter().cloned());
            turns.push(items);
            next = stored.previous;
        }
        Ok(Self { items: turns.into_iter().rev().flatten().collect(), bytes })
    }
}

struct ResponseEvents {
    billing: Arc<Billing>,
    member: MemberId,
    id: String,
    /// The sequence number of the last known event; -1 for none.
    after: i64,
    /// Time when the end of the response was first seen.
    over_since: Option<Instant>,
}

impl ResponseEvents {
    fn new(billing: &Arc<Billing>, member: MemberId, id: String, after: i64) -> Self {
        Self { billing: billing.clone(), member, id, after, over_since: None }
    }
}

impl EventSource for ResponseEvents {
    fn id(&self) -> &str {
        &self.id
    }

    /// Only without new events, it matters whether more will follow.
    async fn read(&mut self, is_running: bool) -> Result<Batch, Error> {
        let store = &self.billing.store;
        let events = store.events(&self.id, self.after, MAX_EVENTS_AT_ONCE).await?;
        if let Some(last) = events.last() {
            self.after = last.sequence;
            let is_last = is_last(&last.event);
            let events: Vec<u8> = events.into_iter().flat_map(|event| event.event).collect();
            return Ok(Batch { events: events.into(), is_last });
        }
        if is_running {
            return Ok(Batch { events: Bytes::new(), is_last: false });
        }
        let status = store.response_status(self.member, &self.id).await?;
        let is_last = match status.as_deref() {
            None | Some("cancelled") => true,
            Some(status) if is_over(status) => {
                // The charge precedes the last events, which may not be written yet.
                self.over_since.get_or_insert_with(Instant::now).elapsed() > LAST_EVENTS
            }
            Some(_) => false,
        };
        Ok(Batch { events: Bytes::new(), is_last })
    }
}

fn is_last(event: &[u8]) -> bool {
    const LAST: [&[u8]; 3] = [b"completed", b"failed", b"incomplete"];
    let name = event.strip_prefix(b"event: response.");
    let name = name.and_then(|rest| rest.split(|byte| matches!(byte, b'\r' | b'\n')).next());
    name.is_some_and(|name| LAST.contains(&name))
}

fn is_over(status: &str) -> bool {
    !matches!(status, "queued" | "in_progress")
}
