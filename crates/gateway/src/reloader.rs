//! Replaces the configuration of the running service, when an operator or another process asks for it.
//!
//! **Invariant:** a new configuration is opened whole before it replaces the old one; until then
//! nothing is changed. A request uses one configuration from its beginning to its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use document_parser::WorkerProgram;
use gateway_store::{Actor, ProcessReport};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::clock;
use crate::failure::chain;
use crate::operator::Error;
use crate::problem::Problem;
use crate::reload::{ReloadRequest, Reloaded};
use crate::service::{Parts, Service};
use crate::start::{Reloading, parser_pool};
use crate::upkeep;

/// Interval of checks whether another process was reloaded.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of liveness reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(30);
/// Maximum wait for model discovery of new providers.
const MAX_DISCOVERY: Duration = Duration::from_secs(3);

/// Replaces the service that `install` puts before new requests.
pub(crate) struct Reloader<I> {
    pub(crate) service: Arc<Service>,
    pub(crate) parser: WorkerProgram,
    pub(crate) install: I,
    pub(crate) report: ProcessReport,
    pub(crate) reported: Option<Instant>,
}

struct Opened {
    service: Arc<Service>,
    changed: Vec<&'static str>,
    warnings: Vec<String>,
}

impl<I: FnMut(&Arc<Service>) -> Result<(), Problem>> Reloader<I> {
    pub(crate) fn new(service: Arc<Service>, reloading: &Reloading, install: I) -> Self {
        let (parser, report) = (reloading.parser.clone(), reloading.report.clone());
        Self { service, parser, install, report, reported: Some(Instant::now()) }
    }

    /// Reloads on request and follows other processes, until the service stops.
    pub(crate) async fn run(mut self, mut requests: mpsc::Receiver<ReloadRequest>) {
        let store = self.service.billing.store.clone();
        self.report.generation = self.first_generation().await;
        self.report_process().await;
        let stopping = self.service.lifecycle.stopping.clone();
        let mut ticks = clock::ticks(FOLLOW_INTERVAL);
        loop {
            tokio::select! {
                () = stopping.cancelled() => break,
                Some(ReloadRequest { by, reply }) = requests.recv() => {
                    let result = self.reload(&by).await;
                    // The caller may be gone.
                    let _ = reply.send(result);
                }
                _ = ticks.tick() => self.follow().await,
            }
        }
        let _ = store.forget_process(self.report.owner).await;
    }

    /// The newest reload, if the file is unchanged since this process started.
    async fn first_generation(&self) -> i64 {
        let service = &self.service;
        let state = service.billing.store.shared_state().await.unwrap_or_default();
        let check = service.reloads.check(&service.config).await;
        let is_new = check.config.is_some() && !check.changed.is_empty();
        state.generation - i64::from(is_new)
    }

    /// Reloads, and asks the other processes to follow.
    async fn reload(&mut self, by: &Actor) -> Result<Reloaded, Error> {
        let opened = self.open().await.map_err(|problems| {
            log_refusal(&problems);
            Error::Configuration(problems)
        })?;
        let generation = self.service.billing.store.request_reload(by).await?;
        let reloaded = self.replace(opened, generation).map_err(Error::Configuration)?;
        self.report_process().await;
        Ok(reloaded)
    }

    /// Follows a reload by another process or a command.
    async fn follow(&mut self) {
        let state = match self.service.billing.store.shared_state().await {
            Ok(state) => state,
            Err(error) => return tracing::warn!(error = %chain(&error), "reloads not followed"),
        };
        self.service.drain_providers(&state.drained);
        let generation = state.generation;
        if generation > self.report.generation {
            let opened = self.open().await;
            if let Err(problems) = opened.and_then(|opened| self.replace(opened, generation)) {
                log_refusal(&problems);
                self.report.problems = problems.join("\n");
            }
            // A refused configuration is not tried again.
            self.report.generation = generation;
            self.report_process().await;
        } else if self.reported.is_none_or(|at| at.elapsed() >= REPORT_INTERVAL) {
            self.report_process().await;
        }
    }

    /// Opens the configuration on disk, or returns all problems. Changes nothing.
    async fn open(&self) -> Result<Opened, Vec<String>> {
        let old = &self.service;
        let check = old.reloads.check(&old.config).await;
        let Some(config) = check.config else { return Err(check.errors) };
        let parser = parser_pool(&config, &self.parser, Some(&old.parser));
        let parts = Parts::open(&config, parser, Some(old))
            .map_err(|problems| problems.iter().map(Problem::to_string).collect::<Vec<_>>())?;
        let service = old.reconfigured(config, parts);
        let shared = old.billing.store.shared_state().await.map_err(|error| vec![chain(&error)])?;
        service.drain_providers(&shared.drained);
        service.upstreams.probe_local().await;
        let _ = timeout(MAX_DISCOVERY, service.discover()).await;
        Ok(Opened { service, changed: check.changed, warnings: check.warnings })
    }

    fn replace(&mut self, opened: Opened, generation: i64) -> Result<Reloaded, Vec<String>> {
        let Opened { service, changed, warnings } = opened;
        (self.install)(&service).map_err(|problem| vec![problem.message])?;
        let old = std::mem::replace(&mut self.service, service);
        old.lifecycle.replaced.cancel();
        upkeep::start_periodic(&self.service);
        for provider in old.all_providers() {
            if !self.service.all_providers().any(|kept| kept.name == provider.name) {
                self.service.metrics.forget_provider(&provider.name);
            }
        }
        (self.report.generation, self.report.problems) = (generation, String::new());
        tracing::info!(generation, changed = changed.join(" "), "configuration reloaded");
        Ok(Reloaded { generation, changed, warnings })
    }

    /// Reports the state of this process to operators.
    async fn report_process(&mut self) {
        match self.service.billing.store.report_process(&self.report).await {
            Ok(()) => self.reported = Some(Instant::now()),
            Err(error) => tracing::warn!(error = %chain(&error), "process not reported"),
        }
    }
}

fn log_refusal(problems: &[String]) {
    for problem in problems {
        tracing::error!(problem, "configuration not reloaded");
    }
}
