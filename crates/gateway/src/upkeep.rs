//! Periodic work of the service: leases, expired rows, probes of providers, research workers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::alerts;
use crate::billing::Billing;
use crate::clock;
use crate::failure::chain;
use crate::service::Service;

const REAP_INTERVAL: Duration = Duration::from_secs(5);
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// Starts the work that lasts until the service stops.
pub(crate) fn start(service: &Arc<Service>) {
    let lease = service.config.hold_lease;
    // Not tracked: leases are renewed until the drain has ended.
    tokio::spawn(keep_leases(service.billing.clone(), REAP_INTERVAL.min(lease / 3)));
    start_periodic(service);
}

/// Starts the work that depends on the configuration; it ends when the service stops or is reloaded.
pub(crate) fn start_periodic(service: &Arc<Service>) {
    let lifecycle = &service.lifecycle;
    every(service, SWEEP_INTERVAL, |service| async move {
        if let Err(error) = service.billing.store.delete_expired().await {
            tracing::warn!(error = %chain(&error), "expired rows not removed");
        }
        service.media.sweep().await;
        for provider in service.all_providers() {
            provider.pool.close_expired(Instant::now());
        }
    });
    every(service, REAP_INTERVAL, |service| async move {
        match service.billing.store.end_overdue_jobs().await {
            Ok(0) => {}
            Ok(jobs) => tracing::warn!(jobs, "ended overdue jobs"),
            Err(error) => tracing::warn!(error = %chain(&error), "overdue jobs not checked"),
        }
    });
    if service.config.alerts.is_some() {
        lifecycle.tasks.spawn(alerts::watch::run(service.clone()));
        lifecycle.tasks.spawn(alerts::deliver::run(service.clone()));
    }
    service.research.start();
    service.web.search.start(&lifecycle.tasks, &lifecycle.stopping);
    for provider in service.all_providers() {
        service.upstreams.start_probing(provider, lifecycle);
    }
}

/// Renews the leases of this process, then releases expired holds of processes that died.
async fn keep_leases(billing: Arc<Billing>, period: Duration) {
    let mut ticks = clock::ticks(period.max(MIN_INTERVAL));
    loop {
        tokio::select! {
            () = billing.lifecycle.finished.cancelled() => return,
            _ = ticks.tick() => {}
        }
        // If its own leases were not renewed, it must not expire them.
        if let Err(error) = billing.store.renew_leases(billing.owner, billing.lease_micros()).await
        {
            tracing::warn!(error = %chain(&error), "leases not renewed");
            continue;
        }
        match billing.store.expire_holds().await {
            Ok(0) => {}
            Ok(holds) => {
                tracing::warn!(holds, "released holds of a terminated process");
                billing.metrics.expired.inc_by(holds);
            }
            Err(error) => tracing::warn!(error = %chain(&error), "expired holds not checked"),
        }
    }
}

/// Repeats work until the service stops or is reloaded.
fn every<F, W>(service: &Arc<Service>, period: Duration, work: W)
where
    W: Fn(Arc<Service>) -> F + Send + 'static,
    F: Future<Output = ()> + Send,
{
    let service = service.clone();
    let lifecycle = service.lifecycle.clone();
    lifecycle.tasks.spawn(async move {
        let mut ticks = clock::ticks(period.max(MIN_INTERVAL));
        loop {
            tokio::select! {
                () = service.lifecycle.replaced.cancelled() => return,
                _ = ticks.tick() => work(service.clone()).await,
            }
        }
    });
}
