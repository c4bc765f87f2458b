//! Operations of the responses interface.

use schemars::{Schema, SchemaGenerator, json_schema};
use wire::error::Code;

use super::Verb::{Delete, Get, Post};
use super::member::{IDEMPOTENCY, OWN, PAID, filled};
use super::{EVENTS, JSON, Operation, Parameter, answer, events, keyed, text};

/// Failures of requests to models that can also refer to something that is not found.
pub(super) const FAILURES: &[Code] = &[
    Code::ModelNotFound,
    Code::ModelNotForCapability,
    Code::ScopeMissing,
    Code::ModelNotAllowed,
    Code::NotFound,
    Code::Conflict,
    Code::CapabilityUnavailable,
    Code::UpstreamUnavailable,
];

pub(crate) static CREATE: Operation = keyed(Post, "/v1/responses", "createResponse")
    .describe(
        "Create a response",
        "Accepts an OpenAI request. Fields that are not listed here are passed to the provider \
         unchanged. With `stream: true`, the response is an event stream; the data of each event \
         contain the same `type` as the event and a `sequence_number` that starts at 0. With \
         `background: true`, the service returns a `queued` response at once, which can be \
         retrieved, streamed and cancelled. Charged like a chat completion.",
    )
    .parameters(&[&IDEMPOTENCY])
    .body(request, r#"{"model": "{chat model}", "input": "Hello"}"#)
    .answers(&[answer(
        200,
        "The response, or an event stream.",
        &[(JSON, response), (EVENTS, events)],
        PAID,
    )])
    .failures(FAILURES);

pub(crate) static COMPACT: Operation = keyed(Post, "/v1/responses/compact", "compactResponse")
    .describe(
        "Compact a conversation",
        "Replaces a conversation with its user messages and a summary. Use `output` as the start \
         of the next `input`. Costs the same as a response.",
    )
    .parameters(&[&IDEMPOTENCY])
    .body(request, r#"{"model": "{chat model}", "input": "Hello"}"#)
    .answers(&[answer(200, "The compacted conversation.", &[(JSON, compacted)], PAID)])
    .failures(FAILURES);

pub(crate) static INPUT_TOKENS: Operation =
    keyed(Post, "/v1/responses/input_tokens", "countInputTokens")
        .describe(
            "Count the tokens of an input",
            "Counted by providers that support the responses interface, estimated for others.",
        )
        .parameters(&[&IDEMPOTENCY])
        .body(request, r#"{"model": "{chat model}", "input": "Hello"}"#)
        .answers(&[answer(200, "The number of tokens.", &[(JSON, counted)], OWN)])
        .failures(FAILURES);

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

static ID: Parameter = Parameter::path("id", "Id of a stored response of this member.", text)
    .example("resp_0123456789abcdef0123456789abcdef");

static STREAM: Parameter = Parameter::query(
    "stream",
    "Stream the events of a background response.",
    |_| json_schema!({ "type": "boolean" }),
);

static STARTING_AFTER: Parameter = Parameter::query(
    "starting_after",
    "With `stream`: return only events after this sequence number.",
    |_| json_schema!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX }),
);

static LIMIT: Parameter = Parameter::query(
    "limit",
    "Maximum number of items to return. Default: 20.",
    |_| json_schema!({ "type": "integer", "minimum": 1, "maximum": 100 }),
);

static ORDER: Parameter = Parameter::query(
    "order",
    "`asc` or `desc`. Default: `desc`.",
    |_| json_schema!({ "enum": ["asc", "desc"] }),
);

static AFTER: Parameter = Parameter::query(
    "after",
    "Id of the item after which the list continues. Any id that is not an item of this response is \
     rejected with 400.",
    filled,
);

pub(crate) static SHOW: Operation = keyed(Get, "/v1/responses/{id}", "showResponse")
    .describe(
        "Get a response",
        "Returns the current state of a stored response. With `stream=true`, streams a background \
         response to its end.",
    )
    .parameters(&[&ID, &STREAM, &STARTING_AFTER])
    .answers(&[answer(
        200,
        "The response, or an event stream.",
        &[(JSON, response), (EVENTS, events)],
        OWN,
    )])
    .failures(&[Code::InvalidRequest, Code::ScopeMissing, Code::NotFound]);

pub(crate) static DELETE: Operation = keyed(Delete, "/v1/responses/{id}", "deleteResponse")
    .describe("Delete a response", "Deletes a stored response. It is not refunded.")
    .parameters(&[&ID])
    .answers(&[answer(200, "The response is deleted.", &[(JSON, deleted)], OWN)])
    .failures(&[Code::ScopeMissing, Code::NotFound, Code::Conflict]);

pub(crate) static CANCEL: Operation = keyed(Post, "/v1/responses/{id}/cancel", "cancelResponse")
    .describe(
        "Cancel a response",
        "Cancels a response that was created with `background`; it is not charged. A response that \
         has ended is not changed. Any other response is rejected with 400.",
    )
    .parameters(&[&ID])
    .answers(&[answer(200, "The current state of the response.", &[(JSON, response)], OWN)])
    .failures(&[Code::InvalidRequest, Code::ScopeMissing, Code::NotFound, Code::Conflict]);

pub(crate) static INPUT_ITEMS: Operation =
    keyed(Get, "/v1/responses/{id}/input_items", "listInputItems")
        .describe("List input items", "Lists the input items of a stored response.")
        .parameters(&[&ID, &LIMIT, &ORDER, &AFTER])
        .answers(&[answer(200, "The items.", &[(JSON, items)], OWN)])
        .failures(&[Code::InvalidRequest, Code::ScopeMissing, Code::NotFound]);

fn request(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["model", "input"],
        "properties": {
            "model": {
                "type": "string", "minLength": 1,
                "description": "A full id or an alias from `GET /v1/models`.",
            },
            "input": {
                "type": ["string", "array"], "items": { "type": "object" },
                "description": "A string, or a list of items.",
            },
            "stream": {
                "type": ["boolean", "null"],
                "description": "Return the response as an event stream.",
            },
            "store": {
                "type": ["boolean", "null"],
                "description": "Store the response. Default: true.",
            },
            "background": {
                "type": ["boolean", "null"],
                "description": "Return at once and run the request in the background.",
            },
            "previous_response_id": {
                "type": ["string", "null"],
                "description": "Id of a stored response to continue.",
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
