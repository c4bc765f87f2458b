//! Operations of downloads.

use schemars::{Schema, SchemaGenerator, json_schema};
use wire::download::Manifest;
use wire::error::Code;

use super::media::{FILE as HEADERS, IF_NONE_MATCH, IF_RANGE, PART, RANGE, binary};
use super::{Access, JSON, Operation, PLAIN, Parameter, ParameterLocation, answer, of};

const BYTES: &str = "application/octet-stream";

/// `GET /v1/downloads/manifest.json`.
pub(crate) static MANIFEST: Operation = Operation {
    path: "/v1/downloads/manifest.json",
    id: "getDownloads",
    summary: "Get the download manifest",
    description: "Lists the published files with their sizes and digests, signed by the operator. \
                  The signature covers everything except the URLs.",
    access: Access::Open,
    answers: &[answer(200, "The manifest.", &[(JSON, of::<Manifest>)], &[])],
    failures: &[Code::NotFound, Code::Unavailable],
    ..PLAIN
};

static VERSION: Parameter = Parameter {
    location: ParameterLocation::Path,
    name: "version",
    description: "Version of the manifest.",
    schema: name,
    example: "1.0.0",
};
static NAME: Parameter = Parameter {
    location: ParameterLocation::Path,
    name: "name",
    description: "Name of a file in the manifest.",
    schema: name,
    example: "agent-linux-x86_64",
};

fn name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9_+-][A-Za-z0-9._+-]{0,127}$" })
}

/// `GET /v1/downloads/{version}/{name}`.
pub(crate) static FILE: Operation = Operation {
    path: "/v1/downloads/{version}/{name}",
    id: "getDownload",
    summary: "Download a file",
    description: "Returns a file of the manifest, or a range of it.",
    access: Access::Open,
    parameters: &[&VERSION, &NAME, &RANGE, &IF_NONE_MATCH, &IF_RANGE],
    answers: &[
        answer(200, "The file.", &[(BYTES, binary)], HEADERS),
        answer(206, "A range of the file.", &[(BYTES, binary)], PART),
        answer(304, "The file is unchanged.", &[], &[]),
    ],
    failures: &[Code::NotFound, Code::RangeNotSatisfiable, Code::Unavailable],
    ..PLAIN
};
