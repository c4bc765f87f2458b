//! Recording is a person's choice, and everything about it is documented.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

use agent_test_support::command::{ProgramOutput, TestHome};
use agent_test_support::disk::SmallDisk;
use serde_json::Value;
use usage_metrics::clock::{Clock, SystemClock};
use usage_metrics::recorder::{FlushResult, Recorder, Settings};
use usage_metrics::store::{CounterBatch, Store, StoreFolder};
use uuid::Uuid;

use crate::command_line::agent;
use crate::packages::{fill, resource};

fn status(agent: &TestHome) -> Value {
    let run = agent.run(["metrics", "status", "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

fn redacted(agent: &TestHome, run: &ProgramOutput) -> String {
    let home = agent.home().display().to_string();
    let text = run.transcript().replace(&home, "[home]");
    // Ids and sizes differ from run to run.
    text.lines()
        .map(|line| match line.trim_start() {
            row if row.starts_with("install id") => "  install id    [id] (local only)",
            row if row.starts_with("size") => "  size          [size] kB",
            _ => line,
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn no_file_is_created_before_metrics_are_enabled() {
    let agent = agent();
    for command in [
        vec!["metrics", "status"],
        vec!["metrics", "show"],
        vec!["metrics", "package"],
        vec!["metrics", "export"],
        vec!["metrics", "reset-id"],
        vec!["metrics", "off"],
        vec!["metrics", "off", "--purge"],
        vec!["metrics", "view", "--no-open"],
    ] {
        agent.run(command);
    }
    assert!(!agent.home().exists());
    insta::assert_snapshot!(redacted(&agent, &agent.run(["metrics", "status"])), @"
    exit code: 0
    ----- stdout -----
    Recording is off: this is the default.
    Nothing leaves this machine: metrics are never uploaded.
    Nothing is stored in [home]/metrics.
    ----- stderr -----
    ");
}

#[test]
fn metrics_are_enabled_shown_disabled_and_purged() {
    let agent = agent();
    insta::assert_snapshot!(redacted(&agent, &agent.run(["metrics", "on"])), @r"
    exit code: 0
    ----- stdout -----
    Recording is on. Counters are kept in [home]/metrics and never leave this machine.
    Show them with `agent metrics show`; stop recording with `agent metrics off`.
    ----- stderr -----
    ");
    assert_eq!(
        fs::read_to_string(agent.home().join("config.yaml")).unwrap(),
        "metrics:\n  mode: local\n"
    );
    fill(&agent);
    insta::assert_snapshot!(redacted(&agent, &agent.run(["metrics", "status"])), @"
    exit code: 0
    ----- stdout -----
    Recording is on: set in the configuration.
    Nothing leaves this machine: metrics are never uploaded.
      folder        [home]/metrics
      install id    [id] (local only)
      counted       12 in 4 counters from 2026-07-28 to 2026-07-29
      not packaged  12
      packages      0 in [home]/metrics/outbox
      kept for      30 days
      size          [size] kB
    New counts are for version 0.1.0 on linux x86_64, installed by git.
    ----- stderr -----
    ");
    insta::assert_snapshot!(redacted(&agent, &agent.run(["metrics", "off"])), @r"
    exit code: 0
    ----- stdout -----
    Recording is off. Recorded data remains in [home]/metrics; remove it with `agent metrics off --purge`.
    ----- stderr -----
    ");
    assert_eq!(status(&agent)["mode"], "off");
    assert_eq!(status(&agent)["holds"]["counted"], 12);
    insta::assert_snapshot!(redacted(&agent, &agent.run(["metrics", "off", "--purge"])), @r"
    exit code: 0
    ----- stdout -----
    Recording is off. Everything in [home]/metrics was removed.
    ----- stderr -----
    ");
    assert!(!agent.home().join("metrics").exists());
}

#[test]
fn environment_disables_metrics_and_status_names_the_rule() {
    let agent = agent();
    agent.run(["metrics", "on"]);
    for (name, value, mode, rule) in [
        ("DO_NOT_TRACK", "1", "off", "the environment variable DO_NOT_TRACK is set"),
        ("DO_NOT_TRACK", "TRUE", "off", "the environment variable DO_NOT_TRACK is set"),
        ("DO_NOT_TRACK", "0", "local", "set in the configuration"),
        ("CI", "true", "off", "the environment variable CI indicates an unattended run"),
        ("CI", "", "local", "set in the configuration"),
    ] {
        let mut command = agent.command(["metrics", "status", "--json"]);
        let run = ProgramOutput::of(command.env(name, value), b"");
        let status: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(
            (&status["mode"], &status["rule"]),
            (&mode.into(), &rule.into()),
            "{name}={value}"
        );
    }
}

#[test]
fn configuration_comments_are_kept_and_errors_name_their_line() {
    let agent = agent();
    fs::create_dir_all(agent.home()).unwrap();
    let path = agent.home().join("config.yaml");
    let text = "# my settings\nmodel: gpt\nmetrics: # counters\n  retention_days: 7 # a week\n  mode: off\n";
    fs::write(&path, text).unwrap();
    assert_eq!(agent.run(["metrics", "on"]).code, 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), text.replace("mode: off", "mode: local"));
    assert_eq!(status(&agent)["retention_days"], 7);

    for (text, transcript) in [
        (
            "metrics:\n  mode: loud\n",
            "[home]/config.yaml:2: `metrics.mode` must be one of `off`, `local`, found `loud`",
        ),
        (
            "\nmetrics:\n  retention_days: 0\n",
            "[home]/config.yaml:3: `metrics.retention_days` must be a whole number from 1 to 365",
        ),
        ("metrics:\n  mood: off\n", "invalid configuration at [home]/config.yaml:2:3"),
        ("metrics: [\n", "invalid configuration at [home]/config.yaml:"),
    ] {
        fs::write(&path, text).unwrap();
        let run = agent.run(["metrics", "status"]);
        assert_eq!(run.code, 3, "{text}");
        let told = redacted(&agent, &run);
        assert!(told.contains(transcript), "{text}\n{told}");
    }
}

#[test]
fn reset_id_creates_a_new_installation_id() {
    let agent = agent();
    agent.run(["metrics", "on"]);
    let before = status(&agent)["holds"]["install_id"].clone();
    let told = agent.run(["metrics", "reset-id"]).stdout;
    let after = status(&agent)["holds"]["install_id"].clone();
    assert_ne!(before, after);
    assert_eq!(told.trim(), after);
}

#[test]
fn status_reports_a_damaged_full_or_read_only_store() {
    let agent = agent();
    agent.run(["metrics", "on"]);
    fill(&agent);
    fs::write(agent.home().join("metrics/metrics.sqlite3"), "no database").unwrap();
    let run = agent.run(["metrics", "status"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("/metrics: the store is corrupt"), "{}", run.stdout);
    assert_eq!(status(&agent)["trouble"]["kind"], "damaged");
    // Turning it on again starts anew and says what became of the old one.
    assert_eq!(agent.run(["metrics", "on"]).code, 0);
    let run = agent.run(["metrics", "status"]);
    assert!(run.stdout.contains("A damaged store was set aside: "), "{}", run.stdout);

    let disk = SmallDisk::mount(512 * 1024);
    let on_disk = |arguments: &[&str]| {
        let mut command = agent.command(arguments);
        ProgramOutput::of(command.env("AGENT_HOME", disk.path().join("home")), b"")
    };
    assert_eq!(on_disk(&["metrics", "on"]).code, 0);
    let ballast = disk.fill();
    let run = on_disk(&["metrics", "status"]);
    assert!(run.stdout.contains("Cannot write the store: the disk is full"), "{run:?}");
    fs::remove_file(ballast).unwrap();
    disk.make_read_only();
    let run = on_disk(&["metrics", "status"]);
    // Either the database or the file system says so first.
    assert!(run.stdout.contains("Cannot write the store: "), "{run:?}");
    assert!(run.stdout.to_lowercase().contains("read-only"), "{run:?}");
    let run = on_disk(&["metrics", "package"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("hint: make the folder writable"), "{run:?}");
}

#[test]
fn off_stops_running_recorders_and_on_resumes_them() {
    let agent = agent();
    agent.run(["metrics", "on"]);
    let folder = StoreFolder::new(agent.home().join("metrics"));
    let start = || {
        Recorder::start(Settings::new(
            folder.clone(),
            resource(),
            Arc::new(SystemClock),
            Uuid::new_v4,
        ))
    };
    let wait = Duration::from_secs(30);
    let running = start();
    running.count_route("before", "lab");
    assert_eq!(running.flush(wait), FlushResult::Stored);
    assert_eq!(agent.run(["metrics", "off"]).code, 0);
    running.count_route("during", "lab");
    assert_eq!(running.flush(wait), FlushResult::Stored, "nothing is left to keep");
    assert_eq!(agent.run(["metrics", "on"]).code, 0);
    // What it would still keep would be stored now.
    assert_eq!(running.close(wait), FlushResult::Stored);
    let again = start();
    again.count_route("after", "lab");
    assert_eq!(again.close(wait), FlushResult::Stored);
    let shown = agent.run(["metrics", "show"]).stdout;
    assert!(
        shown.contains("before") && shown.contains("after") && !shown.contains("during"),
        "{shown}"
    );
}

#[test]
fn uncounted_events_are_reported() {
    let agent = agent();
    agent.run(["metrics", "on"]);
    let folder = StoreFolder::new(agent.home().join("metrics"));
    let mut store = Store::existing(&folder, Uuid::new_v4).unwrap().unwrap();
    let at = SystemClock.now();
    store
        .add(&[CounterBatch {
            at,
            resource: resource(),
            counts: BTreeMap::new(),
            active: false,
            lost: 7,
        }])
        .unwrap();
    drop(store);
    assert_eq!(status(&agent)["holds"]["lost"], 7);
    let told = agent.run(["metrics", "status"]).stdout;
    assert!(told.contains("7 events could not be counted"), "{told}");
}

#[test]
fn an_oversized_configuration_is_rejected() {
    let agent = agent();
    fs::create_dir_all(agent.home()).unwrap();
    fs::write(agent.home().join("config.yaml"), "#".repeat(4 * 1024 * 1024 + 1)).unwrap();
    let run = agent.run(["metrics", "status"]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("is larger than 4194304 bytes"), "{}", run.stderr);
}

#[test]
fn install_method_can_be_set_by_a_variable() {
    let agent = agent();
    assert_eq!(status(&agent)["resource"]["install_method"], "git", "it lies in a build folder");
    let mut command = agent.command(["metrics", "status", "--json"]);
    let run = ProgramOutput::of(command.env("AGENT_INSTALL_METHOD", "homebrew"), b"");
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(told["resource"]["install_method"], "homebrew");
}

#[test]
fn off_and_purge_work_with_an_invalid_configuration() {
    let agent = agent();
    agent.run(["metrics", "on"]);
    fill(&agent);
    fs::write(agent.home().join("config.yaml"), "metrics:\n  mode: lokal\n").unwrap();
    let run = agent.run(["metrics", "off", "--purge"]);
    assert_eq!(run.code, 3, "the mistake is still told");
    assert!(!agent.home().join("metrics").exists(), "but the data is gone");
}

#[test]
fn on_creates_nothing_if_the_configuration_is_not_editable() {
    let agent = agent();
    fs::create_dir_all(agent.home()).unwrap();
    let aliased = "other: &off {mode: off}\nmetrics: *off\n";
    fs::write(agent.home().join("config.yaml"), aliased).unwrap();
    let run = agent.run(["metrics", "on"]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("hint: set `mode: local` under `metrics:` yourself"), "{run:?}");
    assert!(!agent.home().join("metrics").exists());
}

#[test]
fn on_edits_a_configuration_in_flow_style() {
    let agent = agent();
    fs::create_dir_all(agent.home()).unwrap();
    let file = agent.home().join("config.yaml");
    fs::write(&file, "{model: x}\n").unwrap();
    assert_eq!(agent.run(["metrics", "on"]).code, 0);
    let edited = fs::read_to_string(file).unwrap();
    assert_eq!(edited, "{\"metrics\": {\"mode\":\"local\"}, model: x}\n");
}

#[test]
fn a_symlinked_configuration_remains_a_symlink() {
    let agent = agent();
    fs::create_dir_all(agent.home()).unwrap();
    let real = agent.work().join("dotfiles.yaml");
    fs::write(&real, "model: x\n").unwrap();
    let link = agent.home().join("config.yaml");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert_eq!(agent.run(["metrics", "on"]).code, 0);
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(real).unwrap(), "model: x\nmetrics:\n  mode: local\n");
}

#[test]
fn non_utf8_variables_are_accepted() {
    let agent = agent();
    agent.run(["metrics", "on"]);
    let odd = OsStr::from_bytes(b"\xff");
    let mut command = agent.command(["metrics", "status", "--json"]);
    let run = ProgramOutput::of(command.env("CI", odd), b"");
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(told["mode"], "off");
    let home = agent.work().join(odd);
    let mut command = agent.command(["metrics", "on"]);
    assert_eq!(ProgramOutput::of(command.env("AGENT_HOME", &home), b"").code, 0);
    assert!(home.join("metrics").is_dir());
}
