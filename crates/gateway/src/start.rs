//! Opens everything that a service needs, and collects all problems.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use document_parser::{Limits, Pool, WorkerProgram};
use gateway_store::{DatabaseLocation, Error, ProcessReport, Store, StoreOptions};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::config::{Config, Database, Durability, SearchProvider};
use crate::failure::chain;
use crate::key_secret;
use crate::problem::{Problem, collect};
use crate::reload::{ReloadRequest, Reloads, note_port};
use crate::service::{Parts, Service};

/// The most parsers by default: each may use hundreds of megabytes.
const MAX_DEFAULT_PARSERS: usize = 16;

#[derive(Debug)]
pub struct Ready {
    pub service: Arc<Service>,
    pub listener: TcpListener,
    /// The socket of `/metrics`, if it is separate.
    pub metrics: Option<TcpListener>,
    pub(crate) reloading: Reloading,
}

#[derive(Debug)]
pub(crate) struct Reloading {
    pub(crate) requests: mpsc::Receiver<ReloadRequest>,
    pub(crate) parser: WorkerProgram,
    pub(crate) report: ProcessReport,
}

/// Opens everything the service needs, or returns all problems. `parser` is the program that parses
/// untrusted documents.
pub async fn prepare(mut config: Config, parser: WorkerProgram) -> Result<Ready, Vec<Problem>> {
    let mut problems = Vec::new();
    let listener = collect(&mut problems, listen("listen", config.listen).await);
    if let Some(Ok(address)) = listener.as_ref().map(TcpListener::local_addr) {
        note_port(&mut config, address);
    }
    let metrics = match config.metrics_listen {
        Some(address) => collect(&mut problems, listen("metrics_listen", address).await),
        None => None,
    };
    let hasher = collect(&mut problems, key_secret::load(&config.key_secret));
    let store = collect(&mut problems, open_store(&config).await);
    let pool = parser_pool(&config, &parser, None);
    let parts =
        Parts::open(&config, pool.clone(), None).map_err(|found| problems.extend(found)).ok();
    if let Some(store) = &store {
        if let Some(hasher) = &hasher {
            collect(&mut problems, key_secret::check(hasher, store).await);
        }
        collect(&mut problems, claim(store).await);
    }
    let (Some(listener), Some(hasher), Some(store), Some(parts), true) =
        (listener, hasher, store, parts, problems.is_empty())
    else {
        return Err(problems);
    };
    let address = listener
        .local_addr()
        .map_err(|error| vec![Problem::new(format!("cannot listen: {error}"))])?;
    let (reloads, requests) = Reloads::new(address);
    let service = Service::new(config, (store, hasher), parts, reloads);
    let failed = |error: Error| vec![Problem::new(chain(&error))];
    let shared = service.billing.store.shared_state().await.map_err(failed)?;
    service.drain_providers(&shared.drained);
    service.upstreams.probe_local().await;
    let billing = &service.billing;
    let holds = billing.store.end_holds_except(billing.owner).await.map_err(failed)?;
    if holds > 0 {
        tracing::warn!(holds, "released holds of a terminated process");
    }
    let report = report(&service).await.map_err(failed)?;
    pool.warm();
    let reloading = Reloading { requests, parser, report };
    Ok(Ready { service, listener, metrics, reloading })
}

/// Reports this process to operators, before it serves.
async fn report(service: &Service) -> Result<ProcessReport, Error> {
    let billing = &service.billing;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let report = ProcessReport {
        owner: billing.owner,
        name: format!("{}:{}", host.trim(), std::process::id()),
        generation: billing.store.shared_state().await?.generation,
        problems: String::new(),
    };
    billing.store.report_process(&report).await?;
    Ok(report)
}

/// The limits of a parser, which grow with the largest document.
pub fn parser_limits(config: &Config) -> Limits {
    let indexes = config.search.providers.iter().filter_map(|provider| match provider {
        SearchProvider::Index(index) => Some(index.max_file_bytes),
        SearchProvider::Remote { .. } => None,
    });
    let largest = indexes.chain([config.fetch.max_bytes, config.artifacts.max_bytes]).max();
    let default = Limits::default();
    let memory_bytes = largest.unwrap_or_default().saturating_mul(4);
    Limits { memory_bytes: default.memory_bytes.saturating_add(memory_bytes), ..default }
}

/// The pool of parsers; reuses an open one that fits.
pub(crate) fn parser_pool(config: &Config, program: &WorkerProgram, open: Option<&Pool>) -> Pool {
    let (limits, workers) = (parser_limits(config), parser_workers(config));
    let kept = open.filter(|open| open.has(limits, workers));
    kept.cloned().unwrap_or_else(|| Pool::new(program.clone(), limits, workers))
}

fn parser_workers(config: &Config) -> usize {
    let configured = config.limits.parser_workers.and_then(|count| usize::try_from(count).ok());
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    configured.unwrap_or_else(|| cores().min(MAX_DEFAULT_PARSERS))
}

async fn listen(key: &str, address: SocketAddr) -> Result<TcpListener, Problem> {
    TcpListener::bind(address).await.map_err(|error| {
        let problem = match error.kind() {
            ErrorKind::AddrInUse => Problem::new(format!("port {} is in use", address.port())),
            _ => Problem::new(format!("cannot listen on {address}: {error}")),
        };
        let option = if key == "listen" { "`agent up --listen 127.0.0.1:PORT` or " } else { "" };
        problem.hint(format!("choose another address with {option}`{key}` in gateway.yaml"))
    })
}

pub fn database_location(config: &Config) -> (DatabaseLocation, StoreOptions) {
    let mut options = StoreOptions {
        idempotency_retention: config.idempotency,
        calendar: config.calendar.clone(),
        ..StoreOptions::default()
    };
    let place = match &config.database {
        Database::Sqlite { path, durability } => {
            options.power_loss_safe = *durability == Durability::Power;
            DatabaseLocation::Sqlite(path.clone())
        }
        Database::Postgres { url, pool_size } => {
            options.connections = usize::try_from(*pool_size).unwrap_or(options.connections);
            DatabaseLocation::Postgres(url.reveal().to_owned())
        }
    };
    (place, options)
}

/// Opens the database of a configuration; its schema must be the current one.
pub async fn open_store(config: &Config) -> Result<Store, Problem> {
    let (place, options) = database_location(config);
    Store::open(&place, &options).await.map_err(|error| {
        let problem = Problem::new(format!("cannot open the database: {}", chain(&error)));
        match error {
            Error::NotMigrated(_) => problem.hint("run `agent gateway migrate`"),
            Error::Schema(_) => problem.hint(
                "upgrade this program, or check `database`: a newer \
                                              release or another program created the database",
            ),
            _ => problem,
        }
    })
}

async fn claim(store: &Store) -> Result<(), Problem> {
    store.acquire_serving_lock().await.map_err(|error| match error {
        Error::InUse => Problem::new("another process is serving from this database")
            .hint("stop that process, or use PostgreSQL to run several"),
        error => Problem::new(chain(&error)),
    })
}
