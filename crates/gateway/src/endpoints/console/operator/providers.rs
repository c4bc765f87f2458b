//! Providers: state, models, last failure, test, drain. Prices, models and aliases.

use askama::Template;
use axum::extract::{Request, State};
use gateway_store::ProviderAction;
use pages::{Frame, Html, credits};

use crate::catalogue::Catalogue;
use crate::config::Operation;
use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::models::{ModelRow, model_row};
use crate::endpoints::console::page::{self, PageError, PageResult, redirect};
use crate::endpoints::path::Id;
use crate::endpoints::state::Shared;
use crate::failure::ApiError;
use crate::provider::{Local, Provider};
use crate::service::Service;
use crate::upstreams::Upstreams;
use crate::{clock, probe};

const MAX_NAMED: usize = 12;

#[derive(Template)]
#[template(path = "console/operator/providers.html")]
struct ProvidersPage {
    frame: Frame,
    csrf: String,
    providers: Vec<ProviderRow>,
}

pub(super) struct ProviderRow {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) state: Html,
    pub(super) is_drained: bool,
    pub(super) trouble: String,
    /// The last failed request of this process.
    pub(super) failure: String,
    pub(super) failed: Option<Html>,
    pub(super) count: usize,
    pub(super) models: String,
    pub(super) memory: String,
}

pub(super) fn all(upstreams: &Upstreams) -> Vec<ProviderRow> {
    let catalogue = upstreams.catalogue.load();
    upstreams.providers.iter().map(|provider| row(provider, &catalogue)).collect()
}

fn row(provider: &Provider, catalogue: &Catalogue) -> ProviderRow {
    let health = &provider.health;
    let state = match provider.state() {
        "drained" => pages::tag("warn", "drained"),
        "probe_failed" => pages::tag("bad", "probe failed"),
        "key_refused" => pages::tag("bad", "key refused"),
        "ejected" => pages::tag("warn", "ejected for a while"),
        _ if health.awaits_probe() => pages::tag("plain", "not probed yet"),
        _ => pages::tag("good", "healthy"),
    };
    let now = clock::now().micros();
    let failure = provider.last_failure.load();
    let prefix = format!("{}/", provider.name);
    let models: Vec<&str> =
        catalogue.models().filter_map(|model| model.id.strip_prefix(&prefix)).collect();
    let mut names = models.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    if models.len() > MAX_NAMED {
        names.push_str(", …");
    }
    ProviderRow {
        name: provider.name.to_string(),
        kind: provider.kind.word(),
        state,
        is_drained: health.is_drained(),
        failure: failure.as_ref().map(|it| it.message.clone()).unwrap_or_default(),
        failed: failure.as_ref().map(|it| pages::moment(it.at.micros(), now)),
        trouble: provider.trouble.load().as_deref().cloned().unwrap_or_default(),
        count: models.len(),
        models: names,
        memory: provider
            .local
            .as_ref()
            .map(Local::memory_bytes)
            .map(pages::bytes)
            .unwrap_or_default(),
    }
}

pub(super) async fn list(
    context: OperatorContext,
    State(upstreams): Shared<Upstreams>,
) -> PageResult {
    providers_page(&context, &upstreams, None)
}

fn providers_page(
    context: &OperatorContext,
    upstreams: &Upstreams,
    notice: Option<pages::Notice>,
) -> PageResult {
    let mut frame = context.frame("Providers", "/operator/providers");
    frame.notice = notice.or(frame.notice);
    page::show(&ProvidersPage { frame, csrf: context.csrf(), providers: all(upstreams) })
}

pub(super) async fn change(
    context: OperatorContext,
    State(service): Shared<Service>,
    Id(id): Id,
    request: Request,
) -> PageResult {
    let fields = context.submitted(request).await?;
    let (action, done) = match fields.get("action") {
        "drain" => (ProviderAction::Drain, "drained"),
        _ => (ProviderAction::Enable, "enabled"),
    };
    let changed = context.operator().change_provider(&context.config, &id, action).await;
    changed.map_err(|error| PageError::from(ApiError::from(error)))?;
    service.drain_providers(&context.store().shared_state().await?.drained);
    Ok(redirect(&format!("/operator/providers?done={done}")))
}

pub(super) async fn test(
    context: OperatorContext,
    State(upstreams): Shared<Upstreams>,
    Id(id): Id,
    request: Request,
) -> PageResult {
    context.submitted(request).await?;
    let provider = context.config.provider(&id).ok_or_else(|| PageError::missing("provider"))?;
    let notice = match probe::models(provider).await {
        Ok(probe) if (200..300).contains(&probe.status) => {
            let took = pages::duration(i64::try_from(probe.took.as_micros()).unwrap_or_default());
            let models = probe.found.map(|found| format!(" with {} models", found.len()));
            let text = format!("{id} answered in {took}{}.", models.unwrap_or_default());
            pages::Notice { kind: "good", text }
        }
        Ok(probe) => {
            let why = probe.message.unwrap_or_default();
            page::refused(format!("{id} answered with status {}. {why}", probe.status))
        }
        Err(problem) => page::refused(problem.to_string()),
    };
    providers_page(&context, &upstreams, Some(notice))
}

#[derive(Template)]
#[template(path = "console/operator/prices.html")]
struct PricesPage {
    frame: Frame,
    operations: Vec<(String, String)>,
    patterns: Vec<(String, String)>,
    aliases: Vec<ModelRow>,
    models: Vec<ModelRow>,
}

pub(super) async fn prices(
    context: OperatorContext,
    State(upstreams): Shared<Upstreams>,
) -> PageResult {
    let prices = &context.config.prices;
    let operation = |it: Operation| (it.word().replace('_', " "), credits(prices.default_of(it)));
    let patterns = prices.models().iter();
    let catalogue = upstreams.catalogue.load();
    let rows = catalogue.models().map(|model| model_row(model));
    let (models, aliases) = rows.partition(|row: &ModelRow| row.targets.is_empty());
    page::show(&PricesPage {
        frame: context.frame("Prices and aliases", "/operator/prices"),
        operations: Operation::all().map(operation).collect(),
        patterns: patterns
            .map(|(name, price)| (name.as_str().to_owned(), credits(*price)))
            .collect(),
        aliases,
        models,
    })
}
