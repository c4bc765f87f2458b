//! Alerts about charged accounts and provider health.
//!
//! Shares are levels, not events: an alert that was missed because a process died is stored after the
//! next charge of the account.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gateway_store::{Credit, Error};
use ledger::{BudgetScope, BudgetStatus, LineageId, MemberId, Micros, Time, Windows};

use super::Alerts;
use crate::clock;
use crate::failure::chain;
use crate::provider::Provider;
use crate::service::Service;

const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum accounts with remembered state; beyond it all are dropped.
const MAX_REMEMBERED: usize = 100_000;

pub(crate) async fn run(service: Arc<Service>) {
    let Some(config) = &service.config.alerts else { return };
    let alerts = Alerts { config, store: &service.billing.store };
    let mut watcher = Watcher {
        alerts,
        balances: HashMap::new(),
        limits: HashMap::new(),
        budgets: HashMap::new(),
    };
    let mut states = HashMap::new();
    let mut ticks = clock::ticks(WATCH_INTERVAL);
    loop {
        tokio::select! {
            () = service.lifecycle.replaced.cancelled() => return,
            _ = ticks.tick() => {}
        }
        for (member, lineage) in service.billing.charged.take() {
            if let Err(error) = watcher.check(member, lineage, &service.billing.windows()).await {
                tracing::warn!(error = %chain(&error), %member, "account not checked for alerts");
            }
        }
        if config.providers {
            for provider in service.all_providers() {
                check_provider(alerts, &mut states, provider).await;
            }
        }
    }
}

struct Watcher<'a> {
    alerts: Alerts<'a>,
    balances: HashMap<MemberId, KnownBalance>,
    limits: HashMap<LineageId, u32>,
    /// Used shares of budgets, and when they reset.
    budgets: HashMap<BudgetScope, (Time, u32)>,
}

#[derive(Clone, Copy)]
struct KnownBalance {
    credit: Credit,
    balance: Micros,
    used: u32,
}

impl Watcher<'_> {
    async fn check(
        &mut self,
        member: MemberId,
        lineage: LineageId,
        windows: &Windows,
    ) -> Result<(), Error> {
        if self.balances.len() + self.limits.len() + self.budgets.len() > MAX_REMEMBERED {
            self.balances.clear();
            self.limits.clear();
            self.budgets.clear();
        }
        self.check_member(member, windows).await?;
        self.check_key(lineage, windows).await
    }

    async fn check_member(&mut self, member: MemberId, windows: &Windows) -> Result<(), Error> {
        let store = self.alerts.store;
        let Some(account) = store.account(member).await? else { return Ok(()) };
        if let Some(status) = account.budget_status(windows) {
            self.check_budget(member.to_string(), status).await;
        }
        // Only a top-up raises a balance.
        let known = self.balances.get(&member).filter(|known| account.balance <= known.balance);
        let (credit, before) = match known {
            Some(known) => (known.credit, known.used),
            None => match store.last_credit(member).await? {
                Some(credit) => (credit, 0),
                None => return Ok(()),
            },
        };
        let used = percent(credit.balance.get() - account.balance.get(), credit.balance.get());
        self.balances.insert(member, KnownBalance { credit, balance: account.balance, used });
        let (account, period) = (member.to_string(), credit.posting.to_string());
        self.alerts.share_changed("balance", &account, &period, (before, used)).await;
        Ok(())
    }

    async fn check_key(&mut self, lineage: LineageId, windows: &Windows) -> Result<(), Error> {
        let store = self.alerts.store;
        let Some(state) = store.lineage(lineage).await? else { return Ok(()) };
        if let Some(status) = state.budget_status(windows) {
            self.check_budget(self.key_name(lineage).await?, status).await;
        }
        let Some(limit) = state.limits.spend else { return Ok(()) };
        let used = percent(state.spent.get(), limit.get());
        let before = self.limits.insert(lineage, used).filter(|before| *before <= used);
        let (account, period) = (self.key_name(lineage).await?, limit.get().to_string());
        let shares = (before.unwrap_or(0), used);
        self.alerts.share_changed("key_limit", &account, &period, shares).await;
        Ok(())
    }

    async fn check_budget(&mut self, account: String, status: BudgetStatus) {
        let (resets_at, used) = (status.resets_at, status.percent_used().min(100));
        let known = self.budgets.insert(status.scope, (resets_at, used));
        let known = known.filter(|(end, before)| *end == resets_at && *before <= used);
        let period = format!("{}:{}", status.budget.amount.get(), resets_at.micros());
        let shares = (known.map_or(0, |(_, before)| before), used);
        self.alerts.share_changed("budget", &account, &period, shares).await;
    }

    async fn key_name(&self, lineage: LineageId) -> Result<String, Error> {
        let names = self.alerts.store.key_names(&[lineage]).await?;
        Ok(names.get(&lineage).map_or_else(
            || format!("key {}", lineage.0),
            |(id, name)| format!("key {name} (agk_{id}…)"),
        ))
    }
}

/// The used part in percent, from 0 to 100. An amount of zero is used up.
pub(crate) fn percent(used: i64, whole: i64) -> u32 {
    if whole <= 0 {
        return 100;
    }
    let percent = i128::from(used.max(0)) * 100 / i128::from(whole);
    u32::try_from(percent.min(100)).unwrap_or(100)
}

/// Alerts when a provider fails, and closes the alert when it recovers.
async fn check_provider(
    alerts: Alerts<'_>,
    states: &mut HashMap<Arc<str>, Option<&'static str>>,
    provider: &Provider,
) {
    let problem = match provider.state() {
        "drained" => return,
        "probe_failed" => Some("fails its probes and is out of rotation"),
        "key_refused" => Some("rejects the configured key"),
        "ejected" => Some("failed several requests in a row and is out of rotation for a while"),
        _ if provider.health.awaits_probe() => return,
        _ => None,
    };
    let name = &provider.name;
    let before = states.insert(name.clone(), problem);
    if before == Some(problem) {
        return;
    }
    let key = format!("provider:{name}");
    match problem {
        Some(problem) => {
            let message = format!("the provider {name} {problem}");
            alerts.open("provider", name, message, Some(key)).await;
        }
        None => alerts.end(&key).await,
    }
}

#[cfg(test)]
mod tests;
