//! The search operation.

use wire::error::Code;
use wire::search::{SearchAnswer, SearchRequest};

use super::member::{IDEMPOTENCY, PAID};
use super::{Access, Body, JSON, Operation, SuccessResponse, Verb, of};

/// `POST /v1/search`.
pub(crate) static CREATE: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/search",
    id: "search",
    summary: "Search",
    description: "Asks the operator's providers of results, one after the other until one finds \
                  something. Each page appears once in the answer. The price is set aside first, \
                  charged when a provider answered, and given back when none did.",
    access: Access::Key,
    parameters: &[&IDEMPOTENCY],
    body: Some(Body {
        is_required: true,
        media_type: JSON,
        schema: of::<SearchRequest>,
        example: r#"{"query": "rust async runtime", "max_results": 5, "recency": "year"}"#,
    }),
    answers: &[SuccessResponse {
        status: 200,
        description: "What was found.",
        contents: &[(JSON, of::<SearchAnswer>)],
        headers: PAID,
    }],
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
};
