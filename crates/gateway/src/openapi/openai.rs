//! Operations of OpenAI's interface that are passed on to a provider.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::Verb::Post;
use super::media::binary;
use super::member::{IDEMPOTENCY, PAID, PAID_FAILURES};
use super::{
    Body, EVENTS, JSON, Make, Operation, Parameter, SuccessResponse, add_property, answer, events,
    keyed, text,
};

static PARAMETERS: &[&Parameter] = &[&IDEMPOTENCY];

const fn passed_on(path: &'static str, id: &'static str) -> Operation {
    keyed(Post, path, id).parameters(PARAMETERS).failures(PAID_FAILURES)
}

const fn form(schema: Make) -> Body {
    Body { is_required: true, media_type: "multipart/form-data", schema, example: "" }
}

pub(crate) static COMPLETIONS: Operation = passed_on("/v1/completions", "createCompletion")
    .describe(
        "Create a text completion",
        "The legacy interface without messages, for `openai` providers that support it. It costs \
         the same as a chat completion.",
    )
    .body(
        |_| object("prompt", &json!({ "type": ["string", "array"], "items": {} })),
        r#"{"model": "{chat model}", "prompt": "Once upon a time"}"#,
    )
    .answers(&[answer(
        200,
        "The completion, or an event stream.",
        &[(JSON, any_object), (EVENTS, events)],
        PAID,
    )]);

pub(crate) static EMBEDDINGS: Operation = passed_on("/v1/embeddings", "createEmbeddings")
    .describe(
        "Create embeddings",
        "Returns embeddings of texts or token lists. `dimensions` and `encoding_format` are passed \
         to the provider.",
    )
    .body(
        |_| object("input", &inputs()),
        r#"{"model": "{embeddings model}", "input": ["A lighthouse", "A tower"]}"#,
    )
    .answers(&[answer(200, "The embeddings.", &[(JSON, |_| list("data"))], PAID)]);

pub(crate) static MODERATIONS: Operation = passed_on("/v1/moderations", "createModeration")
    .describe(
        "Moderate texts and images",
        "Classifies texts and images as harmful or not. Without `model`, the service chooses a \
         moderation model.",
    )
    .body(
        |_| {
            let mut schema = object("input", &inputs());
            schema.insert("required".to_owned(), json!(["input"]));
            schema
        },
        r#"{"model": "{moderation model}", "input": "Hello"}"#,
    )
    .answers(&[answer(200, "The results.", &[(JSON, |_| list("results"))], PAID)]);

pub(crate) static RERANK: Operation = passed_on("/v1/rerank", "rerank")
    .describe("Rerank documents", "Sorts documents by their relevance to a query, best first.")
    .body(
        |_| {
            let documents = json!({ "type": "array", "minItems": 1, "items": {} });
            let mut schema = object("documents", &documents);
            schema.insert("required".to_owned(), json!(["model", "query", "documents"]));
            add_property(&mut schema, "query", filled());
            schema
        },
        r#"{"model": "{rerank model}", "query": "sea", "documents": ["A harbour", "A desert"]}"#,
    )
    .answers(&[answer(200, "The ranking.", &[(JSON, |_| list("results"))], PAID)]);

pub(crate) static IMAGES: Operation = passed_on("/v1/images/generations", "createImage")
    .describe(
        "Generate images",
        "Like `POST /v1/media/run`, but compatible with OpenAI clients: `model` must be a full id, \
         and the provider's response is returned. Nothing is stored. All images must be valid; \
         streams are not supported.",
    )
    .body(
        |_| image_request(&json!({ "enum": [false, null] })),
        r#"{"model": "{image model}", "prompt": "A lighthouse at dusk"}"#,
    )
    .answers(IMAGE_ANSWERS);

pub(crate) static IMAGE_EDITS: Operation = passed_on("/v1/images/edits", "editImage")
    .describe(
        "Edit images",
        "Takes images and a prompt as a form. `model` must be a full id; streams are not supported.",
    )
    .with_body(form(|_| {
        let mut schema = image_request(&json!({ "enum": ["false"] }));
        add_property(&mut schema, "image", json!({ "type": "string", "format": "binary" }));
        schema
    }))
    .answers(IMAGE_ANSWERS);

static IMAGE_ANSWERS: &[SuccessResponse] =
    &[answer(200, "The images.", &[(JSON, |_| list("data"))], PAID)];

pub(crate) static SPEECH: Operation = passed_on("/v1/audio/speech", "createSpeech")
    .describe(
        "Generate speech",
        "Streams the audio as it arrives. `model` must be a full id; most providers require \
         `voice`.",
    )
    .body(
        |_| object("input", &filled()),
        r#"{"model": "{speech model}", "input": "Hello", "voice": "alloy"}"#,
    )
    .answers(&[answer(
        200,
        "The audio.",
        &[("audio/*", binary), ("application/octet-stream", binary), (EVENTS, events)],
        PAID,
    )]);

pub(crate) static TRANSCRIPTIONS: Operation =
    passed_on("/v1/audio/transcriptions", "createTranscription")
        .describe("Transcribe speech", "Takes audio as a form. `model` must be a full id.")
        .with_body(form(|_| {
            object("file", &json!({ "type": "string", "format": "binary", "minLength": 1 }))
        }))
        .answers(&[answer(
            200,
            "The text in the requested format, or an event stream.",
            &[(JSON, any_object), ("text/*", text), (EVENTS, events)],
            PAID,
        )]);

fn filled() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

/// An object with a model and one more required field; other fields reach the provider.
fn object(field: &str, schema: &Value) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["model", field],
        "properties": {
            "model": {
                "type": "string", "minLength": 1,
                "description": "A full id from `GET /v1/models`; aliases are also accepted, except \
                                for media generation.",
            },
            field: schema,
        },
        "additionalProperties": true,
    })
}

/// A request for images, with the possible values of `stream`.
fn image_request(stream: &Value) -> Schema {
    let mut schema = object("prompt", &filled());
    add_property(&mut schema, "stream", stream.clone());
    schema
}

/// A text, or a list of texts or of lists of tokens.
fn inputs() -> Value {
    json!({ "type": ["string", "array"], "minLength": 1, "minItems": 1, "items": {} })
}

fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": true })
}

fn list(field: &str) -> Schema {
    json_schema!({
        "type": "object",
        "required": [field],
        "properties": { field: { "type": "array", "items": {} } },
        "additionalProperties": true,
    })
}
