//! Operations for monitoring, and the description of the service.

use schemars::{Schema, SchemaGenerator, json_schema};
use wire::error::Code;

use super::{Access, JSON, Operation, SuccessResponse, Verb, text};

const PLAIN: &str = "text/plain";

/// `GET /healthz`.
pub(crate) static HEALTH: Operation = Operation {
    verb: Verb::Get,
    path: "/healthz",
    id: "health",
    summary: "Whether the process lives",
    description: "Answers as long as there is a process.",
    access: Access::Open,
    parameters: &[],
    body: None,
    answers: &[SuccessResponse {
        status: 200,
        description: "It lives.",
        contents: &[(PLAIN, text)],
        headers: &[],
    }],
    failures: &[],
};

/// `GET /readyz`.
pub(crate) static READY: Operation = Operation {
    verb: Verb::Get,
    path: "/readyz",
    id: "ready",
    summary: "Whether it takes requests",
    description: "The database answers, and the service is not about to stop.",
    access: Access::Open,
    parameters: &[],
    body: None,
    answers: &[SuccessResponse {
        status: 200,
        description: "It does.",
        contents: &[(PLAIN, text)],
        headers: &[],
    }],
    failures: &[Code::Unavailable],
};

/// `GET /metrics`.
pub(crate) static METRICS: Operation = Operation {
    verb: Verb::Get,
    path: "/metrics",
    id: "metrics",
    summary: "Figures for Prometheus",
    description: "Counters, gauges and histograms as OpenMetrics text.",
    access: Access::Open,
    parameters: &[],
    body: None,
    answers: &[SuccessResponse {
        status: 200,
        description: "The figures.",
        contents: &[("application/openmetrics-text", text)],
        headers: &[],
    }],
    failures: &[Code::OriginRefused],
};

/// `GET /openapi.json`.
pub(crate) static DOCUMENT: Operation = Operation {
    verb: Verb::Get,
    path: "/openapi.json",
    id: "document",
    summary: "This description, for programs",
    description: "An OpenAPI 3.1 document of every path that is served.",
    access: Access::Open,
    parameters: &[],
    body: None,
    answers: &[SuccessResponse {
        status: 200,
        description: "The document.",
        contents: &[(JSON, object)],
        headers: &[],
    }],
    failures: &[Code::OriginRefused],
};

/// `GET /docs`.
pub(crate) static PAGE: Operation = Operation {
    verb: Verb::Get,
    path: "/docs",
    id: "page",
    summary: "This description, for people",
    description: "The same document as one page.",
    access: Access::Open,
    parameters: &[],
    body: None,
    answers: &[SuccessResponse {
        status: 200,
        description: "The page.",
        contents: &[("text/html", text)],
        headers: &[],
    }],
    failures: &[Code::OriginRefused],
};

/// `GET /oauth/client-metadata.json`.
pub(crate) static CLIENT: Operation = Operation {
    verb: Verb::Get,
    path: "/oauth/client-metadata.json",
    id: "clientDocument",
    summary: "Who the MCP client is",
    description: "The client document that authorization servers fetch.",
    access: Access::Open,
    parameters: &[],
    body: None,
    answers: &[SuccessResponse {
        status: 200,
        description: "The document.",
        contents: &[(JSON, object)],
        headers: &[],
    }],
    failures: &[],
};

fn object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}
