//! The service under test: the real program with a new configuration, in a separate process.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use gateway::KeyHasher;
use gateway::config::KeySecret;
use gateway_store::{Actor, DatabaseLocation, NewKey, Scope, Store, StoreOptions};
use ledger::{Limits, MemberId, Micros, PostingKind, Transfer};
use serde_json::Value;
use tempfile::TempDir;
use wire::key::ApiKey;

use crate::process::Processes;

/// More than anybody spends here.
pub(crate) const CREDIT_MICROS: i64 = 1_000_000_000_000;
/// On, and never reached.
pub(crate) const REQUESTS_PER_MINUTE: u32 = 10_000_000;
/// On, and never reached.
pub(crate) const CONCURRENCY: u32 = 100_000;

/// A folder with a configuration, and where its state is.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) folder: TempDir,
    pub(crate) place: DatabaseLocation,
    pub(crate) keys: Vec<String>,
}

impl Home {
    /// With state in a new file, and the rest of the configuration as given.
    pub(crate) async fn sqlite(rest: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gateway.sqlite3");
        Self::new(folder, DatabaseLocation::Sqlite(path), rest).await
    }

    /// With state in this place.
    pub(crate) async fn new(folder: TempDir, place: DatabaseLocation, rest: &str) -> Self {
        let database = match &place {
            DatabaseLocation::Sqlite(path) => format!("sqlite:{}", path.display()),
            DatabaseLocation::Postgres(url) => url.clone(),
        };
        let text = format!(
            "listen: 127.0.0.1:0\ndatabase: \"{database}\"\n{rest}\
             log: {{requests: false, level: warn}}\n"
        );
        fs::write(folder.path().join("gateway.yaml"), text).expect("a file");
        Store::migrate(&place, &StoreOptions::default()).await.expect("a schema");
        Self { folder, place, keys: Vec::new() }
    }

    pub(crate) fn hasher(&self) -> KeyHasher {
        let secret = KeySecret::File(self.folder.path().join("gateway.secret"));
        gateway::key_secret::load(&secret).expect("a secret")
    }

    /// Makes members with credit and one key each, with limits that are on and never reached.
    pub(crate) async fn people(&mut self, count: usize) {
        let store = Store::open(&self.place, &StoreOptions::default()).await.expect("a store");
        let by = Actor { name: "bench".to_owned(), request: None };
        let hasher = self.hasher();
        for number in 0..count {
            let name = format!("member {number}");
            let member = store.create_member(&name, &by).await.expect("a member").id;
            let transfer = Transfer {
                member,
                kind: PostingKind::TopUp,
                amount: Micros::new(CREDIT_MICROS),
                reason: "bench".to_owned(),
                reference: None,
            };
            store.post(transfer, &by).await.expect("a posting").expect("room for it");
            let key = new_key();
            let new = stored(&hasher, &key, member);
            store.create_key(&new, &by).await.expect("a key");
            self.keys.push(key.as_str().to_owned());
        }
        store.close().await;
    }

    /// Adds the books up, by the program.
    pub(crate) fn check_ledger(&self) {
        let done = command(self.folder.path()).args(["ledger", "check"]).output();
        let done = done.expect("the program runs");
        let text = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
    }
}

/// A key that nobody has.
pub(crate) fn new_key() -> ApiKey {
    gateway::key_secret::draw().expect("random bytes")
}

fn stored(hasher: &KeyHasher, key: &ApiKey, member: MemberId) -> NewKey {
    NewKey {
        id: key.public_id().to_owned(),
        hash: hasher.hash(key),
        member,
        name: "bench".to_owned(),
        scopes: Scope::ALL.to_vec(),
        models: None,
        expires_at: None,
        limits: Limits {
            spend: Some(Micros::new(CREDIT_MICROS)),
            requests_per_minute: Some(REQUESTS_PER_MINUTE),
            concurrency: Some(CONCURRENCY),
            budget: None,
        },
    }
}

/// A running service, which ends with this value.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    pub(crate) processes: Processes,
    child: Child,
}

impl Service {
    /// Starts it on what is in the folder.
    pub(crate) fn start(home: &Home) -> Self {
        let mut child = command(home.folder.path())
            .args(["serve", "--json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the service starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let ready: Value = serde_json::from_str(&line).expect("the service says where it is");
        let address = ready["address"].as_str().and_then(|address| address.parse().ok());
        Self {
            address: address.expect("an address"),
            processes: Processes(vec![child.id()]),
            child,
        }
    }
}

impl Service {
    /// Kills the process, without a chance to finish anything.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(program());
    command.arg("gateway").arg("--config").arg(folder.join("gateway.yaml"));
    // Nothing of the machine's own configuration plays a part.
    command.env("AGENT_HOME", folder);
    command
}

/// The program that `cargo xtask bench` built beside this one, or another that was named.
pub(crate) fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("BENCH_AGENT") {
        return named.into();
    }
    let own = std::env::current_exe().expect("a program knows where it is");
    let folder = own.parent().and_then(Path::parent).expect("a folder");
    let program = folder.join("agent");
    assert!(program.exists(), "{} is missing: run `cargo xtask bench`", program.display());
    program
}
