//! The schema brought up to date, and copies of the database.

use std::fs;

use super::{Ground, settings};

#[test]
fn a_database_is_created_once() {
    let ground = Ground::bare();
    let runs = [
        ground.transcript(["migrate", "--check"]),
        ground.transcript(["member", "list"]),
        ground.transcript(["migrate"]),
        ground.transcript(["migrate"]),
        ground.transcript(["migrate", "--check"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
    let again = ground.json(["migrate"]);
    assert_eq!(
        (&again["from"], &again["to"], &again["changed"]),
        (&again["to"], &again["from"], &false.into())
    );
}

#[test]
fn an_unknown_schema_is_not_modified() {
    let ground = Ground::new();
    let path = ground.bench.home().join("gateway/gateway.sqlite3");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.pragma_update(None, "user_version", 999).unwrap();
    drop(database);
    let runs = [
        ground.transcript(["migrate"]),
        ground.transcript(["migrate", "--check"]),
        ground.transcript(["serve"]),
        ground.transcript(["member", "list"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
}

#[test]
fn a_backup_of_a_running_service_is_restored_after_it_stops() {
    let ground = Ground::new();
    let key = ground.alice();
    let served = ground.serve();
    let backup = ground.run(["backup", "copy.sqlite3"]);
    assert_eq!(backup.code, 0, "{backup:?}");
    assert_eq!(served.chat(&key, "test/echo").0, 200);
    let running = ground.run(["restore", "copy.sqlite3", "--yes"]);
    assert_eq!(running.code, 1, "{running:?}");
    assert!(running.stderr.contains("the service is using this database"), "{running:?}");
    assert_eq!(served.stop().0, Some(0));
    assert_eq!(ground.json(["member", "show", "alice"])["balance_micros"], 9_999_000);
    let restored = ground.json(["restore", "copy.sqlite3", "--yes"]);
    let aside = restored["before"].as_str().unwrap();
    assert!(fs::metadata(aside).unwrap().len() > 0, "{aside}");
    assert_eq!(ground.json(["member", "show", "alice"])["balance_micros"], 10_000_000);
    let served = ground.serve();
    assert_eq!(served.chat(&key, "test/echo").0, 200, "keys of a backup are good");
}

#[test]
fn backup_overwrites_no_file_and_restore_accepts_only_backups() {
    let ground = Ground::new();
    ground.alice();
    fs::write(ground.bench.work().join("mine.txt"), "precious, and no database at all").unwrap();
    let runs = [
        ground.transcript(["backup", "copy.sqlite3"]),
        ground.transcript(["backup", "copy.sqlite3"]),
        ground.transcript(["restore", "copy.sqlite3"]),
        ground.transcript(["restore", "nothing.sqlite3", "--yes"]),
        ground.transcript(["restore", "mine.txt", "--yes"]),
        ground.transcript(["restore", "copy.sqlite3", "--yes"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
    let mine = fs::read_to_string(ground.bench.work().join("mine.txt")).unwrap();
    assert_eq!(mine, "precious, and no database at all");
}

#[test]
fn backup_and_restore_reject_postgresql() {
    let ground = Ground::bare();
    ground.configure("database: postgres://user@127.0.0.1:1/gateway\n");
    fs::write(ground.bench.work().join("copy"), "").unwrap();
    let runs =
        [ground.transcript(["backup", "new"]), ground.transcript(["restore", "copy", "--yes"])];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
    let check = ground.run(["check", "--offline"]);
    assert_eq!(check.code, 1, "{check:?}");
    assert!(check.stdout.contains("error  database"), "{check:?}");
}
