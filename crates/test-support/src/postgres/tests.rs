//! The cluster as the store's tests use it: fresh databases, restarts, and nothing left behind.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;
use crate::wait::eventually;

#[test]
fn databases_of_one_cluster_are_fresh_and_apart() {
    let cluster = Cluster::shared();
    let (first, second) = (cluster.database(), cluster.database());
    assert_ne!(first.name(), second.name());
    first.query("CREATE TABLE here (n integer)");
    assert_eq!(first.query("INSERT INTO here VALUES (1), (2) RETURNING n, n + 1"), "1|2\n2|3");
    assert_eq!(second.query("SELECT count(*) FROM pg_tables WHERE tablename = 'here'"), "0");
    assert!(Arc::ptr_eq(&cluster, &Cluster::shared()));
}

#[test]
fn a_cluster_is_durable_and_reached_by_its_socket_alone() {
    let database = Cluster::shared().database();
    for (setting, value) in [
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
        ("listen_addresses", ""),
        ("max_connections", "100"),
    ] {
        assert_eq!(database.query(&format!("SHOW {setting}")), value, "{setting}");
    }
    let output = Command::new(database.cluster().programs.psql())
        .args(["-X", "-A", "-t", "-c", "SELECT current_database()", &database.url()])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), database.name());
}

#[test]
fn what_was_committed_survives_every_way_of_stopping() {
    let cluster = Arc::new(Cluster::start_new());
    let database = cluster.database();
    database.query("CREATE TABLE kept (n integer)");
    for (number, mode) in [StopMode::Fast, StopMode::Immediate].into_iter().enumerate() {
        database.query(&format!("INSERT INTO kept VALUES ({number})"));
        cluster.restart(mode);
    }
    assert_eq!(database.query("SELECT n FROM kept ORDER BY n"), "0\n1");
    let log = std::fs::read_to_string(cluster.folder().join("log")).unwrap();
    assert_eq!(log.matches("was not properly shut down").count(), 1, "{log}");
    cluster.stop(StopMode::Fast);
    cluster.stop(StopMode::Fast);
    assert!(!cluster.folder().join(".s.PGSQL.5432").exists());
    cluster.start();
    cluster.start();
    assert_eq!(database.query("SELECT 1"), "1");
}

#[test]
fn a_cluster_that_is_dropped_leaves_nothing() {
    let cluster = Cluster::start_new();
    let folder = cluster.folder().to_owned();
    let process = process_of(&folder);
    drop(cluster);
    assert!(!folder.exists());
    assert!(!runs(&process));
}

const OWNER: &str = "AGENT_TEST_CLUSTER_OWNER";

/// Runs this very test again as another process, and kills it while it has a cluster.
#[test]
fn a_cluster_ends_with_a_process_that_is_killed() {
    if std::env::var_os(OWNER).is_some() {
        let cluster = Cluster::start_new();
        let line = format!("\nfolder {}\n", cluster.folder().display());
        // The test harness keeps what is printed for itself.
        std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
        loop {
            std::thread::park();
        }
    }
    let name = "postgres::tests::a_cluster_ends_with_a_process_that_is_killed";
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(OWNER, "yes")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let folder = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("folder ").map(|folder| Path::new(folder).to_owned()));
    let folder = folder.unwrap();
    let process = process_of(&folder);
    assert!(runs(&process));
    owner.kill().unwrap();
    owner.wait().unwrap();
    eventually("the server ends and its folder goes", || !runs(&process) && !folder.exists());
}

fn process_of(folder: &Path) -> String {
    let file = std::fs::read_to_string(folder.join("data/postmaster.pid")).unwrap();
    file.lines().next().unwrap().to_owned()
}

/// One that has ended may still be listed until its parent looks at it.
fn runs(process: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(process).join("status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}
