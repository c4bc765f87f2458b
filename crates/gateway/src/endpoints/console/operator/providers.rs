//! Providers: state, models, last failure, test, drain. Prices, models and aliases.

use std::sync::Arc;

use askama::Template;
use axum::extract::Request;
use gateway_store::ProviderAction;
use pages::{Frame, Html, Notice};

use crate::catalogue::Model;
use crate::config::Pattern;
use crate::endpoints::Id;
use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::filters;
use crate::endpoints::console::models::{operations, targets};
use crate::endpoints::console::page::{self, PageError, PageResult, redirect};
use crate::provider::Provider;
use crate::upstreams::Upstreams;
use crate::{clock, probe};

const MAX_NAMED: usize = 12;

#[derive(Template)]
#[template(path = "console/operator/providers.html")]
struct ProvidersPage {
    frame: Frame,
    providers: Vec<ProviderRow>,
}

pub(super) struct ProviderRow {
    pub(super) provider: Arc<Provider>,
    /// Without the name of the provider.
    pub(super) models: Vec<String>,
}

impl ProviderRow {
    pub(super) fn state(&self) -> Html {
        match self.provider.state() {
            "drained" => pages::tag("warn", "drained"),
            "probe_failed" => pages::tag("bad", "probe failed"),
            "key_refused" => pages::tag("bad", "key refused"),
            "ejected" => pages::tag("warn", "ejected for a while"),
            _ if self.provider.health.awaits_probe() => pages::tag("plain", "not probed yet"),
            _ => pages::tag("good", "healthy"),
        }
    }

    /// The names of the first models.
    fn named(&self) -> String {
        let names: Vec<&str> = self.models.iter().take(MAX_NAMED).map(String::as_str).collect();
        let more = if self.models.len() > MAX_NAMED { ", …" } else { "" };
        names.join(", ") + more
    }
}

pub(super) fn all(upstreams: &Upstreams) -> Vec<ProviderRow> {
    let catalogue = upstreams.catalogue.load();
    let row = |provider: &Arc<Provider>| {
        let prefix = format!("{}/", provider.name);
        let models = catalogue.models().filter_map(|model| model.id.strip_prefix(&prefix));
        let models = models.map(str::to_owned).collect();
        ProviderRow { provider: provider.clone(), models }
    };
    upstreams.providers.iter().map(row).collect()
}

pub(super) async fn list(context: OperatorContext) -> PageResult {
    providers_page(&context, None)
}

fn providers_page(context: &OperatorContext, notice: Option<Notice>) -> PageResult {
    let mut frame = context.frame("Providers", "/operator/providers");
    frame.notice = notice.or(frame.notice);
    page::show(&ProvidersPage { frame, providers: all(&context.service.upstreams) })
}

pub(super) async fn change(context: OperatorContext, Id(id): Id, request: Request) -> PageResult {
    let fields = context.submitted(request).await?;
    let (action, done) = match fields.get("action") {
        "drain" => (ProviderAction::Drain, "drained"),
        _ => (ProviderAction::Enable, "enabled"),
    };
    context.operator().change_provider(&context.service.config, &id, action).await?;
    context.service.drain_providers(&context.store().shared_state().await?.drained);
    Ok(redirect(&format!("/operator/providers?done={done}")))
}

pub(super) async fn test(context: OperatorContext, Id(id): Id, request: Request) -> PageResult {
    context.submitted(request).await?;
    let provider =
        context.service.config.provider(&id).ok_or_else(|| PageError::missing("provider"))?;
    let notice = match probe::models(provider).await {
        Ok(probe) if (200..300).contains(&probe.status) => {
            let took = pages::duration(clock::micros(probe.took));
            let models = probe.found.map(|found| format!(" with {} models", found.len()));
            Notice::good(format!("{id} answered in {took}{}.", models.unwrap_or_default()))
        }
        Ok(probe) => {
            let why = probe.message.unwrap_or_default();
            Notice::bad(format!("{id} answered with status {}. {why}", probe.status))
        }
        Err(problem) => Notice::bad(problem.to_string()),
    };
    providers_page(&context, Some(notice))
}

#[derive(Template)]
#[template(path = "console/operator/prices.html")]
struct PricesPage<'a> {
    frame: Frame,
    operations: Vec<(String, i64)>,
    patterns: &'a [(Pattern, i64)],
    aliases: Vec<&'a Model>,
    models: Vec<&'a Model>,
}

pub(super) async fn prices(context: OperatorContext) -> PageResult {
    let catalogue = context.service.upstreams.catalogue.load();
    let all = catalogue.models().map(|model| &**model);
    let (models, aliases) = all.partition(|model| model.full_target().is_some());
    page::show(&PricesPage {
        frame: context.frame("Prices and aliases", "/operator/prices"),
        operations: operations(&context.service.config).collect(),
        patterns: context.service.config.prices.models(),
        aliases,
        models,
    })
}
