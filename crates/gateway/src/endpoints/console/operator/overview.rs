//! The first page of operators: live figures of this process, spend, providers, recent changes.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use gateway_store::{Store, UsageDimension, UsageQuery};
use pages::{Frame, credits};

use super::audit::{AuditRow, rows};
use super::providers::{ProviderRow, all};
use crate::clock;
use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::page::{self, PageError};
use crate::service::Service;

/// Audit entries on the page.
const RECENT: u32 = 6;
/// Days of spend, with today.
const DAYS: i32 = 7;

#[derive(Template)]
#[template(path = "console/operator/overview.html")]
struct OverviewPage {
    frame: Frame,
    requests: String,
    running: String,
    errors: String,
    error_share: String,
    /// Half of the requests are at least as fast, and 99 of 100.
    p50: String,
    p99: String,
    today: String,
    week: String,
    tokens: String,
    providers: Vec<ProviderRow>,
    audit: Vec<AuditRow>,
}

pub(in crate::endpoints) async fn show(
    context: OperatorContext,
    State(service): State<Arc<Service>>,
) -> Result<Response, PageError> {
    let entries = context.store().audit(i64::MAX, RECENT).await?;
    let totals = Totals::of(&service.metrics.text(0));
    let share = (totals.errors * 1000).checked_div(totals.requests).unwrap_or(0);
    let [today, week] = spend(context.store()).await?;
    page::show(&OverviewPage {
        frame: context.frame("Overview", "/operator"),
        requests: pages::count(totals.requests),
        running: service.metrics.running.get().saturating_sub(1).max(0).to_string(),
        errors: pages::count(totals.errors),
        error_share: format!("{}.{} %", share / 10, share % 10),
        p50: totals.latency(50),
        p99: totals.latency(99),
        today: credits(today),
        week: credits(week),
        tokens: pages::count(totals.tokens),
        providers: all(&service.upstreams),
        audit: rows(&entries),
    })
}

/// What all members spent today, and in the last days with today.
async fn spend(store: &Store) -> Result<[i64; 2], PageError> {
    let today = clock::now().day();
    let query = UsageQuery {
        member: None,
        team: None,
        from_day: today - DAYS + 1,
        to_day: today,
        by: vec![UsageDimension::Day],
        limit: DAYS.unsigned_abs(),
    };
    let days = store.usage(&query).await?;
    let sum = |is_counted: fn(i32, i32) -> bool| {
        let counted = days.iter().filter(|line| line.day.is_some_and(|day| is_counted(day, today)));
        counted.map(|line| line.counts.charged.get()).sum()
    };
    Ok([sum(|day, today| day == today), sum(|_, _| true)])
}

/// Sums of the figures of this process since it started.
#[derive(Debug, Default)]
struct Totals {
    requests: u64,
    errors: u64,
    tokens: u64,
    /// How many requests took at most so many seconds, in ascending order.
    durations: Vec<(f64, u64)>,
}

impl Totals {
    /// Adds up the published figures, so that the page and `/metrics` never disagree.
    fn of(metrics: &str) -> Self {
        let mut totals = Self::default();
        for line in metrics.lines() {
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
                "request_duration_seconds_bucket" if !is_page => totals.add_bucket(labels, value),
                "input_tokens_total" | "output_tokens_total" => totals.tokens += value,
                _ => {}
            }
        }
        totals
    }

    fn add_bucket(&mut self, labels: &str, value: u64) {
        let bound = labels.split("le=\"").nth(1).and_then(|text| text.split('"').next());
        let Some(bound) = bound.and_then(|bound| bound.parse::<f64>().ok()) else { return };
        match self.durations.binary_search_by(|(known, _)| known.total_cmp(&bound)) {
            Ok(at) => self.durations[at].1 += value,
            Err(at) => self.durations.insert(at, (bound, value)),
        }
    }

    /// The bound that so many of 100 requests did not exceed.
    fn latency(&self, percent: u64) -> String {
        let all = self.durations.last().map_or(0, |(_, count)| *count);
        let wanted = (all * percent).div_ceil(100).max(1);
        let at = self.durations.partition_point(|(_, count)| *count < wanted);
        match self.durations.get(at) {
            None => "none yet".to_owned(),
            Some((bound, _)) if bound.is_infinite() => "over 10 min".to_owned(),
            Some((bound, _)) if *bound < 1.0 => format!("≤ {} ms", bound * 1000.0),
            Some((bound, _)) => format!("≤ {bound} s"),
        }
    }
}

#[cfg(test)]
mod tests;
