//! Reload of the configuration.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use wire::admin::ReloadView;

use super::Admin;
use crate::endpoints::json::json;
use crate::failure::ApiError;
use crate::service::Service;

pub(in crate::endpoints) async fn reload(
    admin: Admin,
    State(service): State<Arc<Service>>,
) -> Result<Response, ApiError> {
    let done = admin.operator().reload(&service.reloads).await?;
    Ok(json(&ReloadView {
        object: "reload".to_owned(),
        generation: done.generation,
        changed: done.changed.into_iter().map(str::to_owned).collect(),
        warnings: done.warnings,
    }))
}
