//! The first page of operators: live figures of this process, spend, providers, recent changes.

use askama::Template;
use gateway_store::{AuditEntry, Store, UsageDimension, UsageQuery};
use pages::Frame;

use super::providers::{ProviderRow, all};
use crate::clock;
use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::filters;
use crate::endpoints::console::page::{self, PageResult};

const RECENT: u32 = 6;
/// Days of spend, with today.
const DAYS: i32 = 7;

#[derive(Template)]
#[template(path = "console/operator/overview.html")]
struct OverviewPage {
    frame: Frame,
    totals: Totals,
    running: i64,
    today: i64,
    week: i64,
    providers: Vec<ProviderRow>,
    audit: Vec<AuditEntry>,
}

pub(super) async fn show(context: OperatorContext) -> PageResult {
    let service = &context.service;
    let [today, week] = spend(context.store()).await?;
    page::show(&OverviewPage {
        frame: context.frame("Overview", "/operator"),
        totals: Totals::of(&service.metrics.text(0)),
        // This request is one of them.
        running: service.metrics.running.get().saturating_sub(1).max(0),
        today,
        week,
        providers: all(&service.upstreams),
        audit: context.store().audit(i64::MAX, RECENT).await?,
    })
}

/// Total spend of today, and of the last days including today.
async fn spend(store: &Store) -> PageResult<[i64; 2]> {
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
    let sum = |from: i32| {
        let counted = days.iter().filter(|line| line.day.is_some_and(|day| day >= from));
        counted.map(|line| line.counts.charged.get()).sum()
    };
    Ok([sum(today), sum(query.from_day)])
}

/// Sums of the figures of this process since it started.
#[derive(Debug, Default)]
struct Totals {
    requests: u64,
    errors: u64,
    tokens: u64,
    /// Cumulative counts by duration in seconds, ascending.
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

    /// The failed part of the requests, in percent.
    fn error_share(&self) -> String {
        let share = (self.errors * 1000).checked_div(self.requests).unwrap_or(0);
        format!("{}.{} %", share / 10, share % 10)
    }

    /// The duration bound of this percentile.
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
