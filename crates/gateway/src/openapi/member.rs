//! Operations of members: chat, models, account.

use schemars::{Schema, SchemaGenerator, json_schema};
use wire::account::{Me, ReceiptView};
use wire::capability::CapabilityList;
use wire::error::Code;
use wire::model::{Model, ModelList};
use wire::usage::{DEFAULT_USAGE_LINES, MAX_USAGE_LINES, UsageList};

use super::{
    EVENTS, Header, JSON, Operation, PLAIN, Parameter, ParameterLocation, Verb, answer, count,
    events, json_body, of, text,
};

pub(crate) static CHARGE: Header = Header {
    name: "x-charge-micros",
    description: "Charge in micro-credits. Absent while the request is running, as in the head of \
                  a stream: see `x-price-micros` and the receipt.",
    schema: count,
};
pub(crate) static PRICE: Header = Header {
    name: "x-price-micros",
    description: "Amount reserved for a running request (a stream, a background response, a \
                  research job), in micro-credits. The receipt contains the final charge.",
    schema: count,
};
pub(crate) static RECEIPT: Header = Header {
    name: "x-receipt-id",
    description: "Receipt id, for `GET /v1/requests/{id}`.",
    schema: text,
};
pub(crate) static REPLAYED: Header = Header {
    name: "idempotent-replayed",
    description: "`true` if this is the stored response of an earlier request with this \
                  `Idempotency-Key`. It is not charged again.",
    schema: text,
};
/// The headers of paid requests.
pub(crate) static PAID: &[&Header] = &[&CHARGE, &PRICE, &RECEIPT, &REPLAYED];

/// The headers of operations with a fixed price.
pub(crate) static OWN: &[&Header] = &[&CHARGE, &RECEIPT];

pub(crate) static IDEMPOTENCY: Parameter = Parameter {
    location: ParameterLocation::Header,
    name: "Idempotency-Key",
    description: "Any unique string. Requests with the same string and the same body are executed \
                  and charged once within a day.",
    schema: word,
    example: "",
};

fn word(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[\\t -~]*[!-~][\\t -~]*$" })
}

/// Failures of requests to models.
pub(crate) const PAID_FAILURES: &[Code] = &[
    Code::InvalidJson,
    Code::InvalidRequest,
    Code::ModelNotFound,
    Code::ModelNotForCapability,
    Code::ScopeMissing,
    Code::ModelNotAllowed,
    Code::BodyTimeout,
    Code::IdempotencyInProgress,
    Code::Conflict,
    Code::BodyTooLarge,
    Code::IdempotencyMismatch,
    Code::CapabilityUnavailable,
    Code::UpstreamUnavailable,
];

/// `GET /v1/models`.
pub(crate) static LIST_MODELS: Operation = Operation {
    path: "/v1/models",
    id: "listModels",
    summary: "List models",
    description: "Lists the models that this key may use, with the price of a request.",
    answers: &[answer(200, "The models.", &[(JSON, of::<ModelList>)], OWN)],
    failures: &[Code::ScopeMissing],
    ..PLAIN
};

static MODEL_ID: Parameter = Parameter {
    location: ParameterLocation::Rest,
    name: "id",
    description: "The full id `<provider>/<model>`, or an alias. Slashes need not be encoded.",
    schema: filled,
    example: "{chat model}",
};

pub(super) fn filled(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "minLength": 1 })
}

/// `GET /v1/models/{id}`.
pub(crate) static FIND_MODEL: Operation = Operation {
    path: "/v1/models/{id}",
    id: "findModel",
    summary: "Get a model",
    description: "Returns a model that this key may use.",
    parameters: &[&MODEL_ID],
    answers: &[answer(200, "The model.", &[(JSON, of::<Model>)], OWN)],
    failures: &[Code::ScopeMissing, Code::NotFound],
    ..PLAIN
};

/// `GET /v1/capabilities`.
pub(crate) static CAPABILITIES: Operation = Operation {
    path: "/v1/capabilities",
    id: "listCapabilities",
    summary: "List capabilities",
    description: "Lists the capabilities of this key with their models and prices. A request for a \
                  capability that is not `usable` is rejected before anything is reserved.",
    answers: &[answer(200, "All capabilities.", &[(JSON, of::<CapabilityList>)], OWN)],
    ..PLAIN
};

/// `POST /v1/chat/completions`.
pub(crate) static CHAT: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/chat/completions",
    id: "createChatCompletion",
    summary: "Create a chat completion",
    description: "Accepts an OpenAI request. Fields that are not listed here are passed to the \
                  provider unchanged. The price of the model is reserved first, charged when the \
                  response is complete, and refunded if the request fails. With `stream: true`, \
                  the response is an event stream that ends with `data: [DONE]`; an error after \
                  its start is sent as one event with a top-level `error`.",
    parameters: &[&IDEMPOTENCY],
    body: Some(json_body(
        chat_request,
        r#"{"model": "{chat model}", "messages": [{"role": "user", "content": "Hello"}]}"#,
    )),
    answers: &[answer(
        200,
        "The completion, or an event stream.",
        &[(JSON, chat_answer), (EVENTS, events)],
        PAID,
    )],
    failures: PAID_FAILURES,
    ..PLAIN
};

fn chat_request(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["model", "messages"],
        "properties": {
            "model": {
                "type": "string", "minLength": 1,
                "description": "A full id or an alias from `GET /v1/models`.",
            },
            "messages": {
                "type": "array", "minItems": 1, "items": { "type": "object" },
                "description": "The conversation so far.",
            },
            "stream": {
                "type": ["boolean", "null"],
                "description": "Return the response as an event stream.",
            },
            "stream_options": {
                "description": "`include_usage: true` adds an event with the usage.",
            },
        },
        "additionalProperties": true,
    })
}

fn chat_answer(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["id", "object", "model", "choices"],
        "properties": {
            "id": { "type": "string" },
            "object": { "const": "chat.completion" },
            "created": { "type": "integer" },
            "model": { "type": "string" },
            "choices": { "type": "array", "items": { "type": "object" } },
            "usage": { "type": ["object", "null"] },
        },
        "additionalProperties": true,
    })
}

/// `GET /v1/me`.
pub(crate) static ME: Operation = Operation {
    path: "/v1/me",
    id: "showMe",
    summary: "Get the caller",
    description: "Returns the member, the balance, and the scopes and limits of the key.",
    answers: &[answer(200, "The caller.", &[(JSON, of::<Me>)], OWN)],
    ..PLAIN
};

pub(super) static FROM: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "from",
    description: "The first day, UTC; 29 days before `to` if missing.",
    schema: day,
    example: "",
};
pub(super) static TO: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "to",
    description: "The last day, UTC; today if missing.",
    schema: day,
    example: "",
};
pub(super) static BY: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "by",
    description: "What to sum up by: one or more of `day`, `key`, `operation`, `model`, `provider`, `team` and \
                  `member`, separated by commas.",
    schema: dimensions,
    example: "day,model",
};
pub(super) static LINES: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "limit",
    description: "The most lines.",
    schema: lines,
    example: "",
};

fn day(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" })
}

fn dimensions(_: &mut SchemaGenerator) -> Schema {
    let word = "(day|member|team|key|operation|model|provider)";
    json_schema!({
        "type": "string", "pattern": format!("^{word}(,{word})*$"), "default": "day",
    })
}

fn lines(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "integer", "minimum": 1, "maximum": MAX_USAGE_LINES - 1,
        "default": DEFAULT_USAGE_LINES,
    })
}

/// `GET /v1/me/usage`.
pub(crate) static USAGE: Operation = Operation {
    path: "/v1/me/usage",
    id: "listUsage",
    summary: "What was used",
    description: "Answered requests of all keys of the member, their tokens and charges, summed up by \
                  day, key, operation, model or several of these.",
    parameters: &[&FROM, &TO, &BY, &LINES],
    answers: &[answer(200, "The sums.", &[(JSON, of::<UsageList>)], OWN)],
    failures: &[Code::InvalidRequest],
    ..PLAIN
};

pub(crate) static REQUEST_ID: Parameter = Parameter {
    location: ParameterLocation::Path,
    name: "id",
    description: "The `x-receipt-id` or `x-request-id` of a response.",
    schema: request_id,
    example: "req_0123456789abcdef0123456789abcdef",
};

fn request_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^req_[0-9a-f]{32}$" })
}

/// `GET /v1/requests/{id}`.
pub(crate) static FIND_RECEIPT: Operation = Operation {
    path: "/v1/requests/{id}",
    id: "showReceipt",
    summary: "Get a receipt",
    description: "Shows whether a request was charged, and by which rule. The receipt exists once \
                  the request has ended.",
    parameters: &[&REQUEST_ID],
    answers: &[answer(200, "The receipt.", &[(JSON, of::<ReceiptView>)], OWN)],
    failures: &[Code::NotFound],
    ..PLAIN
};
