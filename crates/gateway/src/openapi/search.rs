//! The search operation.

use wire::error::Code;
use wire::search::{SearchAnswer, SearchRequest};

use super::member::{IDEMPOTENCY, PAID};
use super::{JSON, Operation, PLAIN, Verb, answer, json_body, of};

/// `POST /v1/search`.
pub(crate) static CREATE: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/search",
    id: "search",
    summary: "Search the web",
    description: "Queries the operator's search providers one after another until one returns \
                  results. Each page appears once. The price is reserved first, charged when a \
                  provider answers, and refunded if none does.",
    parameters: &[&IDEMPOTENCY],
    body: Some(json_body(
        of::<SearchRequest>,
        r#"{"query": "rust async runtime", "max_results": 5, "recency": "year"}"#,
    )),
    answers: &[answer(200, "The results.", &[(JSON, of::<SearchAnswer>)], PAID)],
    failures: &[
        Code::InvalidJson,
        Code::InvalidRequest,
        Code::ScopeMissing,
        Code::BodyTimeout,
        Code::IdempotencyInProgress,
        Code::BodyTooLarge,
        Code::IdempotencyMismatch,
        Code::CapabilityUnavailable,
        Code::UpstreamUnavailable,
    ],
    ..PLAIN
};
