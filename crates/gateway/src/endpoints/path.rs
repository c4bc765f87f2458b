//! The part of a path that names a thing.

use axum::extract::{FromRequestParts, Path};
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
