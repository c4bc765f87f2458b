//! A PostgreSQL of our own: Debian's server on a Unix socket in a temporary folder, gone with the test.
//!
//! Nothing of the machine's own cluster is touched: ours has no port, its own data, its own user
//! `postgres` without a password, and a folder that only the tests can enter. It is durable as in
//! service (`fsync` is on), because durability is what is tested.
//!
//! A test runs in a process of its own, so a cluster must be quick to have. The data folder is made
//! once per release of PostgreSQL and copied after that; the databases of a cluster are not dropped
//! one by one (each would cost a checkpoint, which took 1.8 s where all the rest took 0.3 s) but go
//! with their cluster.

mod data;
mod process;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tempfile::TempDir;

use data::Programs;
use process::{Server, Watcher};

/// The one role there is.
const USER: &str = "postgres";

/// The database that every cluster has.
const MAINTENANCE: &str = "postgres";

/// How many connections a cluster takes at the same time.
pub const MAX_CONNECTIONS: usize = 100;

/// How a running server is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopMode {
    /// Open transactions are rolled back, everything is written, and the next start is clean.
    Fast,
    /// As after a loss of power: nothing more is written, and the next start recovers from the log.
    Immediate,
}

/// A cluster: one server and its data.
#[derive(Debug)]
pub struct Cluster {
    programs: Programs,
    server: Mutex<Option<Server>>,
    databases: AtomicUsize,
    watcher: Watcher,
    folder: TempDir,
}

impl Cluster {
    /// The cluster of this process, started by whoever asks first; it ends with the process.
    ///
    /// # Panics
    /// As [`start_new`](Self::start_new).
    pub fn shared() -> Arc<Cluster> {
        static SHARED: OnceLock<Arc<Cluster>> = OnceLock::new();
        Arc::clone(SHARED.get_or_init(|| Arc::new(Cluster::start_new())))
    }

    /// A cluster for one test alone, which ends with the value, or with the process that has it.
    ///
    /// # Panics
    /// If PostgreSQL is not installed or does not start.
    pub fn start_new() -> Cluster {
        let programs = Programs::find();
        let folder = programs.private_folder();
        let watcher = Watcher::start(folder.path());
        data::copy_into(&programs, folder.path());
        let server = Mutex::new(Some(Server::start(&programs, folder.path())));
        Cluster { programs, server, databases: AtomicUsize::new(0), watcher, folder }
    }

    /// A fresh and empty database.
    ///
    /// # Panics
    /// If the server does not make it.
    pub fn database(self: &Arc<Self>) -> Database {
        let number = self.databases.fetch_add(1, Ordering::SeqCst);
        let name = format!("test_{}_{number}", std::process::id());
        self.query(MAINTENANCE, &format!("CREATE DATABASE {name} TEMPLATE template0"));
        Database { cluster: Arc::clone(self), name }
    }

    /// Ends the server and starts it again; all connections are lost.
    ///
    /// # Panics
    /// If it does not end or does not come back.
    pub fn restart(&self, mode: StopMode) {
        self.stop(mode);
        self.start();
    }

    /// Ends the server; nothing happens if it is not running.
    ///
    /// # Panics
    /// If it does not end.
    pub fn stop(&self, mode: StopMode) {
        if let Some(server) = self.server().take() {
            server.stop(mode);
        }
    }

    /// Starts the server again, and waits until it takes connections; nothing happens if it runs.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(&self) {
        let mut server = self.server();
        if server.is_none() {
            *server = Some(Server::start(&self.programs, self.folder.path()));
        }
    }

    /// The folder of its socket and its data.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    #[expect(clippy::expect_used, reason = "a test without its database cannot go on")]
    fn query(&self, database: &str, sql: &str) -> String {
        let output = Command::new(self.programs.psql())
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", USER, "-h"])
            .arg(self.folder())
            .args(["-d", database, "-c", sql])
            .output()
            .expect("psql starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sql}: {said}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn server(&self) -> MutexGuard<'_, Option<Server>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(server) = self.server().take() {
            server.kill();
        }
        self.watcher.finish();
    }
}

/// A database of a cluster, which it keeps running.
#[derive(Debug)]
pub struct Database {
    cluster: Arc<Cluster>,
    name: String,
}

impl Database {
    /// Its address, as every client of PostgreSQL understands it.
    pub fn url(&self) -> String {
        let folder = self.cluster.folder().display();
        format!("postgresql:///{}?host={folder}&user={USER}", self.name)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cluster it belongs to.
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    /// Runs SQL by a client that is not ours; one line for each row, `|` between columns.
    ///
    /// # Panics
    /// If the server refuses it.
    pub fn query(&self, sql: &str) -> String {
        self.cluster.query(&self.name, sql)
    }
}

#[cfg(test)]
mod tests;
