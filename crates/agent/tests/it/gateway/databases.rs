//! The schema brought up to date, and copies of the database.

use std::fs;

use super::{Fixture, settings};

#[test]
fn a_database_is_created_once() {
    let fixture = Fixture::bare();
    let runs = [
        fixture.transcript(["migrate", "--check"]),
        fixture.transcript(["member", "list"]),
        fixture.transcript(["migrate"]),
        fixture.transcript(["migrate"]),
        fixture.transcript(["migrate", "--check"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
    let again = fixture.json(["migrate"]);
    assert_eq!(
        (&again["from"], &again["to"], &again["changed"]),
        (&again["to"], &again["from"], &false.into())
    );
}

#[test]
fn an_unknown_schema_is_not_modified() {
    let fixture = Fixture::new();
    let path = fixture.agent.home().join("gateway/gateway.sqlite3");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.pragma_update(None, "user_version", 999).unwrap();
    drop(database);
    let runs = [
        fixture.transcript(["migrate"]),
        fixture.transcript(["migrate", "--check"]),
        fixture.transcript(["serve"]),
        fixture.transcript(["member", "list"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
}

#[test]
fn a_backup_of_a_running_service_is_restored_after_it_stops() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    let served = fixture.serve();
    let backup = fixture.run(["backup", "copy.sqlite3"]);
    assert_eq!(backup.code, 0, "{backup:?}");
    assert_eq!(served.chat(&key, "test/echo").0, 200);
    let running = fixture.run(["restore", "copy.sqlite3", "--yes"]);
    assert_eq!(running.code, 1, "{running:?}");
    assert!(running.stderr.contains("the service is using this database"), "{running:?}");
    assert_eq!(served.stop().0, Some(0));
    assert_eq!(fixture.json(["member", "show", "alice"])["balance_micros"], 9_999_000);
    let restored = fixture.json(["restore", "copy.sqlite3", "--yes"]);
    let aside = restored["before"].as_str().unwrap();
    assert!(fs::metadata(aside).unwrap().len() > 0, "{aside}");
    assert_eq!(fixture.json(["member", "show", "alice"])["balance_micros"], 10_000_000);
    let served = fixture.serve();
    assert_eq!(served.chat(&key, "test/echo").0, 200, "keys of a backup are good");
}

#[test]
fn backup_overwrites_no_file_and_restore_accepts_only_backups() {
    let fixture = Fixture::new();
    fixture.alice();
    fs::write(fixture.agent.work().join("mine.txt"), "precious, and no database at all").unwrap();
    let runs = [
        fixture.transcript(["backup", "copy.sqlite3"]),
        fixture.transcript(["backup", "copy.sqlite3"]),
        fixture.transcript(["restore", "copy.sqlite3"]),
        fixture.transcript(["restore", "nothing.sqlite3", "--yes"]),
        fixture.transcript(["restore", "mine.txt", "--yes"]),
        fixture.transcript(["restore", "copy.sqlite3", "--yes"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
    let mine = fs::read_to_string(fixture.agent.work().join("mine.txt")).unwrap();
    assert_eq!(mine, "precious, and no database at all");
}

#[test]
fn backup_and_restore_reject_postgresql() {
    let fixture = Fixture::bare();
    fixture.configure("database: postgres://user@127.0.0.1:1/gateway\n");
    fs::write(fixture.agent.work().join("copy"), "").unwrap();
    let runs =
        [fixture.transcript(["backup", "new"]), fixture.transcript(["restore", "copy", "--yes"])];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
    let check = fixture.run(["check", "--offline"]);
    assert_eq!(check.code, 1, "{check:?}");
    assert!(check.stdout.contains("error  database"), "{check:?}");
}
