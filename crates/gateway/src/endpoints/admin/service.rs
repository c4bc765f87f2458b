//! Reload of the configuration, and alerts with their deliveries.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use gateway_store::AlertDelivery;
use wire::admin::{AlertView, DeliveryView, ReloadView};

use super::{Admin, PageQuery, created};
use crate::clock;
use crate::endpoints::json::json;
use crate::failure::ApiResult;
use crate::service::Service;

pub(super) async fn reload(admin: Admin, State(service): State<Arc<Service>>) -> ApiResult {
    let done = admin.operator().reload(&service.reloads).await?;
    Ok(json(&ReloadView {
        object: "reload".to_owned(),
        generation: done.generation,
        changed: done.changed.into_iter().map(str::to_owned).collect(),
        warnings: done.warnings,
    }))
}

pub(super) async fn alerts(admin: Admin, RawQuery(query): RawQuery) -> ApiResult {
    let page_query = PageQuery::read(query.as_deref(), "before")?;
    let before = page_query.number("before")?.unwrap_or(i64::MAX);
    let rows = admin.store().alerts(before, page_query.one_more()).await?;
    Ok(json(&page_query.page(views(rows))))
}

pub(super) async fn test_alerts(admin: Admin) -> ApiResult {
    let id = admin.operator().test_alert(admin.config.alerts.as_ref()).await?;
    let rows = admin.store().alerts(id + 1, 1).await?;
    let view = views(rows).into_iter().find(|view| view.id == id);
    Ok(created(&view.ok_or_else(|| super::missing("alert"))?))
}

/// Alerts with their deliveries, from rows that are ordered by alert.
fn views(rows: Vec<AlertDelivery>) -> Vec<AlertView> {
    let mut views: Vec<AlertView> = Vec::new();
    for AlertDelivery { alert, channel, tries, outcome, error } in rows {
        if views.last().is_none_or(|last| last.id != alert.id) {
            views.push(AlertView {
                object: "alert".to_owned(),
                id: alert.id,
                at: clock::rfc3339(alert.at),
                kind: alert.kind,
                subject: alert.subject,
                message: alert.message,
                deliveries: Vec::new(),
            });
        }
        if let (Some(view), Some(channel)) = (views.last_mut(), channel) {
            let state = outcome.unwrap_or_else(|| "pending".to_owned());
            view.deliveries.push(DeliveryView { channel, state, tries, error });
        }
    }
    views
}
