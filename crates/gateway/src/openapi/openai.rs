//! Operations of OpenAI's interface that are passed on to a provider.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::media::binary;
use super::member::{IDEMPOTENCY, PAID, PAID_FAILURES};
use super::{
    Body, EVENTS, JSON, Make, Operation, PLAIN, Parameter, SuccessResponse, Verb, answer, events,
    json_body, text,
};

/// The media type of forms.
const FORM: &str = "multipart/form-data";

static PARAMETERS: &[&Parameter] = &[&IDEMPOTENCY];

/// An operation whose successful responses have these contents.
const fn operation(
    [path, id, summary, description]: [&'static str; 4],
    body: Body,
    answers: &'static [SuccessResponse],
) -> Operation {
    Operation {
        verb: Verb::Post,
        path,
        id,
        summary,
        description,
        parameters: PARAMETERS,
        body: Some(body),
        answers,
        failures: PAID_FAILURES,
        ..PLAIN
    }
}

const fn form_body(schema: Make) -> Body {
    Body { is_required: true, media_type: FORM, schema, example: "" }
}

/// `POST /v1/completions`.
pub(crate) static COMPLETIONS: Operation = operation(
    [
        "/v1/completions",
        "createCompletion",
        "Create a text completion",
        "The legacy interface without messages, for `openai` providers that support it. It costs \
         the same as a chat completion.",
    ],
    json_body(
        |_| object("prompt", &json!({ "type": ["string", "array"], "items": {} })),
        r#"{"model": "{chat model}", "prompt": "Once upon a time"}"#,
    ),
    &[answer(
        200,
        "The completion, or an event stream.",
        &[(JSON, any_object), (EVENTS, events)],
        PAID,
    )],
);

/// `POST /v1/embeddings`.
pub(crate) static EMBEDDINGS: Operation = operation(
    [
        "/v1/embeddings",
        "createEmbeddings",
        "Create embeddings",
        "Returns embeddings of texts or token lists. `dimensions` and `encoding_format` are passed \
         to the provider.",
    ],
    json_body(
        |_| object("input", &inputs()),
        r#"{"model": "{embeddings model}", "input": ["A lighthouse", "A tower"]}"#,
    ),
    &[answer(200, "The embeddings.", &[(JSON, |_| list("data"))], PAID)],
);

/// `POST /v1/moderations`.
pub(crate) static MODERATIONS: Operation = operation(
    [
        "/v1/moderations",
        "createModeration",
        "Moderate texts and images",
        "Classifies texts and images as harmful or not. Without `model`, the service chooses a \
         moderation model.",
    ],
    json_body(
        |_| {
            let mut schema = object("input", &inputs());
            schema.insert("required".to_owned(), json!(["input"]));
            schema
        },
        r#"{"model": "{moderation model}", "input": "Hello"}"#,
    ),
    &[answer(200, "The results.", &[(JSON, |_| list("results"))], PAID)],
);

/// `POST /v1/rerank`.
pub(crate) static RERANK: Operation = operation(
    [
        "/v1/rerank",
        "rerank",
        "Rerank documents",
        "Sorts documents by their relevance to a query, best first.",
    ],
    json_body(
        |_| {
            let documents = json!({ "type": "array", "minItems": 1, "items": {} });
            let mut schema = object("documents", &documents);
            schema.insert("required".to_owned(), json!(["model", "query", "documents"]));
            if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
                properties.insert("query".to_owned(), json!({ "type": "string", "minLength": 1 }));
            }
            schema
        },
        r#"{"model": "{rerank model}", "query": "sea", "documents": ["A harbour", "A desert"]}"#,
    ),
    &[answer(200, "The ranking.", &[(JSON, |_| list("results"))], PAID)],
);

/// `POST /v1/images/generations`.
pub(crate) static IMAGES: Operation = operation(
    [
        "/v1/images/generations",
        "createImage",
        "Generate images",
        "Like `POST /v1/media/run`, but compatible with OpenAI clients: `model` must be a full id, \
         and the provider's response is returned. Nothing is stored. All images must be valid; \
         streams are not supported.",
    ],
    json_body(
        |_| image_request(&json!({ "enum": [false, null] })),
        r#"{"model": "{image model}", "prompt": "A lighthouse at dusk"}"#,
    ),
    &[answer(200, "The images.", &[(JSON, |_| list("data"))], PAID)],
);

/// `POST /v1/images/edits`.
pub(crate) static IMAGE_EDITS: Operation = operation(
    [
        "/v1/images/edits",
        "editImage",
        "Edit images",
        "Takes images and a prompt as a form. `model` must be a full id; streams are not supported.",
    ],
    form_body(|_| {
        let mut schema = image_request(&json!({ "enum": ["false"] }));
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert("image".to_owned(), json!({ "type": "string", "format": "binary" }));
        }
        schema
    }),
    &[answer(200, "The images.", &[(JSON, |_| list("data"))], PAID)],
);

/// `POST /v1/audio/speech`.
pub(crate) static SPEECH: Operation = operation(
    [
        "/v1/audio/speech",
        "createSpeech",
        "Generate speech",
        "Streams the audio as it arrives. `model` must be a full id; most providers require \
         `voice`.",
    ],
    json_body(
        |_| object("input", &json!({ "type": "string", "minLength": 1 })),
        r#"{"model": "{speech model}", "input": "Hello", "voice": "alloy"}"#,
    ),
    &[answer(
        200,
        "The audio.",
        &[("audio/*", binary), ("application/octet-stream", binary), (EVENTS, events)],
        PAID,
    )],
);

/// `POST /v1/audio/transcriptions`.
pub(crate) static TRANSCRIPTIONS: Operation = operation(
    [
        "/v1/audio/transcriptions",
        "createTranscription",
        "Transcribe speech",
        "Takes audio as a form. `model` must be a full id.",
    ],
    form_body(|_| object("file", &json!({ "type": "string", "format": "binary", "minLength": 1 }))),
    &[answer(
        200,
        "The text in the requested format, or an event stream.",
        &[(JSON, any_object), ("text/*", text), (EVENTS, events)],
        PAID,
    )],
);

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
    let mut schema = object("prompt", &json!({ "type": "string", "minLength": 1 }));
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("stream".to_owned(), stream.clone());
    }
    schema
}

/// A text, or a list of texts or of lists of tokens.
fn inputs() -> Value {
    json!({ "type": ["string", "array"], "minLength": 1, "minItems": 1, "items": {} })
}

fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": true })
}

/// An object with a list.
fn list(field: &str) -> Schema {
    json_schema!({
        "type": "object",
        "required": [field],
        "properties": { field: { "type": "array", "items": {} } },
        "additionalProperties": true,
    })
}
