//! Operations of the responses interface.

use schemars::{Schema, SchemaGenerator, json_schema};
use wire::error::Code;

use super::member::{IDEMPOTENCY, OWN, PAID, filled};
use super::{
    EVENTS, JSON, Operation, PLAIN, Parameter, ParameterLocation, Verb, answer, events, json_body,
    text,
};

/// Failures of requests to models that can also refer to something that is not found.
pub(super) const FAILURES: &[Code] = &[
    Code::InvalidJson,
    Code::InvalidRequest,
    Code::ModelNotFound,
    Code::ModelNotForCapability,
    Code::ScopeMissing,
    Code::ModelNotAllowed,
    Code::NotFound,
    Code::BodyTimeout,
    Code::IdempotencyInProgress,
    Code::Conflict,
    Code::BodyTooLarge,
    Code::IdempotencyMismatch,
    Code::CapabilityUnavailable,
    Code::UpstreamUnavailable,
];

/// `POST /v1/responses`.
pub(crate) static CREATE: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/responses",
    id: "createResponse",
    summary: "Response",
    description: "The OpenAI request. Fields that are not listed here reach the provider untouched. \
                  With `stream: true` the answer is a stream of events whose data have the same \
                  `type` as the event and a `sequence_number` from 0. With `background: true` it is \
                  answered at once with `queued` and can be looked up, followed and cancelled. \
                  Charged as chat completions are.",
    parameters: &[&IDEMPOTENCY],
    body: Some(json_body(request, r#"{"model": "{chat model}", "input": "Hello"}"#)),
    answers: &[answer(
        200,
        "The response, or its stream.",
        &[(JSON, response), (EVENTS, events)],
        PAID,
    )],
    failures: FAILURES,
    ..PLAIN
};

/// `POST /v1/responses/compact`.
pub(crate) static COMPACT: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/responses/compact",
    id: "compactResponse",
    summary: "Compact a conversation",
    description: "Replaces a conversation by the messages of its user and a summary. The `output` is \
                  the beginning of the next `input`. Costs what a response costs.",
    parameters: &[&IDEMPOTENCY],
    body: Some(json_body(request, r#"{"model": "{chat model}", "input": "Hello"}"#)),
    answers: &[answer(200, "The compacted conversation.", &[(JSON, compacted)], PAID)],
    failures: FAILURES,
    ..PLAIN
};

/// `POST /v1/responses/input_tokens`.
pub(crate) static INPUT_TOKENS: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/responses/input_tokens",
    id: "countInputTokens",
    summary: "Count the tokens of an input",
    description: "Counted by a provider that has the responses interface, estimated for others.",
    parameters: &[&IDEMPOTENCY],
    body: Some(json_body(request, r#"{"model": "{chat model}", "input": "Hello"}"#)),
    answers: &[answer(200, "The number of tokens.", &[(JSON, counted)], OWN)],
    failures: FAILURES,
    ..PLAIN
};

fn compacted(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["id", "object", "output"],
        "properties": { "output": { "type": "array", "items": { "type": "object" } } },
        "additionalProperties": true,
    })
}

fn counted(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["object", "input_tokens"],
        "properties": { "input_tokens": { "type": "integer", "minimum": 0 } },
    })
}

static ID: Parameter = Parameter {
    location: ParameterLocation::Path,
    name: "id",
    description: "The id of a stored response of this member.",
    schema: text,
    example: "resp_0123456789abcdef0123456789abcdef",
};

static STREAM: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "stream",
    description: "Whether to follow a background response as events.",
    schema: flag,
    example: "",
};

static STARTING_AFTER: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "starting_after",
    description: "With `stream`: only events after this sequence number.",
    schema: sequence_number,
    example: "",
};

static LIMIT: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "limit",
    description: "How many to give; 20 unless told.",
    schema: limit,
    example: "",
};

static ORDER: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "order",
    description: "`asc`, or `desc` unless told.",
    schema: order,
    example: "",
};

static AFTER: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "after",
    description: "The id of an item of this response, after which the list continues; any other \
                  id is refused with 400.",
    schema: filled,
    example: "",
};

/// `GET /v1/responses/{id}`.
pub(crate) static SHOW: Operation = Operation {
    path: "/v1/responses/{id}",
    id: "showResponse",
    summary: "Look up a response",
    description: "The current state of a stored response; with `stream=true` a background response is \
                  followed to its end.",
    parameters: &[&ID, &STREAM, &STARTING_AFTER],
    answers: &[answer(
        200,
        "The response, or its stream.",
        &[(JSON, response), (EVENTS, events)],
        OWN,
    )],
    failures: &[Code::InvalidRequest, Code::ScopeMissing, Code::NotFound],
    ..PLAIN
};

/// `DELETE /v1/responses/{id}`.
pub(crate) static DELETE: Operation = Operation {
    verb: Verb::Delete,
    path: "/v1/responses/{id}",
    id: "deleteResponse",
    summary: "Remove a response",
    description: "Removes a stored response. What it cost stays charged.",
    parameters: &[&ID],
    answers: &[answer(200, "It is gone.", &[(JSON, deleted)], OWN)],
    failures: &[Code::ScopeMissing, Code::NotFound, Code::Conflict],
    ..PLAIN
};

/// `POST /v1/responses/{id}/cancel`.
pub(crate) static CANCEL: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/responses/{id}/cancel",
    id: "cancelResponse",
    summary: "Cancel a response",
    description: "Stops a response that was made with `background`; it is not charged. One that has \
                  ended stays as it is. Any other response is refused with 400.",
    parameters: &[&ID],
    answers: &[answer(200, "The current state of the response.", &[(JSON, response)], OWN)],
    failures: &[Code::InvalidRequest, Code::ScopeMissing, Code::NotFound, Code::Conflict],
    ..PLAIN
};

/// `GET /v1/responses/{id}/input_items`.
pub(crate) static INPUT_ITEMS: Operation = Operation {
    path: "/v1/responses/{id}/input_items",
    id: "listInputItems",
    summary: "What a response was asked",
    description: "The items of the input of a stored response.",
    parameters: &[&ID, &LIMIT, &ORDER, &AFTER],
    answers: &[answer(200, "The items.", &[(JSON, items)], OWN)],
    failures: &[Code::InvalidRequest, Code::ScopeMissing, Code::NotFound],
    ..PLAIN
};

fn request(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["model", "input"],
        "properties": {
            "model": {
                "type": "string", "minLength": 1,
                "description": "A full id or an alias of `GET /v1/models`.",
            },
            "input": {
                "type": ["string", "array"], "items": { "type": "object" },
                "description": "A text, or a list of items.",
            },
            "stream": {
                "type": ["boolean", "null"],
                "description": "Whether the answer comes as events.",
            },
            "store": {
                "type": ["boolean", "null"],
                "description": "Whether it is kept; true unless told.",
            },
            "background": {
                "type": ["boolean", "null"],
                "description": "Whether it is answered at once and made later.",
            },
            "previous_response_id": {
                "type": ["string", "null"],
                "description": "A stored response that this one continues.",
            },
        },
        "additionalProperties": true,
    })
}

fn response(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["id", "object", "status"],
        "properties": {
            "id": { "type": "string" },
            "object": { "const": "response" },
            "status": { "type": "string" },
            "model": { "type": "string" },
            "output": { "type": "array", "items": { "type": "object" } },
            "usage": { "type": ["object", "null"] },
        },
        "additionalProperties": true,
    })
}

fn deleted(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["id", "deleted"],
        "properties": {
            "id": { "type": "string" },
            "object": { "type": "string" },
            "deleted": { "const": true },
        },
    })
}

fn items(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["object", "data", "has_more"],
        "properties": {
            "object": { "const": "list" },
            "data": { "type": "array", "items": { "type": "object" } },
            "has_more": { "type": "boolean" },
            "first_id": { "type": ["string", "null"] },
            "last_id": { "type": ["string", "null"] },
        },
    })
}

fn sequence_number(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX })
}

fn flag(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "boolean" })
}

fn limit(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 1, "maximum": 100 })
}

fn order(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": ["asc", "desc"] })
}
