//! What the service does on its own: renews its leases, ends the holds of processes that died,
//! looks after its upstreams, and throws away what is over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::time::{MissedTickBehavior, interval};

use crate::catalogue::MAX_NAME;
use crate::config;
use crate::failure::chain;
use crate::media::{self, espeak};
use crate::provider::{AskedBy, List, Listed, Local, Look, Probed, Provider};
use crate::research;
use crate::service::Service;

const REAP_EVERY: Duration = Duration::from_secs(5);
const SWEEP_EVERY: Duration = Duration::from_mins(1);
/// How often an upstream without a policy of its own is asked for its models.
const DISCOVER_EVERY: Duration = Duration::from_mins(1);
/// A probe that is repeated while an upstream is out.
const PROBE_WHILE_OUT: Duration = Duration::from_secs(2);

/// Starts all of it; it ends when the service stops.
pub(crate) fn start(service: &Arc<Service>) {
    let lease = service.config.hold_lease;
    // Not tracked: leases are renewed until all else has come to its end.
    tokio::spawn(keep_leases(service.clone(), REAP_EVERY.min(lease / 3)));
    every(service, SWEEP_EVERY, |service| async move {
        if let Err(error) = service.store.delete_expired().await {
            tracing::warn!(error = %chain(&error), "what is over was not removed");
        }
        media::sweep(&service).await;
        for provider in service.providers.iter().chain(service.search.upstreams()) {
            provider.client.tend(Instant::now());
        }
    });
    every(service, REAP_EVERY, |service| async move {
        match service.store.end_overdue_jobs().await {
            Ok(0) => {}
            Ok(jobs) => tracing::warn!(jobs, "jobs that were late or came to nothing were ended"),
            Err(error) => tracing::warn!(error = %chain(&error), "jobs were not looked at"),
        }
    });
    research::start(service);
    service.search.start(&service.tasks, &service.stopping);
    for provider in service.providers.iter().chain(service.search.upstreams()) {
        look_after(service, provider);
    }
}

/// Renews the leases of this process, and then ends those of processes that died: never its own.
async fn keep_leases(service: Arc<Service>, pause: Duration) {
    let mut ticks = interval(pause.max(Duration::from_millis(10)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = service.finished.cancelled() => return,
            _ = ticks.tick() => {}
        }
        if let Err(error) = service.store.renew_leases(service.owner, service.lease_micros()).await
        {
            tracing::warn!(error = %chain(&error), "leases were not renewed");
            continue;
        }
        match service.store.expire_holds().await {
            Ok(0) => {}
            Ok(holds) => {
                tracing::warn!(holds, "holds of a process that died were released");
                service.meter.expired(holds);
            }
            Err(error) => tracing::warn!(error = %chain(&error), "leases were not looked at"),
        }
    }
}

/// Does something again and again until the service stops.
fn every<F, W>(service: &Arc<Service>, pause: Duration, work: W)
where
    W: Fn(Arc<Service>) -> F + Send + 'static,
    F: Future<Output = ()> + Send,
{
    let service = service.clone();
    let stopping = service.stopping.clone();
    service.tasks.clone().spawn(async move {
        let mut ticks = interval(pause.max(Duration::from_millis(10)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stopping.cancelled() => return,
                _ = ticks.tick() => work(service.clone()).await,
            }
        }
    });
}

/// Asks once, all at the same time, those upstreams for their models that are to be asked.
pub(crate) async fn discover(service: &Service) {
    let asked = service.providers.iter().filter(|provider| {
        service.config.provider(&provider.name).is_some_and(|provider| provider.discover)
    });
    join_all(asked.map(|provider| look(service, provider, true))).await;
}

/// Looks once at the providers that are programs or files: the first request knows whether they are there.
pub(crate) async fn look_at_programs(service: &Service) {
    let is_here =
        |provider: &&Arc<Provider>| provider.program.is_some() || provider.local.is_some();
    for provider in service.providers.iter().filter(is_here) {
        look(service, provider, false).await;
    }
}

/// Asks an upstream for its models: a probe of its health, and what it has.
fn look_after(service: &Arc<Service>, provider: &Arc<Provider>) {
    let discovers =
        service.config.provider(&provider.name).is_some_and(|provider| provider.discover);
    // Where nothing can be asked for freely, requests alone show how it is.
    let policy = provider.health.policy.clone().filter(|policy| !policy.path.is_empty());
    if policy.is_none() && !discovers {
        return;
    }
    let (service, provider) = (service.clone(), provider.clone());
    let stopping = service.stopping.clone();
    service.tasks.clone().spawn(async move {
        loop {
            let is_good = look(&service, &provider, discovers).await;
            let usual = policy.as_ref().map_or(DISCOVER_EVERY, |policy| policy.interval);
            let pause = if is_good { usual } else { usual.min(PROBE_WHILE_OUT) };
            tokio::select! {
                () = stopping.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    });
}

async fn look(service: &Service, provider: &Provider, discovers: bool) -> bool {
    if let Some(local) = &provider.local {
        return look_at_files(service, provider, local).await;
    }
    let list = models(provider).await;
    let is_good = list.is_ok();
    note(provider, is_good);
    if let (Ok(Some(list)), true) = (list, discovers) {
        provider.found.store(Arc::new(list));
        service.rebuild_catalogue();
    }
    is_good
}

/// Looks at the files that this process computes models from.
async fn look_at_files(service: &Service, provider: &Provider, local: &Local) -> bool {
    let Look { is_good, changed } = local.look().await;
    note(provider, is_good);
    if let Some(found) = changed {
        provider.trouble.store(local.trouble().map(Arc::new));
        provider.found.store(Arc::new(found));
        // What is known of those that are named changed too.
        service.rebuild_catalogue();
    }
    is_good
}

/// Remembers how a probe went.
fn note(provider: &Provider, is_good: bool) {
    let is_here = provider.program.is_some() || provider.local.is_some();
    let probed = match (is_good, is_here) {
        (true, _) => Probed::Good,
        (false, true) => Probed::Absent,
        (false, false) => Probed::Failed,
    };
    if provider.health.policy.is_some() && provider.health.probed(probed) {
        let provider = &*provider.name;
        if is_good {
            tracing::info!(provider, "provider healthy");
        } else {
            tracing::warn!(provider, "provider marked down: its probes fail");
        }
    }
}

/// The models of an upstream; `None` if it answered with something else.
async fn models(provider: &Provider) -> Result<Option<Vec<config::Model>>, ()> {
    if let Some(program) = &provider.program {
        return voices(provider, program).await;
    }
    let policy = provider.health.policy.clone().unwrap_or_default();
    let (status, body) = provider.ask(&policy.path, None, policy.timeout).await.map_err(drop)?;
    provider.note_status(AskedBy::Probe, status.as_u16());
    if !status.is_success() {
        return Err(());
    }
    Ok(serde_json::from_slice::<List>(&body).ok().map(|list| {
        let models = list.data.into_iter().take(config::MAX_MODELS);
        models.filter(|model| is_name(&model.id)).map(found).collect()
    }))
}

/// The voices of a program; that it is not there is remembered with the reason.
async fn voices(
    provider: &Provider,
    program: &std::path::Path,
) -> Result<Option<Vec<config::Model>>, ()> {
    match espeak::voices(program).await {
        Ok(voices) => {
            provider.trouble.store(None);
            Ok(Some(voices))
        }
        Err(why) => {
            tracing::warn!(provider = %provider.name, why, "a program cannot be used");
            provider.trouble.store(Some(Arc::new(why)));
            Err(())
        }
    }
}

fn found(listed: Listed) -> config::Model {
    let context_length = listed.context_length;
    config::Model { context_length, ..config::Model::new(listed.id) }
}

/// Whether a model may be called so in our lists.
fn is_name(id: &str) -> bool {
    !id.is_empty() && id.len() <= MAX_NAME && !id.chars().any(char::is_control)
}
