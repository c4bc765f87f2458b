//! What an address says: the part of a path that names a thing, and the query.

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Path, Query};
use http::request::Parts;
use wire::error::Code;

use crate::failure::ApiError;

/// The id in a path. One that is no text names nothing.
pub(super) struct Id(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(id)) => Ok(Self(id)),
            Err(_) => Err(ApiError::new(Code::NotFound, "nothing can have this id")),
        }
    }
}

/// A query as it came. It is read after whoever asks is known.
pub(super) type Asked<T> = Result<Query<T>, QueryRejection>;

/// What a query says.
pub(super) fn query<T>(asked: Asked<T>) -> Result<T, ApiError> {
    asked.map(|Query(query)| query).map_err(|error| {
        ApiError::new(Code::InvalidRequest, format!("the query is wrong: {}", error.body_text()))
    })
}
