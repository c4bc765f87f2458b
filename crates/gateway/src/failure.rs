//! The errors of the API: the one place that maps failures to responses.

use std::time::Duration;

use api_dialects::messages;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use ledger::{
    AccountKind, BudgetStatus, EndReason, HoldId, IdempotencyConflict, LimitStatus, Micros, Refusal,
};
use wire::admin::MAX_NAME_CHARS;
use wire::error::{Code, ErrorBody, ErrorDetail};

use crate::clock;
use crate::response_headers;

pub(crate) type ApiResult<T = Response> = Result<T, ApiError>;

/// An error for a client. Causes are logged, never sent.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", .0.detail.message)]
pub(crate) struct ApiError(Box<Facts>);

/// Boxed, so that results stay small.
#[derive(Debug, Clone)]
struct Facts {
    code: Code,
    /// Without the id of the request.
    detail: ErrorDetail,
    retry_after: Option<Duration>,
    limit_status: LimitStatus,
    refunded: Option<HoldId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    OpenAi,
    Anthropic,
}

/// The same for every unusable key.
const NO_KEY: &str = "the key is missing, unknown, expired or revoked; \
     send `Authorization: Bearer <key>` with a key of this service";

const JOB_WAIT: Duration = Duration::from_secs(30);

impl ApiError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Facts {
            code,
            detail: ErrorDetail {
                message: message.into(),
                kind: code.kind().to_owned(),
                code: Some(code.as_str().to_owned()),
                ..ErrorDetail::default()
            },
            retry_after: None,
            limit_status: LimitStatus::default(),
            refunded: None,
        }))
    }

    fn with(mut self, change: impl FnOnce(&mut Facts)) -> Self {
        change(&mut self.0);
        self
    }

    pub(crate) fn unknown_parameter(name: &str) -> Self {
        let name: String = name.chars().take(MAX_NAME_CHARS).collect();
        let message = format!("unknown parameter `{name}`; see /docs");
        Self::invalid(name, message)
    }

    pub(crate) fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::of_param(Code::InvalidRequest, param, message)
    }

    pub(crate) fn of_param(
        code: Code,
        param: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self::new(code, message).with(|facts| facts.detail.param = Some(param.into()))
    }

    /// The same error about a field of another name.
    #[must_use]
    pub(crate) fn about(self, param: &str, message: String) -> Self {
        self.with(|Facts { detail, .. }| {
            (detail.param, detail.message) = (Some(param.to_owned()), message);
        })
    }

    pub(crate) fn no_key() -> Self {
        Self::new(Code::InvalidKey, NO_KEY)
    }

    /// A failure of the service; the cause was logged.
    pub(crate) fn internal() -> Self {
        Self::new(Code::Internal, "internal error; nothing was charged")
    }

    #[must_use]
    pub(crate) fn retry_after(self, wait: Duration) -> Self {
        self.with(|facts| facts.retry_after = Some(wait))
    }

    #[must_use]
    pub(crate) fn refunded(self, id: HoldId, limit_status: LimitStatus) -> Self {
        self.with(|facts| {
            facts.refunded = Some(id);
            // The held amount is returned to the budget.
            facts.limit_status = LimitStatus { budget: None, ..limit_status };
        })
    }

    /// Adds the required and the available amount, and whose money or limit it is.
    #[must_use]
    pub(crate) fn money(self, needed: Micros, available: Micros, scope: &'static str) -> Self {
        self.with(|Facts { detail, .. }| {
            detail.needed_micros = Some(needed.get());
            detail.available_micros = Some(available.get());
            detail.scope = Some(scope.to_owned());
        })
    }

    pub(crate) fn code(&self) -> Code {
        self.0.code
    }

    /// How a hold ends if its request failed with this before the answer began.
    pub(crate) fn ending(&self) -> EndReason {
        match self.0.code.status() {
            400..=499 => EndReason::RequestRefused,
            _ => EndReason::UpstreamFailed,
        }
    }

    pub(crate) fn message(&self) -> &str {
        &self.0.detail.message
    }

    pub(crate) fn detail(&self, request_id: Option<&str>) -> ErrorDetail {
        ErrorDetail { request_id: request_id.map(str::to_owned), ..self.0.detail.clone() }
    }

    /// The status; Anthropic's clients expect 404 for an unknown model.
    fn status(&self, dialect: Dialect) -> u16 {
        match (dialect, self.0.code) {
            (Dialect::Anthropic, Code::ModelNotFound) => Code::NotFound.status(),
            (_, code) => code.status(),
        }
    }

    fn json(&self, dialect: Dialect, request_id: &str) -> Vec<u8> {
        if dialect == Dialect::Anthropic {
            let kind = messages::error_type(self.status(dialect));
            let message = match &self.0.detail.param {
                Some(param) if !self.message().contains(param) => {
                    format!("{param}: {}", self.message())
                }
                _ => self.message().to_owned(),
            };
            return messages::error(kind, &message, Some(request_id)).to_string().into();
        }
        let body = ErrorBody { error: self.detail(Some(request_id)) };
        serde_json::to_vec(&body).unwrap_or_default()
    }

    pub(crate) fn write_event(&self, dialect: Dialect, request_id: &str, out: &mut BytesMut) {
        let json = self.json(dialect, request_id);
        match dialect {
            Dialect::OpenAi => wire::sse::write_data(out, &json),
            Dialect::Anthropic => wire::sse::write_event(out, "error", &json),
        }
    }

    pub(crate) fn answer(&self, dialect: Dialect, request_id: &str) -> Response {
        let text = self.json(dialect, request_id);
        let mut response = Response::new(Body::from(text));
        *response.status_mut() =
            StatusCode::from_u16(self.status(dialect)).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self.0.code.status() {
            401 => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            // A retry would get the same response.
            402 | 403 | 422 => {
                headers.insert("x-should-retry", HeaderValue::from_static("false"));
            }
            409 | 429 | 503 => {
                if self.0.code == Code::Conflict {
                    headers.insert("x-should-retry", HeaderValue::from_static("false"));
                }
                let wait = self.0.retry_after.unwrap_or(Duration::from_secs(1));
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
            }
            _ => {}
        }
        response_headers::write_limits(self.0.limit_status, headers);
        if let Some(id) = self.0.refunded {
            response_headers::write_receipt(headers, id, Micros::ZERO);
        }
        response
    }
}

/// Marks a response as an error whose request id is not filled in yet.
#[derive(Debug, Clone)]
pub(crate) struct Failed(pub(crate) ApiError);

/// The response carries the error, so that the server can add the request id.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        response.extensions_mut().insert(Failed(self));
        response
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::UnknownMember | Refusal::UnknownLineage => Self::no_key(),
            Refusal::Blocked => Self::new(
                Code::MemberBlocked,
                "the operator of this service has blocked this member; contact the operator",
            ),
            Refusal::RateLimited { retry_after_micros, status } => {
                let wait = u64::try_from(retry_after_micros).unwrap_or_default();
                let message =
                    format!("this key is limited to {} requests per minute", status.limit);
                Self::new(Code::RateLimited, message).with(|facts| {
                    facts.limit_status.rate = Some(status);
                    facts.retry_after = Some(Duration::from_micros(wait));
                })
            }
            Refusal::TooManyRunning { limit } => {
                let message = format!("this key is limited to {limit} concurrent requests");
                Self::new(Code::RateLimited, message)
            }
            Refusal::TooManyJobs { limit } => {
                let message = format!(
                    "this member has reached the limit of {limit} queued or running research jobs; \
                     wait for a job to end or cancel one"
                );
                Self::new(Code::RateLimited, message).retry_after(JOB_WAIT)
            }
            Refusal::KeyLimitReached { needed, available } => {
                let message = format!(
                    "this request costs {needed} credits; the key can spend {available} more"
                );
                Self::new(Code::KeyLimitReached, message).money(needed, available, "key")
            }
            Refusal::InsufficientBalance { needed, available, account } => {
                let of_team = if account == AccountKind::Team { " to the team" } else { "" };
                let message = format!(
                    "this request costs {needed} credits; {available} are available{of_team}"
                );
                let error = Self::new(Code::InsufficientBalance, message);
                error.money(needed, available, account.as_str())
            }
            Refusal::BudgetReached { needed, status } => refuse_budget(needed, &status),
            Refusal::IdempotencyKeyUsed(IdempotencyConflict::OtherBody) => Self::new(
                Code::IdempotencyMismatch,
                "this Idempotency-Key was used for a different request",
            ),
            Refusal::IdempotencyKeyUsed(_) => Self::new(
                Code::IdempotencyInProgress,
                "a request with this Idempotency-Key is still running; retry to get its response",
            ),
            Refusal::ReferenceUsed { .. } => {
                let message = format!("{refusal}; nothing was changed");
                Self::of_param(Code::Conflict, "reference", message)
            }
            Refusal::AmountOutOfRange | Refusal::IdUsed => Self::internal(),
        }
    }
}

fn refuse_budget(needed: Micros, status: &BudgetStatus) -> ApiError {
    let (left, amount) = (status.left(), status.budget.amount);
    let (scope, period) = (status.scope.as_str(), status.budget.period.as_str());
    let resets_at = clock::rfc3339(status.resets_at);
    let message = format!(
        "this request costs {needed} credits; {left} are left of the {amount} that this {scope} may \
         spend per {period}; the budget resets at {resets_at}"
    );
    ApiError::new(Code::BudgetReached, message).money(needed, left, scope).with(|facts| {
        facts.detail.resets_at = Some(resets_at);
        facts.limit_status.budget = Some(*status);
    })
}

impl From<gateway_store::Error> for ApiError {
    fn from(error: gateway_store::Error) -> Self {
        if error.kind() == gateway_store::ErrorKind::Temporary {
            tracing::warn!(error = %chain(&error), "database unavailable");
            let message = "the database is unavailable; nothing was charged";
            return Self::new(Code::Unavailable, message);
        }
        tracing::error!(error = %chain(&error), "database error");
        Self::internal()
    }
}

/// An error with all its causes, on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
