//! Public operations: monitoring, the description of the service, downloads.

use schemars::{Schema, SchemaGenerator, json_schema};
use wire::download::Manifest;
use wire::error::Code;

use super::Verb::Get;
use super::media::{FILE, IF_NONE_MATCH, IF_RANGE, PART, RANGE, binary};
use super::{JSON, Operation, Parameter, answer, open, returning, text};

const PLAIN_TEXT: &str = "text/plain";
const BYTES: &str = "application/octet-stream";

pub(crate) static HEALTH: Operation = open(Get, "/healthz", "health")
    .describe("Liveness check", "Succeeds while the process runs.")
    .answers(&[answer(200, "The process runs.", &[(PLAIN_TEXT, text)], &[])]);

pub(crate) static READY: Operation = open(Get, "/readyz", "ready")
    .describe(
        "Readiness check",
        "Succeeds while the database is available and the service is not shutting down.",
    )
    .answers(&[answer(200, "The service accepts requests.", &[(PLAIN_TEXT, text)], &[])])
    .failures(&[Code::Unavailable]);

pub(crate) static METRICS: Operation = open(Get, "/metrics", "metrics")
    .describe("Prometheus metrics", "Counters, gauges and histograms as OpenMetrics text.")
    .answers(&[answer(200, "The metrics.", &[("application/openmetrics-text", text)], &[])])
    .failures(&[Code::OriginRefused]);

pub(crate) static DOCUMENT: Operation = open(Get, "/openapi.json", "document")
    .describe("OpenAPI document", "An OpenAPI 3.1 document of all paths.")
    .answers(&[answer(200, "The document.", &[(JSON, object)], &[])])
    .failures(&[Code::OriginRefused]);

pub(crate) static PAGE: Operation = open(Get, "/docs", "page")
    .describe("API documentation", "The OpenAPI document as an HTML page.")
    .answers(&[answer(200, "The page.", &[("text/html", text)], &[])])
    .failures(&[Code::OriginRefused]);

pub(crate) static CLIENT: Operation = open(Get, "/oauth/client-metadata.json", "clientDocument")
    .describe(
        "MCP client metadata",
        "The client metadata document that authorization servers fetch.",
    )
    .answers(&[answer(200, "The document.", &[(JSON, object)], &[])]);

fn object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}

pub(crate) static DOWNLOADS: Operation = open(Get, "/v1/downloads/manifest.json", "getDownloads")
    .describe(
        "Get the download manifest",
        "Lists the published files with their sizes and digests, signed by the operator. The \
         signature covers everything except the URLs.",
    )
    .answers(&[returning::<Manifest>(200, "The manifest.", &[])])
    .failures(&[Code::NotFound, Code::Unavailable]);

static VERSION: Parameter =
    Parameter::path("version", "Version of the manifest.", name).example("1.0.0");
static NAME: Parameter =
    Parameter::path("name", "Name of a file in the manifest.", name).example("agent-linux-x86_64");

fn name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9_+-][A-Za-z0-9._+-]{0,127}$" })
}

pub(crate) static DOWNLOAD: Operation = open(Get, "/v1/downloads/{version}/{name}", "getDownload")
    .describe("Download a file", "Returns a file of the manifest, or a range of it.")
    .parameters(&[&VERSION, &NAME, &RANGE, &IF_NONE_MATCH, &IF_RANGE])
    .answers(&[
        answer(200, "The file.", &[(BYTES, binary)], FILE),
        answer(206, "A range of the file.", &[(BYTES, binary)], PART),
        answer(304, "The file is unchanged.", &[], &[]),
    ])
    .failures(&[Code::NotFound, Code::RangeNotSatisfiable, Code::Unavailable]);
