//! Facts about a request that the server knows before its handler runs.

use std::net::SocketAddr;

use axum::extract::FromRequestParts;
use http::request::Parts;
use ledger::HoldId;

use crate::failure::{ApiError, ApiResult};
use crate::trace::SpanContext;

#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestInfo {
    pub(crate) id: HoldId,
    pub(crate) span: Option<SpanContext>,
    pub(crate) peer: SocketAddr,
    pub(crate) parent: Option<HoldId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    /// As written in the OpenAPI document; empty for an unknown path.
    pub(crate) pattern: &'static str,
    pub(crate) operation: &'static str,
}

impl<S: Sync> FromRequestParts<S> for RequestInfo {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        parts.extensions.get().copied().ok_or_else(ApiError::internal)
    }
}

impl Route {
    pub(crate) const NONE: Self = Self { pattern: "", operation: "other" };

    /// Whether monitoring systems request it.
    pub(crate) fn is_probe(self) -> bool {
        matches!(self.operation, "healthz" | "readyz" | "metrics")
    }
}
