//! Operations of the messages interface.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::member::{IDEMPOTENCY, OWN, PAID};
use super::responses::FAILURES;
use super::{
    EVENTS, JSON, Operation, PLAIN, Parameter, ParameterLocation, Verb, answer, events, json_body,
    text,
};

static BETA: Parameter = Parameter {
    location: ParameterLocation::Header,
    name: "anthropic-beta",
    description: "Beta features. Passed to `anthropic` providers, ignored by others.",
    schema: text,
    example: "",
};

/// `POST /v1/messages`.
pub(crate) static CREATE: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/messages",
    id: "createMessage",
    summary: "Create a message",
    description: "Accepts an Anthropic request. `anthropic` providers receive it unchanged except \
                  for the model name. For other providers it is translated to a chat completion \
                  and back; unsupported fields are rejected by name. The key may also be sent in \
                  `x-api-key`. Errors and streams use Anthropic's format. A message costs the same \
                  as a chat completion.",
    parameters: &[&IDEMPOTENCY, &BETA],
    body: Some(json_body(
        request,
        r#"{"model": "{chat model}", "max_tokens": 1024, "messages": [{"role": "user", "content": "Hello"}]}"#,
    )),
    answers: &[answer(
        200,
        "The message, or an event stream.",
        &[(JSON, message), (EVENTS, events)],
        PAID,
    )],
    failures: FAILURES,
    ..PLAIN
};

/// `POST /v1/messages/count_tokens`.
pub(crate) static COUNT_TOKENS: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/messages/count_tokens",
    id: "countMessageTokens",
    summary: "Count the tokens of a message",
    description: "Counted by `anthropic` providers, estimated for others.",
    parameters: &[&IDEMPOTENCY, &BETA],
    body: Some(json_body(
        counted,
        r#"{"model": "{chat model}", "messages": [{"role": "user", "content": "Hello"}]}"#,
    )),
    answers: &[answer(200, "The number of tokens.", &[(JSON, count)], OWN)],
    failures: FAILURES,
    ..PLAIN
};

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
    if let Some(properties) = schema.get_mut("properties").and_then(|value| value.as_object_mut()) {
        let stream = serde_json::json!({
            "type": ["boolean", "null"], "description": "Return the response as an event stream.",
        });
        let max_tokens = serde_json::json!({
            "type": "integer", "minimum": 1, "maximum": 1_000_000_000,
            "description": "Maximum number of tokens of the response.",
        });
        properties.insert("stream".to_owned(), stream);
        properties.insert("max_tokens".to_owned(), max_tokens);
    }
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
