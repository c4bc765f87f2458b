//! Requests to reload the configuration, and the check of the file on disk.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use gateway_store::Actor;
use tokio::sync::{mpsc, oneshot};

use crate::config::{Config, Reading};
use crate::operator::Error;
use crate::problem::Problem;

/// Capacity of the request queue; further callers block.
const MAX_WAITING: usize = 8;

/// The configuration file, as it was read just now.
#[derive(Debug)]
pub struct ConfigFile {
    /// Its path, for messages.
    pub path: PathBuf,
    pub reading: Reading,
}

type Source = dyn Fn() -> Result<ConfigFile, Problem> + Send + Sync;

/// The file on disk, compared with the running configuration.
#[derive(Debug, Default)]
pub(crate) struct FileCheck {
    pub(crate) path: String,
    /// The new configuration, if it can replace the running one.
    pub(crate) config: Option<Config>,
    /// Why it cannot, each with line and column.
    pub(crate) errors: Vec<String>,
    /// Doubtful values, each with line and column.
    pub(crate) warnings: Vec<String>,
    pub(crate) changed: Vec<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reloaded {
    /// The number of the reload; other processes follow it.
    pub generation: i64,
    pub changed: Vec<&'static str>,
    /// Doubtful values, each with line and column.
    pub warnings: Vec<String>,
}

/// A reload request and its reply channel.
pub(crate) struct ReloadRequest {
    pub(crate) by: Actor,
    pub(crate) reply: oneshot::Sender<Result<Reloaded, Error>>,
}

/// Asks the running service to reload its configuration.
#[derive(Clone)]
pub struct Reloads {
    source: Arc<OnceLock<Box<Source>>>,
    /// The address of the socket, for a public address without a port.
    address: SocketAddr,
    requests: mpsc::Sender<ReloadRequest>,
}

impl Reloads {
    pub(crate) fn new(address: SocketAddr) -> (Self, mpsc::Receiver<ReloadRequest>) {
        let (requests, waiting) = mpsc::channel(MAX_WAITING);
        (Self { source: Arc::default(), address, requests }, waiting)
    }

    /// Sets how the file is read. Without this, reloads are refused. Call it once.
    pub fn read_with(
        &self,
        source: impl Fn() -> Result<ConfigFile, Problem> + Send + Sync + 'static,
    ) {
        if self.source.set(Box::new(source)).is_err() {
            tracing::warn!("second source of the configuration ignored");
        }
    }

    /// Reads the file, checks it whole, and replaces the configuration. Requests that run finish with
    /// the old one.
    pub async fn reload(&self, by: &Actor) -> Result<Reloaded, Error> {
        let (reply, result) = oneshot::channel();
        let request = ReloadRequest { by: by.clone(), reply };
        self.requests.send(request).await.map_err(|_| Error::Stopping)?;
        result.await.unwrap_or(Err(Error::Stopping))
    }

    /// Reads the file and compares it with the running configuration; changes nothing.
    pub(crate) async fn check(&self, running: &Arc<Config>) -> FileCheck {
        let (reloads, running) = (self.clone(), running.clone());
        let check = tokio::task::spawn_blocking(move || reloads.check_now(&running)).await;
        check.unwrap_or_else(|_| refused("the configuration file cannot be read".to_owned()))
    }

    fn check_now(&self, running: &Config) -> FileCheck {
        let Some(source) = self.source.get() else {
            return refused("the service was started without a configuration file".to_owned());
        };
        let ConfigFile { path, mut reading } = match source() {
            Ok(file) => file,
            Err(problem) => return refused(problem.to_string()),
        };
        if let Some(config) = &mut reading.config {
            note_port(config, self.address);
        }
        reading.problems.extend(reading.fixed_changes(running));
        let (errors, warnings): (Vec<_>, Vec<_>) =
            settings::in_order(reading.problems).into_iter().partition(settings::Problem::is_error);
        let lines = |problems: Vec<settings::Problem>| {
            problems.iter().map(|problem| problem.in_file(&path)).collect()
        };
        let changed = reading.config.as_ref().map(|new| running.changed_keys(new));
        FileCheck {
            path: path.display().to_string(),
            config: reading.config.filter(|_| errors.is_empty()),
            errors: lines(errors),
            warnings: lines(warnings),
            changed: changed.unwrap_or_default(),
        }
    }
}

/// Puts a port that the machine chose into the public address.
pub(crate) fn note_port(config: &mut Config, address: SocketAddr) {
    if config.public_url.port_u16() == Some(0)
        && let Ok(url) = format!("http://{address}").parse()
    {
        config.public_url = url;
    }
}

fn refused(error: String) -> FileCheck {
    FileCheck { errors: vec![error], ..FileCheck::default() }
}

impl fmt::Debug for Reloads {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reloads").finish_non_exhaustive()
    }
}
