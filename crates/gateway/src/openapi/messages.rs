//! Operations of the messages interface.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::Verb::Post;
use super::member::{IDEMPOTENCY, OWN, PAID};
use super::responses::FAILURES;
use super::{EVENTS, JSON, Operation, Parameter, add_property, answer, events, keyed, text};

static BETA: Parameter = Parameter::header(
    "anthropic-beta",
    "Beta features. Passed to `anthropic` providers, ignored by others.",
    text,
);

pub(crate) static CREATE: Operation = keyed(Post, "/v1/messages", "createMessage")
    .describe(
        "Create a message",
        "Accepts an Anthropic request. `anthropic` providers receive it unchanged except for the \
         model name. For other providers it is translated to a chat completion and back; \
         unsupported fields are rejected by name. The key may also be sent in `x-api-key`. Errors \
         and streams use Anthropic's format. A message costs the same as a chat completion.",
    )
    .parameters(&[&IDEMPOTENCY, &BETA])
    .body(request,
        r#"{"model": "{chat model}", "max_tokens": 1024, "messages": [{"role": "user", "content": "Hello"}]}"#)
    .answers(&[answer(
        200,
        "The message, or an event stream.",
        &[(JSON, message), (EVENTS, events)],
        PAID,
    )])
    .failures(FAILURES);

pub(crate) static COUNT_TOKENS: Operation =
    keyed(Post, "/v1/messages/count_tokens", "countMessageTokens")
        .describe(
            "Count the tokens of a message",
            "Counted by `anthropic` providers, estimated for others.",
        )
        .parameters(&[&IDEMPOTENCY, &BETA])
        .body(
            counted,
            r#"{"model": "{chat model}", "messages": [{"role": "user", "content": "Hello"}]}"#,
        )
        .answers(&[answer(200, "The number of tokens.", &[(JSON, count)], OWN)])
        .failures(FAILURES);

fn counted(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["model", "messages"],
        "properties": {
            "model": {
                "type": "string", "minLength": 1,
                "description": "A full id or an alias from `GET /v1/models`.",
            },
            "messages": {
                "type": "array", "minItems": 1,
                "items": {
                    "type": "object",
                    "required": ["role", "content"],
                    "properties": {
                        "role": { "enum": ["user", "assistant", "system"] },
                        "content": { "type": ["string", "array"], "items": { "type": "object" } },
                    },
                },
                "description": "The conversation so far.",
            },
            "system": { "type": ["string", "array", "null"], "items": { "type": "object" } },
        },
        "additionalProperties": true,
    })
}

fn request(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = counted(generator);
    schema.insert("required".to_owned(), vec!["model", "max_tokens", "messages"].into());
    let stream = json!({
        "type": ["boolean", "null"], "description": "Return the response as an event stream.",
    });
    let max_tokens = json!({
        "type": "integer", "minimum": 1, "maximum": 1_000_000_000,
        "description": "Maximum number of tokens of the response.",
    });
    add_property(&mut schema, "stream", stream);
    add_property(&mut schema, "max_tokens", max_tokens);
    schema
}

fn message(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["id", "type", "role", "model", "content", "stop_reason", "usage"],
        "properties": {
            "id": { "type": "string" },
            "type": { "const": "message" },
            "role": { "const": "assistant" },
            "model": { "type": "string" },
            "content": { "type": "array", "items": { "type": "object" } },
            "stop_reason": { "type": ["string", "null"] },
            "usage": { "type": "object" },
        },
        "additionalProperties": true,
    })
}

fn count(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["input_tokens"],
        "properties": { "input_tokens": { "type": "integer", "minimum": 0 } },
    })
}
