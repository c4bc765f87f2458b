//! The first page of operators: live figures of this process, providers, recent changes.

use askama::Template;
use axum::extract::State;
use pages::{Frame, credits};

use super::ledger::{AuditRow, rows};
use super::providers::{ProviderRow, all};
use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::page::{self, PageResult};
use crate::endpoints::state::Shared;
use crate::metrics::Metrics;
use crate::service::Service;

const RECENT: u32 = 6;

#[derive(Template)]
#[template(path = "console/operator/overview.html")]
struct OverviewPage {
    frame: Frame,
    requests: String,
    running: String,
    errors: String,
    error_share: String,
    charged: String,
    tokens: String,
    providers: Vec<ProviderRow>,
    audit: Vec<AuditRow>,
}

pub(super) async fn show(context: OperatorContext, State(service): Shared<Service>) -> PageResult {
    let entries = context.store().audit(i64::MAX, RECENT).await?;
    let totals = Totals::read(&service.metrics);
    let share = (totals.errors * 1000).checked_div(totals.requests).unwrap_or(0);
    page::show(&OverviewPage {
        frame: context.frame("Overview", "/operator"),
        requests: pages::count(totals.requests),
        running: service.metrics.running.get().saturating_sub(1).max(0).to_string(),
        errors: pages::count(totals.errors),
        error_share: format!("{}.{} %", share / 10, share % 10),
        charged: credits(i64::try_from(totals.charged).unwrap_or(i64::MAX)),
        tokens: pages::count(totals.tokens),
        providers: all(&service.upstreams),
        audit: rows(&entries),
    })
}

/// Sums of the counters of this process since it started.
#[derive(Debug, Default)]
struct Totals {
    requests: u64,
    errors: u64,
    charged: u64,
    tokens: u64,
}

impl Totals {
    /// Adds up the published figures, so that the page and `/metrics` never disagree.
    fn read(metrics: &Metrics) -> Self {
        let mut totals = Self::default();
        for line in metrics.text(0).lines() {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let Some((name, labels)) = series.split_once('{') else { continue };
            let Ok(value) = value.parse::<u64>() else { continue };
            let is_page = ["console", "healthz", "readyz", "metrics", "docs"]
                .iter()
                .any(|word| labels.contains(&format!("operation=\"{word}\"")));
            match name.trim_start_matches("agent_gateway_") {
                "requests_total" if !is_page => {
                    totals.requests += value;
                    if labels.contains("status=\"5") {
                        totals.errors += value;
                    }
                }
                "charged_micros_total" => totals.charged += value,
                "input_tokens_total" | "output_tokens_total" => totals.tokens += value,
                _ => {}
            }
        }
        totals
    }
}
