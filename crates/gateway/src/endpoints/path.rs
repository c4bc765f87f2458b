//! Extractors for ids in paths and for queries.

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Path, Query};
use http::request::Parts;
use wire::error::Code;

use crate::failure::{ApiError, ApiResult};

/// The id in a path. One that is not UTF-8 gives 404.
pub(super) struct Id(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(id)) => Ok(Self(id)),
            Err(_) => Err(ApiError::new(Code::NotFound, "invalid id")),
        }
    }
}

/// An unchecked query: errors are reported after authentication.
pub(super) type RawQuery<T> = Result<Query<T>, QueryRejection>;

pub(super) fn parse_query<T>(query: RawQuery<T>) -> ApiResult<T> {
    query.map(|Query(query)| query).map_err(|error| {
        ApiError::new(Code::InvalidRequest, format!("invalid query: {}", error.body_text()))
    })
}
