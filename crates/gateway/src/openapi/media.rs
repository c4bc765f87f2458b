//! Operations of media.

use schemars::{Schema, SchemaGenerator, json_schema};
use wire::error::Code;
use wire::media::MediaRun;

use super::Verb::{Get, Post};
use super::member::{IDEMPOTENCY, OWN, PAID, PAID_FAILURES};
use super::{Header, JSON, Operation, Parameter, answer, keyed, of, returning, text};

pub(super) static FILE: &[&Header] = &[
    &Header::new("ETag", "Digest of the file. The content of a URL never changes.", text),
    &Header::new("Repr-Digest", "SHA-256 digest of the whole file, in base64.", text),
    &Header::new("Digest", "The digest in the format of an older standard.", text),
    &Header::new("Accept-Ranges", "`bytes`.", text),
];
pub(super) static PART: &[&Header] =
    &[&Header::new("Content-Range", "The returned byte range and the total size.", text)];

pub(super) static RANGE: Parameter = Parameter::header(
    "Range",
    "A single byte range. Requests for several ranges get the whole file.",
    text,
)
.example("bytes=0-1023");
pub(super) static IF_NONE_MATCH: Parameter = Parameter::header(
    "If-None-Match",
    "`ETag` of the client's copy. If it matches, the file is not sent again.",
    text,
);
pub(super) static IF_RANGE: Parameter = Parameter::header(
    "If-Range",
    "`ETag` of the client's partial copy. If it does not match, the whole file is sent.",
    text,
);

pub(super) fn binary(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "binary" })
}

pub(crate) static RUN: Operation = keyed(Post, "/v1/media/run", "runMedia")
    .describe(
        "Generate media",
        "Generates an image from a prompt, or speech from a text. The price of the model is \
         reserved first. Generated files are validated (images must decode, audio must contain a \
         frame) and stored before the request is charged; otherwise the reservation is refunded. \
         With `response: binary`, the response is the first file itself.",
    )
    .parameters(&[&IDEMPOTENCY])
    .body(request, r#"{"model": "{image model}", "input": {"prompt": "A lighthouse at dusk"}}"#)
    .answers(&[answer(
        200,
        "The generated files, or the first of them.",
        &[(JSON, of::<MediaRun>), ("image/*", binary), ("audio/*", binary)],
        PAID,
    )])
    .failures(PAID_FAILURES);

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

static ARTIFACT_ID: Parameter = Parameter::path(
    "id",
    "Id of an artifact.",
    |_| json_schema!({ "type": "string", "pattern": "^art_[0-9a-f]{32}$" }),
)
.example("art_0123456789abcdef0123456789abcdef");

pub(crate) static ARTIFACT: Operation = keyed(Get, "/v1/media/artifacts/{id}", "getArtifact")
    .describe(
        "Download a generated file",
        "Returns the file, or a range of it. Only the member who generated it has access.",
    )
    .parameters(&[&ARTIFACT_ID, &RANGE, &IF_NONE_MATCH, &IF_RANGE])
    .answers(&[
        answer(200, "The file.", &[("image/*", binary), ("audio/*", binary)], FILE),
        answer(206, "A range of the file.", &[("image/*", binary), ("audio/*", binary)], PART),
        answer(304, "The file is unchanged.", &[], &[]),
    ])
    .failures(&[Code::ScopeMissing, Code::NotFound, Code::RangeNotSatisfiable]);

static RUN_ID: Parameter = Parameter::path(
    "id",
    "Id of a run: `run_` and the digits of its receipt.",
    |_| json_schema!({ "type": "string", "pattern": "^run_[0-9a-f]{32}$" }),
)
.example("run_0123456789abcdef0123456789abcdef");

pub(crate) static MANIFEST: Operation =
    keyed(Get, "/v1/media/runs/{id}/manifest.json", "getMediaManifest")
        .describe("Get a media run", "Returns the response of the run again.")
        .parameters(&[&RUN_ID])
        .answers(&[returning::<MediaRun>(200, "The run.", OWN)])
        .failures(&[Code::ScopeMissing, Code::NotFound]);
