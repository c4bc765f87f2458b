//! A private PostgreSQL: Debian's server on a Unix socket in a temporary folder, removed with the
//! test.
//!
//! The machine's own cluster is not touched: this one has no port, its own data, a user `postgres`
//! without a password, and a folder that only the tests can enter. `fsync` is on, because the tests
//! check durability.
//!
//! Every test is a process, so a cluster must start quickly. The data folder is created once per
//! release of PostgreSQL and then copied. Databases are not dropped one by one (each would cost a
//! checkpoint, which took 1.8 s where everything else took 0.3 s) but removed with their cluster.

mod data;
mod process;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use tempfile::TempDir;

use crate::clock::MovableClock;
use data::Programs;
use process::{Server, Watcher};

use crate::wait::{eventually, lock};

const USER: &str = "postgres";

/// The database that every cluster has.
const MAINTENANCE: &str = "postgres";

pub const MAX_CONNECTIONS: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopMode {
    /// Rolls open transactions back and writes everything; the next start is clean.
    Fast,
    /// As after a power loss: nothing more is written, and the next start recovers from the log.
    Immediate,
}

#[derive(Debug)]
pub struct Cluster {
    programs: Programs,
    server: Mutex<Option<Server>>,
    databases: AtomicUsize,
    watcher: Watcher,
    folder: TempDir,
}

impl Cluster {
    /// The cluster of this process, started at the first call; it stops with the process.
    pub fn shared() -> Arc<Cluster> {
        static SHARED: OnceLock<Arc<Cluster>> = OnceLock::new();
        Arc::clone(SHARED.get_or_init(|| Arc::new(Cluster::start_new())))
    }

    /// A cluster for one test, stopped with the value or with the process.
    pub fn start_new() -> Cluster {
        Self::start_in(&std::env::temp_dir())
    }

    /// As [`start_new`](Self::start_new), with its data inside this folder, for example on a disk
    /// that fills up. The server's user must be able to enter it.
    pub fn start_in(parent: &Path) -> Cluster {
        Self::start_from(Programs::find(), parent, data::copy_into)
    }

    /// As [`start_in`](Self::start_in), with a clock that the test shifts.
    pub fn start_with_clock(parent: &Path, clock: &MovableClock) -> Cluster {
        let mut programs = Programs::find();
        programs.environment = clock.variables().to_vec();
        Self::start_from(programs, parent, data::copy_into)
    }

    /// A hot standby of this cluster. From now on, every commit of this cluster waits for it.
    #[must_use]
    pub fn start_standby(&self) -> Cluster {
        let copy = |programs: &Programs, folder: &Path| {
            data::copy_from_running(programs, self.folder(), folder);
        };
        let standby = Self::start_from(Programs::find(), &std::env::temp_dir(), copy);
        self.query(MAINTENANCE, "ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.query(MAINTENANCE, "SELECT pg_reload_conf()");
        eventually("the standby is synchronous", || {
            self.query(MAINTENANCE, "SELECT sync_state FROM pg_stat_replication") == "sync"
        });
        standby
    }

    pub fn promote(&self) {
        // It has the settings of the old primary, and must not wait for a standby.
        self.query(MAINTENANCE, "SELECT pg_promote()");
        self.query(MAINTENANCE, "ALTER SYSTEM RESET synchronous_standby_names");
        self.query(MAINTENANCE, "SELECT pg_reload_conf()");
    }

    /// Starts a cluster whose data folder is copied by this function.
    fn start_from(
        programs: Programs,
        parent: &Path,
        copy_data: impl FnOnce(&Programs, &Path),
    ) -> Cluster {
        let folder = programs.private_folder(parent);
        let watcher = Watcher::start(folder.path());
        copy_data(&programs, folder.path());
        let server = Mutex::new(Some(Server::start(&programs, folder.path())));
        Cluster { programs, server, databases: AtomicUsize::new(0), watcher, folder }
    }

    pub fn database(self: &Arc<Self>) -> Database {
        let number = self.databases.fetch_add(1, Ordering::SeqCst);
        let name = format!("test_{}_{number}", std::process::id());
        self.query(MAINTENANCE, &format!("CREATE DATABASE {name} TEMPLATE template0"));
        Database { cluster: Arc::clone(self), name }
    }

    /// Restarts the server; all connections are lost.
    pub fn restart(&self, mode: StopMode) {
        self.stop(mode);
        self.start();
    }

    /// Stops the server if it runs.
    pub fn stop(&self, mode: StopMode) {
        if let Some(server) = lock(&self.server).take() {
            server.stop(mode);
        }
    }

    /// Kills all processes of the server with SIGKILL.
    pub fn kill(&self) {
        if let Some(server) = lock(&self.server).take() {
            server.kill_all();
        }
    }

    /// Starts the server unless it runs, and waits until it accepts connections.
    pub fn start(&self) {
        let mut server = lock(&self.server);
        if server.as_mut().is_none_or(Server::has_exited) {
            *server = Some(Server::start(&self.programs, self.folder.path()));
        }
    }

    /// The process that started all others of the server.
    pub fn process_id(&self) -> u32 {
        lock(&self.server).as_ref().expect("the server runs").id()
    }

    /// The folder of its socket and its data.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn query(&self, database: &str, sql: &str) -> String {
        self.try_query(database, sql).unwrap_or_else(|complaint| panic!("{sql}: {complaint}"))
    }

    fn try_query(&self, database: &str, sql: &str) -> Result<String, String> {
        let output = Command::new(self.programs.psql())
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", USER, "-h"])
            .arg(self.folder())
            .args(["-d", database, "-c", sql])
            .output()
            .expect("psql starts");
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(server) = lock(&self.server).take() {
            server.kill();
        }
        self.watcher.finish();
    }
}

/// A database, which keeps its cluster running.
#[derive(Debug)]
pub struct Database {
    cluster: Arc<Cluster>,
    name: String,
}

impl Database {
    /// The URL, in the form that every PostgreSQL client accepts.
    pub fn url(&self) -> String {
        let folder = self.cluster.folder().display();
        format!("postgresql:///{}?host={folder}&user={USER}", self.name)
    }

    /// The URL of this cluster and the standby, to connect to the one that accepts writes.
    pub fn url_with_standby(&self, standby: &Cluster) -> String {
        let (primary, standby) = (self.cluster.folder().display(), standby.folder().display());
        // The driver needs one `host` for each socket.
        let hosts = format!("host={primary}&host={standby}");
        format!("postgresql:///{}?{hosts}&user={USER}&target_session_attrs=read-write", self.name)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    /// As [`query`](Self::query), but returns the error output of `psql` if it fails.
    pub fn try_query(&self, sql: &str) -> Result<String, String> {
        self.cluster.try_query(&self.name, sql)
    }

    /// Runs SQL with `psql`: one line for each row, `|` between columns.
    pub fn query(&self, sql: &str) -> String {
        self.cluster.query(&self.name, sql)
    }
}

#[cfg(test)]
mod tests;
