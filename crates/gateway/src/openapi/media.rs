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
        description: "Digest of the file. The content of a URL never changes.",
        schema: text,
    },
    &Header {
        name: "Repr-Digest",
        description: "SHA-256 digest of the whole file, in base64.",
        schema: text,
    },
    &Header {
        name: "Digest",
        description: "The digest in the format of an older standard.",
        schema: text,
    },
    &Header { name: "Accept-Ranges", description: "`bytes`.", schema: text },
];
/// The headers of a part of a file.
pub(crate) static PART: &[&Header] = &[&Header {
    name: "Content-Range",
    description: "The returned byte range and the total size.",
    schema: text,
}];

pub(crate) static RANGE: Parameter = Parameter {
    location: ParameterLocation::Header,
    name: "Range",
    description: "A single byte range. Requests for several ranges get the whole file.",
    schema: text,
    example: "bytes=0-1023",
};
pub(crate) static IF_NONE_MATCH: Parameter = Parameter {
    location: ParameterLocation::Header,
    name: "If-None-Match",
    description: "`ETag` of the client's copy. If it matches, the file is not sent again.",
    schema: text,
    example: "",
};
pub(crate) static IF_RANGE: Parameter = Parameter {
    location: ParameterLocation::Header,
    name: "If-Range",
    description: "`ETag` of the client's partial copy. If it does not match, the whole file is \
                  sent.",
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
    summary: "Generate media",
    description: "Generates an image from a prompt, or speech from a text. The price of the model \
                  is reserved first. Generated files are validated (images must decode, audio must \
                  contain a frame) and stored before the request is charged; otherwise the \
                  reservation is refunded. With `response: binary`, the response is the first file \
                  itself.",
    parameters: &[&IDEMPOTENCY],
    body: Some(json_body(
        request,
        r#"{"model": "{image model}", "input": {"prompt": "A lighthouse at dusk"}}"#,
    )),
    answers: &[answer(
        200,
        "The generated files, or the first of them.",
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
                "description": "The full id `<provider>/<model>`. Aliases are not accepted.",
            },
            "input": {
                "type": "object",
                "properties": {
                    "prompt": { "type": "string", "description": "Description of the image." },
                    "text": { "type": "string", "description": "Text to speak." },
                },
                "additionalProperties": true,
                "description": "`prompt` or `text`, and options of the provider, such as `size`, \
                                `voice` or `response_format`.",
            },
            "response": {
                "enum": ["json", "binary", null],
                "description": "`json`: a description of the files; `binary`: the first file.",
            },
        },
        "additionalProperties": false,
    })
}

static ARTIFACT_ID: Parameter = Parameter {
    location: ParameterLocation::Path,
    name: "id",
    description: "Id of an artifact.",
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
    summary: "Download a generated file",
    description: "Returns the file, or a range of it. Only the member who generated it has access.",
    parameters: &[&ARTIFACT_ID, &RANGE, &IF_NONE_MATCH, &IF_RANGE],
    answers: &[
        answer(200, "The file.", &[("image/*", binary), ("audio/*", binary)], FILE),
        answer(206, "A range of the file.", &[("image/*", binary), ("audio/*", binary)], PART),
        answer(304, "The file is unchanged.", &[], &[]),
    ],
    failures: &[Code::ScopeMissing, Code::NotFound, Code::RangeNotSatisfiable],
    ..PLAIN
};

static RUN_ID: Parameter = Parameter {
    location: ParameterLocation::Path,
    name: "id",
    description: "Id of a run: `run_` and the digits of its receipt.",
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
    summary: "Get a media run",
    description: "Returns the response of the run again.",
    parameters: &[&RUN_ID],
    answers: &[answer(200, "The run.", &[(JSON, of::<MediaRun>)], OWN)],
    failures: &[Code::ScopeMissing, Code::NotFound],
    ..PLAIN
};
