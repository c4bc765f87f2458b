//! The service for operators: providers and models with their state, reload of the configuration, alerts.

use axum::extract::RawQuery;
use axum::response::Response;
use gateway_store::{AlertDelivery, ProviderAction};
use wire::admin::{
    AlertView, DeliveryView, OfferedModel, Page, ProviderView, ReloadView, TargetView,
};

use super::{Admin, PageQuery, created, missing};
use crate::catalogue::{Catalogue, Model};
use crate::clock;
use crate::config::Operation;
use crate::endpoints::{Id, json};
use crate::failure::ApiResult;
use crate::provider::{Local, Provider};

pub(super) async fn reload(admin: Admin) -> ApiResult {
    let done = admin.service.reloads.reload(&admin.by).await?;
    Ok(json(&ReloadView {
        object: "reload".to_owned(),
        generation: done.generation,
        changed: done.changed.into_iter().map(str::to_owned).collect(),
        warnings: done.warnings,
    }))
}

pub(super) async fn alerts(admin: Admin, RawQuery(query): RawQuery) -> ApiResult {
    let (page_query, before) = PageQuery::before(query.as_deref())?;
    let rows = admin.store().alerts(before, page_query.one_more()).await?;
    Ok(json(&page_query.page(views(rows))))
}

pub(super) async fn test_alerts(admin: Admin) -> ApiResult {
    let id = admin.operator().test_alert(admin.service.config.alerts.as_ref()).await?;
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

pub(super) async fn providers(admin: Admin) -> Response {
    let upstreams = &admin.service.upstreams;
    let catalogue = upstreams.catalogue.load();
    let data = upstreams.providers.iter().map(|provider| provider_view(provider, &catalogue));
    json(&single_page(data.collect()))
}

/// Stops new requests to a provider; those that run finish.
pub(super) async fn drain(admin: Admin, Id(id): Id) -> ApiResult {
    change(&admin, &id, ProviderAction::Drain).await
}

/// Allows new requests to a provider again.
pub(super) async fn enable(admin: Admin, Id(id): Id) -> ApiResult {
    change(&admin, &id, ProviderAction::Enable).await
}

async fn change(admin: &Admin, id: &str, action: ProviderAction) -> ApiResult {
    let service = &admin.service;
    admin.operator().change_provider(&service.config, id, action).await?;
    service.drain_providers(&admin.store().shared_state().await?.drained);
    let provider = service.all_providers().find(|provider| *provider.name == *id);
    let provider = provider.ok_or_else(|| missing("provider"))?;
    Ok(json(&provider_view(provider, &service.upstreams.catalogue.load())))
}

pub(super) async fn models(admin: Admin) -> Response {
    let catalogue = admin.service.upstreams.catalogue.load();
    json(&single_page(catalogue.models().map(|model| model_view(model)).collect()))
}

/// The configuration bounds these lists.
fn single_page<T>(data: Vec<T>) -> Page<T> {
    Page { object: "list".to_owned(), data, has_more: false }
}

fn provider_view(provider: &Provider, catalogue: &Catalogue) -> ProviderView {
    let failure = provider.last_failure.load();
    let prefix = format!("{}/", provider.name);
    let models = catalogue.models().filter(|model| model.id.starts_with(&prefix));
    ProviderView {
        object: "provider".to_owned(),
        id: provider.name.to_string(),
        kind: provider.kind.as_str().to_owned(),
        usable: provider.health.is_usable(),
        health: provider.state().to_owned(),
        last_error: failure.as_ref().map(|failure| failure.message.clone()),
        last_error_at: failure.as_ref().map(|failure| clock::rfc3339(failure.at)),
        trouble: provider.trouble.load().as_deref().cloned(),
        memory_bytes: provider.local.as_ref().map(Local::memory_bytes),
        models: models.map(|model| model.id.to_string()).collect(),
    }
}

fn model_view(model: &Model) -> OfferedModel {
    let targets = model.groups.iter().map(|group| {
        let targets = group.iter();
        targets
            .map(|target| TargetView { model: target.id.to_string(), weight: target.weight })
            .collect()
    });
    OfferedModel {
        object: "model".to_owned(),
        id: model.id.to_string(),
        usable: model.is_usable(),
        capabilities: model.capabilities.iter().map(|word| word.as_str().to_owned()).collect(),
        chat_price_micros: model.prices.of(Operation::Chat).get(),
        responses_price_micros: model.prices.of(Operation::Responses).get(),
        context_length: model.context_length,
        targets: targets.collect(),
    }
}
