//! Operations for monitoring, and the description of the service.

use schemars::{Schema, SchemaGenerator, json_schema};
use wire::error::Code;

use super::{Access, JSON, Operation, PLAIN, answer, text};

const PLAIN_TEXT: &str = "text/plain";

/// `GET /healthz`.
pub(crate) static HEALTH: Operation = Operation {
    path: "/healthz",
    id: "health",
    summary: "Liveness check",
    description: "Succeeds while the process runs.",
    access: Access::Open,
    answers: &[answer(200, "The process runs.", &[(PLAIN_TEXT, text)], &[])],
    ..PLAIN
};

/// `GET /readyz`.
pub(crate) static READY: Operation = Operation {
    path: "/readyz",
    id: "ready",
    summary: "Readiness check",
    description: "Succeeds while the database is available and the service is not shutting down.",
    access: Access::Open,
    answers: &[answer(200, "The service accepts requests.", &[(PLAIN_TEXT, text)], &[])],
    failures: &[Code::Unavailable],
    ..PLAIN
};

/// `GET /metrics`.
pub(crate) static METRICS: Operation = Operation {
    path: "/metrics",
    id: "metrics",
    summary: "Prometheus metrics",
    description: "Counters, gauges and histograms as OpenMetrics text.",
    access: Access::Open,
    answers: &[answer(200, "The metrics.", &[("application/openmetrics-text", text)], &[])],
    failures: &[Code::OriginRefused],
    ..PLAIN
};

/// `GET /openapi.json`.
pub(crate) static DOCUMENT: Operation = Operation {
    path: "/openapi.json",
    id: "document",
    summary: "OpenAPI document",
    description: "An OpenAPI 3.1 document of all paths.",
    access: Access::Open,
    answers: &[answer(200, "The document.", &[(JSON, object)], &[])],
    failures: &[Code::OriginRefused],
    ..PLAIN
};

/// `GET /docs`.
pub(crate) static PAGE: Operation = Operation {
    path: "/docs",
    id: "page",
    summary: "API documentation",
    description: "The OpenAPI document as an HTML page.",
    access: Access::Open,
    answers: &[answer(200, "The page.", &[("text/html", text)], &[])],
    failures: &[Code::OriginRefused],
    ..PLAIN
};

/// `GET /oauth/client-metadata.json`.
pub(crate) static CLIENT: Operation = Operation {
    path: "/oauth/client-metadata.json",
    id: "clientDocument",
    summary: "MCP client metadata",
    description: "The client metadata document that authorization servers fetch.",
    access: Access::Open,
    answers: &[answer(200, "The document.", &[(JSON, object)], &[])],
    ..PLAIN
};

fn object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}
