//! Operations of media.

use schemars::{Schema, SchemaGenerator, json_schema};
use wire::error::Code;
use wire::media::MediaRun;

use super::member::{IDEMPOTENCY, OWN, PAID, PAID_FAILURES};
use super::{
    Header, JSON, Operation, PLAIN, Parameter, ParameterLocation, Verb, answer, json_body, of, text,
};

/// The headers of every file.
pub(crate) static FILE: &[&Header] = &[
    &Header {
        name: "ETag",
        description: "The digest of the file; it never changes under one address.",
        schema: text,
    },
    &Header {
        name: "Repr-Digest",
        description: "The SHA-256 digest of the whole file, in base64.",
        schema: text,
    },
    &Header {
        name: "Digest",
        description: "The same in the words of an older standard.",
        schema: text,
    },
    &Header { name: "Accept-Ranges", description: "`bytes`.", schema: text },
];
/// The headers of a part of a file.
pub(crate) static PART: &[&Header] = &[&Header {
    name: "Content-Range",
    description: "Which bytes these are, and how many there are in all.",
    schema: text,
}];

pub(crate) static RANGE: Parameter = Parameter {
    location: ParameterLocation::Header,
    name: "Range",
    description: "One range of bytes; several at once are answered with the whole file.",
    schema: text,
    example: "bytes=0-1023",
};
pub(crate) static IF_NONE_MATCH: Parameter = Parameter {
    location: ParameterLocation::Header,
    name: "If-None-Match",
    description: "The `ETag` of what the client has: then it is not sent again.",
    schema: text,
    example: "",
};
pub(crate) static IF_RANGE: Parameter = Parameter {
    location: ParameterLocation::Header,
    name: "If-Range",
    description: "The `ETag` of what the client has a part of: another file is sent whole.",
    schema: text,
    example: "",
};

pub(crate) fn binary(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "binary" })
}

/// `POST /v1/media/run`.
pub(crate) static RUN: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/media/run",
    id: "runMedia",
    summary: "Make media",
    description: "An image from a prompt, or speech from a text. The price of the model is set aside \
                  first. What was made is checked (an image can be decoded, audio has a frame) and \
                  stored before it is charged; all else is given back. With `response: binary` the \
                  answer is the first file itself.",
    parameters: &[&IDEMPOTENCY],
    body: Some(json_body(
        request,
        r#"{"model": "{image model}", "input": {"prompt": "A lighthouse at dusk"}}"#,
    )),
    answers: &[answer(
        200,
        "What was made, or the first file of it.",
        &[(JSON, of::<MediaRun>), ("image/*", binary), ("audio/*", binary)],
        PAID,
    )],
    failures: PAID_FAILURES,
    ..PLAIN
};

fn request(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["model", "input"],
        "properties": {
            "model": {
                "type": "string", "minLength": 1,
                "description": "The full id `<provider>/<model>`; aliases are not taken here.",
            },
            "input": {
                "type": "object",
                "properties": {
                    "prompt": { "type": "string", "description": "What the image is to show." },
                    "text": { "type": "string", "description": "What is to be said." },
                },
                "additionalProperties": true,
                "description": "`prompt` or `text`, and what the provider knows beside it, such as \
                                `size`, `voice` or `response_format`.",
            },
            "response": {
                "enum": ["json", "binary", null],
                "description": "Whether the answer describes the files, or is the first of them.",
            },
        },
        "additionalProperties": false,
    })
}

static ARTIFACT_ID: Parameter = Parameter {
    location: ParameterLocation::Path,
    name: "id",
    description: "The id of an artifact.",
    schema: artifact_id,
    example: "art_0123456789abcdef0123456789abcdef",
};

fn artifact_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^art_[0-9a-f]{32}$" })
}

/// `GET /v1/media/artifacts/{id}`.
pub(crate) static ARTIFACT: Operation = Operation {
    path: "/v1/media/artifacts/{id}",
    id: "getArtifact",
    summary: "A file that was made",
    description: "Its bytes, whole or a part. Only the member who had it made can have it.",
    parameters: &[&ARTIFACT_ID, &RANGE, &IF_NONE_MATCH, &IF_RANGE],
    answers: &[
        answer(200, "The file.", &[("image/*", binary), ("audio/*", binary)], FILE),
        answer(206, "A part of the file.", &[("image/*", binary), ("audio/*", binary)], PART),
        answer(304, "It is unchanged.", &[], &[]),
    ],
    failures: &[Code::ScopeMissing, Code::NotFound, Code::RangeNotSatisfiable],
    ..PLAIN
};

static RUN_ID: Parameter = Parameter {
    location: ParameterLocation::Path,
    name: "id",
    description: "The id of a run: `run_` and the digits of its receipt.",
    schema: run_id,
    example: "run_0123456789abcdef0123456789abcdef",
};

fn run_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^run_[0-9a-f]{32}$" })
}

/// `GET /v1/media/runs/{id}/manifest.json`.
pub(crate) static MANIFEST: Operation = Operation {
    path: "/v1/media/runs/{id}/manifest.json",
    id: "getMediaManifest",
    summary: "What a run made",
    description: "The same as the run was answered with.",
    parameters: &[&RUN_ID],
    answers: &[answer(200, "The run.", &[(JSON, of::<MediaRun>)], OWN)],
    failures: &[Code::ScopeMissing, Code::NotFound],
    ..PLAIN
};
