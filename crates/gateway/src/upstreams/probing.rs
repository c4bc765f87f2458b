//! Health probes of providers, and discovery of their models.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::Upstreams;
use crate::config;
use crate::lifecycle::Lifecycle;
use crate::provider::{
    AskedBy, List, Listed, Local, LocalScan, MAX_MODEL_NAME, Probed, Provider, espeak,
};

/// Interval of discovery for a provider without health checks.
const DISCOVERY_INTERVAL: Duration = Duration::from_mins(1);
/// Maximum interval of probes while a provider is down.
const DOWN_INTERVAL: Duration = Duration::from_secs(2);

impl Upstreams {
    /// Lists the models of all providers with discovery, once and concurrently.
    pub(crate) async fn discover(&self) {
        let asked = self.providers.iter().filter(|provider| self.discovers(provider));
        join_all(asked.map(|provider| self.probe(provider, true))).await;
    }

    /// Probes local programs and files, so that their state is known before the first request.
    pub(crate) async fn probe_local(&self) {
        let is_local =
            |provider: &&Arc<Provider>| provider.program.is_some() || provider.local.is_some();
        for provider in self.providers.iter().filter(is_local) {
            self.probe(provider, false).await;
        }
    }

    /// Probes a provider until the service stops or is reloaded. One without a path to probe and
    /// without discovery depends on requests alone.
    pub(crate) fn start_probing(self: &Arc<Self>, provider: &Arc<Provider>, lifecycle: &Lifecycle) {
        let discovers = self.discovers(provider);
        let policy = provider.health.policy.clone().filter(|policy| !policy.path.is_empty());
        if policy.is_none() && !discovers {
            return;
        }
        let (upstreams, provider) = (self.clone(), provider.clone());
        let replaced = lifecycle.replaced.clone();
        lifecycle.tasks.spawn(async move {
            loop {
                let is_good = upstreams.probe(&provider, discovers).await;
                let usual = policy.as_ref().map_or(DISCOVERY_INTERVAL, |policy| policy.interval);
                let pause = if is_good { usual } else { usual.min(DOWN_INTERVAL) };
                tokio::select! {
                    () = replaced.cancelled() => return,
                    () = tokio::time::sleep(pause) => {}
                }
            }
        });
    }

    fn discovers(&self, provider: &Provider) -> bool {
        self.config.provider(&provider.name).is_some_and(|provider| provider.discover)
    }

    async fn probe(&self, provider: &Provider, discovers: bool) -> bool {
        if let Some(local) = &provider.local {
            return self.probe_files(provider, local).await;
        }
        let list = models(provider).await;
        let is_good = list.is_ok();
        note(provider, is_good);
        if let (Ok(Some(list)), true) = (list, discovers) {
            provider.found.store(Arc::new(list));
            self.rebuild_catalogue();
        }
        is_good
    }

    async fn probe_files(&self, provider: &Provider, local: &Local) -> bool {
        let LocalScan { is_good, changed } = local.scan().await;
        note(provider, is_good);
        if let Some(found) = changed {
            provider.trouble.store(local.trouble().map(Arc::new));
            provider.found.store(Arc::new(found));
            // The metadata of configured models may have changed too.
            self.rebuild_catalogue();
        }
        is_good
    }
}

fn note(provider: &Provider, is_good: bool) {
    let is_local = provider.program.is_some() || provider.local.is_some();
    let probed = match (is_good, is_local) {
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

/// The models of a provider; `None` if its answer is not a list of models.
async fn models(provider: &Provider) -> Result<Option<Vec<config::Model>>, ()> {
    if let Some(program) = &provider.program {
        let voices = espeak::voices(program).await;
        if let Err(why) = &voices {
            tracing::warn!(provider = %provider.name, why, "cannot use a program");
        }
        provider.trouble.store(voices.as_ref().err().cloned().map(Arc::new));
        return voices.map(Some).map_err(drop);
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

fn found(listed: Listed) -> config::Model {
    let context_length = listed.context_length;
    config::Model { context_length, ..config::Model::new(listed.id) }
}

fn is_name(id: &str) -> bool {
    !id.is_empty() && id.len() <= MAX_MODEL_NAME && !id.chars().any(char::is_control)
}
