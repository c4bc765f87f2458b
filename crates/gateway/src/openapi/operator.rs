//! Operations for monitoring, and the description of the service.

use schemars::{Schema, SchemaGenerator, json_schema};
use wire::error::Code;

use super::{Access, JSON, Operation, PLAIN, answer, text};

const PLAIN_TEXT: &str = "text/plain";

/// `GET /healthz`.
pub(crate) static HEALTH: Operation = Operation {
    path: "/healthz",
    id: "health",
    summary: "Whether the process lives",
    description: "Answers as long as there is a process.",
    access: Access::Open,
    answers: &[answer(200, "It lives.", &[(PLAIN_TEXT, text)], &[])],
    ..PLAIN
};

/// `GET /readyz`.
pub(crate) static READY: Operation = Operation {
    path: "/readyz",
    id: "ready",
    summary: "Whether it takes requests",
    description: "The database answers, and the service is not about to stop.",
    access: Access::Open,
    answers: &[answer(200, "It does.", &[(PLAIN_TEXT, text)], &[])],
    failures: &[Code::Unavailable],
    ..PLAIN
};

/// `GET /metrics`.
pub(crate) static METRICS: Operation = Operation {
    path: "/metrics",
    id: "metrics",
    summary: "Figures for Prometheus",
    description: "Counters, gauges and histograms as OpenMetrics text.",
    access: Access::Open,
    answers: &[answer(200, "The figures.", &[("application/openmetrics-text", text)], &[])],
    failures: &[Code::OriginRefused],
    ..PLAIN
};

/// `GET /openapi.json`.
pub(crate) static DOCUMENT: Operation = Operation {
    path: "/openapi.json",
    id: "document",
    summary: "This description, for programs",
    description: "An OpenAPI 3.1 document of every path that is served.",
    access: Access::Open,
    answers: &[answer(200, "The document.", &[(JSON, object)], &[])],
    failures: &[Code::OriginRefused],
    ..PLAIN
};

/// `GET /docs`.
pub(crate) static PAGE: Operation = Operation {
    path: "/docs",
    id: "page",
    summary: "This description, for people",
    description: "The same document as one page.",
    access: Access::Open,
    answers: &[answer(200, "The page.", &[("text/html", text)], &[])],
    failures: &[Code::OriginRefused],
    ..PLAIN
};

/// `GET /oauth/client-metadata.json`.
pub(crate) static CLIENT: Operation = Operation {
    path: "/oauth/client-metadata.json",
    id: "clientDocument",
    summary: "Who the MCP client is",
    description: "The client document that authorization servers fetch.",
    access: Access::Open,
    answers: &[answer(200, "The document.", &[(JSON, object)], &[])],
    ..PLAIN
};

fn object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}
