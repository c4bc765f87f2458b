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
    summary: "Search",
    description: "Asks the operator's providers of results, one after the other until one finds \
                  something. Each page appears once in the answer. The price is set aside first, \
                  charged when a provider answered, and given back when none did.",
    parameters: &[&IDEMPOTENCY],
    body: Some(json_body(
        of::<SearchRequest>,
        r#"{"query": "rust async runtime", "max_results": 5, "recency": "year"}"#,
    )),
    answers: &[answer(200, "What was found.", &[(JSON, of::<SearchAnswer>)], PAID)],
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
