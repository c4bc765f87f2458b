//! The cluster as the store's tests use it: new databases, restarts, complete cleanup.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;
use crate::disk::SmallDisk;
use crate::wait::eventually;

#[test]
fn databases_of_one_cluster_are_empty_and_separate() {
    let cluster = Cluster::shared();
    let (first, second) = (cluster.database(), cluster.database());
    assert_ne!(first.name(), second.name());
    first.query("CREATE TABLE here (n integer)");
    assert_eq!(first.query("INSERT INTO here VALUES (1), (2) RETURNING n, n + 1"), "1|2\n2|3");
    assert_eq!(second.query("SELECT count(*) FROM pg_tables WHERE tablename = 'here'"), "0");
    assert!(Arc::ptr_eq(&cluster, &Cluster::shared()));
}

#[test]
fn cluster_is_durable_and_has_no_tcp_port() {
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
fn committed_data_survives_every_stop_mode() {
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
fn full_disk_rejects_writes_and_keeps_committed_data() {
    let disk = SmallDisk::mount(160 * 1024 * 1024);
    let cluster = Arc::new(Cluster::start_in(disk.path()));
    let database = cluster.database();
    database.query("CREATE TABLE kept (n integer, filling text)");
    database.query("INSERT INTO kept VALUES (1, '')");
    let ballast = disk.fill();
    let fill =
        "INSERT INTO kept SELECT 2, repeat(md5(g::text), 99) FROM generate_series(1, 99999) g";
    let refused = database.try_query(fill).unwrap_err();
    assert!(refused.contains("No space left") || refused.contains("connection"), "{refused}");
    std::fs::remove_file(ballast).unwrap();
    cluster.restart(StopMode::Immediate);
    assert_eq!(database.query("SELECT n FROM kept"), "1");
}

#[test]
fn dropped_cluster_leaves_no_files() {
    let cluster = Cluster::start_new();
    let folder = cluster.folder().to_owned();
    let process = process_of(&folder);
    drop(cluster);
    assert!(!folder.exists());
    assert!(!runs(&process));
}

const OWNER: &str = "AGENT_TEST_CLUSTER_OWNER";

/// Runs this test again in another process, and kills it while it has a cluster.
#[test]
fn cluster_stops_when_its_process_is_killed() {
    if std::env::var_os(OWNER).is_some() {
        let cluster = Cluster::start_new();
        let line = format!("\nfolder {}\n", cluster.folder().display());
        // `print!` is captured by the test harness.
        std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
        loop {
            std::thread::park();
        }
    }
    let name = "postgres::tests::cluster_stops_when_its_process_is_killed";
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

/// An exited process may be listed until its parent waits for it.
fn runs(process: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(process).join("status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}
