//! Error responses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The body of every answer that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// What went wrong.
    pub error: ErrorDetail,
}

/// What went wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorDetail {
    /// For a person.
    pub message: String,
    /// The family of the error, as clients of OpenAI-shaped interfaces know it.
    #[serde(rename = "type")]
    pub kind: String,
    /// The field of the request that is wrong.
    pub param: Option<String>,
    /// What programs decide by.
    pub code: Option<String>,
    /// The id of the request; quote it to the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// What the request costs, where money is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_micros: Option<i64>,
    /// What there is, where money is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_micros: Option<i64>,
    /// Whose money or limit is exhausted: `member`, `key` or `team`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// When the budget resets that does not cover the price, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<String>,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $status:literal $word:literal $kind:literal,)+) => {
        /// What programs decide by, each with its status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The HTTP status.
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)+ }
            }

            /// As written in `code`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// What it means, for a person.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim(),)+ }
            }

            /// As written in `type`.
            pub const fn kind(self) -> &'static str {
                match self { $(Self::$variant => $kind,)+ }
            }
        }
    };
}

codes! {
    /// The body is not JSON.
    InvalidJson = 400 "invalid_json" "invalid_request_error",
    /// The body has the wrong shape, or the upstream said that the request is wrong.
    InvalidRequest = 400 "invalid_request" "invalid_request_error",
    /// There is no such model.
    ModelNotFound = 400 "model_not_found" "invalid_request_error",
    /// The model is not offered for this.
    ModelNotForCapability = 400 "model_not_for_capability" "invalid_request_error",
    /// The conversation is longer than the model can take.
    ContextLengthExceeded = 400 "context_length_exceeded" "invalid_request_error",
    /// The page answered with an error, or is nothing that can be read.
    PageUnreadable = 400 "page_unreadable" "invalid_request_error",
    /// No key, or none that is worth anything.
    InvalidKey = 401 "invalid_key" "authentication_error",
    /// The balance does not cover the price.
    InsufficientBalance = 402 "insufficient_balance" "payment_required",
    /// The key's spend limit does not cover the price.
    KeyLimitReached = 402 "key_limit_reached" "payment_required",
    /// A budget of the member, the key or the team does not cover the price until it resets.
    BudgetReached = 402 "budget_reached" "payment_required",
    /// The key is not for this.
    ScopeMissing = 403 "scope_missing" "permission_error",
    /// The key is not for this model.
    ModelNotAllowed = 403 "model_not_allowed" "permission_error",
    /// The member is blocked.
    MemberBlocked = 403 "member_blocked" "permission_error",
    /// The page may not be read.
    TargetRefused = 403 "target_refused" "permission_error",
    /// The host or the site that this request names is not known here.
    OriginRefused = 403 "origin_refused" "permission_error",
    /// There is no such path, or nothing of this id that is yours.
    NotFound = 404 "not_found" "invalid_request_error",
    /// The path does not know this method.
    MethodNotAllowed = 405 "method_not_allowed" "invalid_request_error",
    /// The body did not arrive in time.
    BodyTimeout = 408 "body_timeout" "invalid_request_error",
    /// A request with this idempotency key is running.
    IdempotencyInProgress = 409 "idempotency_in_progress" "conflict_error",
    /// What should be made exists, or has ended.
    Conflict = 409 "conflict" "conflict_error",
    /// The body is over the limit.
    BodyTooLarge = 413 "body_too_large" "invalid_request_error",
    /// The range that was asked for is not in the file.
    RangeNotSatisfiable = 416 "range_not_satisfiable" "invalid_request_error",
    /// The idempotency key was used with another body.
    IdempotencyMismatch = 422 "idempotency_mismatch" "invalid_request_error",
    /// The path offers no WebSocket.
    WebSocketNotOffered = 426 "websocket_not_offered" "invalid_request_error",
    /// Too many requests of this key.
    RateLimited = 429 "rate_limited" "rate_limit_error",
    /// The model has as many requests as it takes at once.
    ModelBusy = 429 "model_busy" "rate_limit_error",
    /// We failed.
    Internal = 500 "internal_error" "server_error",
    /// Nothing that could do it is usable.
    CapabilityUnavailable = 503 "capability_unavailable" "server_error",
    /// Every upstream failed.
    UpstreamUnavailable = 503 "upstream_unavailable" "server_error",
    /// The service is about to stop.
    Draining = 503 "draining" "server_error",
    /// The service cannot reach what it keeps its books in, or has too much to do.
    Unavailable = 503 "unavailable" "server_error",
    /// The database failed during the request, so that the service cannot tell what it did.
    OutcomeUnknown = 503 "outcome_unknown" "server_error",
}

#[cfg(test)]
mod tests;
