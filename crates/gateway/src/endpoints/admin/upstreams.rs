//! Providers and models with their state, for operators.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use wire::admin::{OfferedModel, Page, ProviderView, TargetView};

use super::Admin;
use crate::catalogue::{Catalogue, Model};
use crate::config::Operation;
use crate::endpoints::json::json;
use crate::provider::{Local, Provider};
use crate::upstreams::Upstreams;

pub(in crate::endpoints) async fn providers(
    _: Admin,
    State(upstreams): State<Arc<Upstreams>>,
) -> Response {
    let catalogue = upstreams.catalogue.load();
    let data = upstreams.providers.iter().map(|provider| provider_view(provider, &catalogue));
    json(&whole(data.collect()))
}

pub(in crate::endpoints) async fn models(
    _: Admin,
    State(upstreams): State<Arc<Upstreams>>,
) -> Response {
    let catalogue = upstreams.catalogue.load();
    json(&whole(catalogue.models().map(|model| model_view(model)).collect()))
}

/// The configuration bounds these lists.
fn whole<T>(data: Vec<T>) -> Page<T> {
    Page { object: "list".to_owned(), data, has_more: false }
}

fn provider_view(provider: &Provider, catalogue: &Catalogue) -> ProviderView {
    let usable = provider.health.is_usable();
    let health = match (usable, provider.health.is_ejected()) {
        (false, _) => "probe_failed",
        (true, _) if provider.health.is_key_refused() => "key_refused",
        (true, true) => "ejected",
        (true, false) => "usable",
    };
    let prefix = format!("{}/", provider.name);
    let models = catalogue.models().filter(|model| model.id.starts_with(&prefix));
    ProviderView {
        object: "provider".to_owned(),
        id: provider.name.to_string(),
        kind: provider.kind.word().to_owned(),
        usable,
        health: health.to_owned(),
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
        capabilities: model.capabilities.iter().map(|word| word.word().to_owned()).collect(),
        chat_price_micros: model.prices.of(Operation::Chat).get(),
        responses_price_micros: model.prices.of(Operation::Responses).get(),
        context_length: model.context_length,
        targets: targets.collect(),
    }
}
