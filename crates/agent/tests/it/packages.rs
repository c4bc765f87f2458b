//! Packages made, shown, merged and exported.

use std::collections::BTreeMap;
use std::fs;

use agent_test_support::command::TestHome;
use serde_json::Value;
use usage_metrics::catalogue::{
    ApprovalOutcome, Architecture, Attribution, Cell, InstallMethod, OsFamily, ToolApproval,
};
use usage_metrics::clock::Timestamp;
use usage_metrics::package::{Counter, Resource};
use usage_metrics::store::{CounterBatch, Store, StoreFolder};
use uuid::Uuid;

use crate::command_line::agent;

/// What the tests count on.
pub(crate) fn resource() -> Resource {
    Resource {
        agent_version: "1.0".to_owned(),
        architecture: Architecture::X86_64,
        install_method: InstallMethod::Git,
        os_family: OsFamily::Linux,
    }
}

/// Counts 12 events on two days, as a recorder would.
pub(crate) fn fill(agent: &TestHome) {
    let noon = Timestamp::from_ms(1_785_240_000_000);
    let folder = StoreFolder::new(agent.home().join("metrics"));
    let mut store = Store::open(&folder, noon, Uuid::new_v4).unwrap();
    let denied = Counter::Cell(Cell::of(&ToolApproval {
        attribution: Attribution::ToolCall,
        outcome: ApprovalOutcome::Denied,
    }));
    let route = Counter::Route { model: "gpt-5".to_owned(), provider: "lab".to_owned() };
    let batch = |days: i64, counts| CounterBatch {
        at: Timestamp::from_ms(noon.as_ms() + days * 86_400_000),
        resource: resource(),
        counts,
        active: days == 0,
        lost: 0,
    };
    let first = batch(0, BTreeMap::from([(route.clone(), 3), (denied, 2)]));
    store.add(&[first, batch(1, BTreeMap::from([(route, 6)]))]).unwrap();
}

fn filled() -> TestHome {
    let agent = agent();
    assert_eq!(agent.run(["metrics", "on"]).code, 0);
    fill(&agent);
    agent
}

#[test]
fn show_prints_exactly_the_bytes_that_package_writes() {
    let agent = filled();
    let shown = agent.run(["metrics", "show"]);
    assert_eq!(shown.code, 0);
    assert_eq!(shown.stderr, "this is the first of 2 packages; print all of them with `--all`\n");
    let all = agent.run(["metrics", "show", "--all"]);
    assert!(all.stdout.starts_with(&shown.stdout));

    let made = agent.run(["metrics", "package", "--json"]);
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    let files: Vec<_> = made["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["file"].as_str().unwrap())
        .collect();
    let written: Vec<_> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    assert_eq!(written[0], shown.stdout);
    assert_eq!(written.concat(), all.stdout);
    assert_eq!(fs::read_dir(agent.home().join("metrics/outbox")).unwrap().count(), 2);

    let again = agent.run(["metrics", "package"]);
    assert_eq!((again.code, &*again.stdout), (0, ""));
    assert_eq!(
        again.stderr,
        "Nothing was counted since the last package. See what is recorded with `agent metrics status`.\n"
    );
    assert_eq!(agent.run(["metrics", "validate", "agent-home/metrics/outbox"]).code, 0);
}

#[test]
fn a_missing_outbox_file_is_rewritten() {
    let agent = filled();
    let made = agent.run(["metrics", "package"]).stdout;
    let path = made.lines().next().unwrap().split_once(' ').unwrap().1;
    let before = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    let again = agent.run(["metrics", "package"]);
    assert!(again.stderr.contains("1 missing files were written again"), "{}", again.stderr);
    assert_eq!(fs::read(path).unwrap(), before);
}

#[test]
fn merge_sums_files_folders_and_stdin() {
    let agent = filled();
    let first = agent.run(["metrics", "show"]).stdout;
    agent.run(["metrics", "package"]);
    fill(&agent);
    agent.run(["metrics", "package"]);
    let merged = agent.run(["metrics", "merge", "agent-home/metrics/outbox"]);
    assert_eq!(merged.code, 0);
    assert_eq!(merged.stderr, "merged 4 packages into 2\n");
    let day: Value = serde_json::from_str(merged.stdout.lines().next().unwrap()).unwrap();
    let values: Vec<_> =
        day["metrics"].as_array().unwrap().iter().map(|it| it["value"].as_u64().unwrap()).collect();
    assert_eq!(values, [1, 6, 4], "active once, the rest doubled");

    // The same package from a file and from standard input counts once.
    fs::write(agent.work().join("one.json"), &first).unwrap();
    let once = agent.run_with_input(["metrics", "merge", "-", "one.json"], first.as_bytes());
    assert_eq!((once.code, &once.stdout), (0, &first));

    fs::write(agent.work().join("bad.json"), first.replace("counter", "gauge")).unwrap();
    let refused = agent.run(["metrics", "merge", "one.json", "bad.json"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("error: cannot use bad.json (line 1)"), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("see the errors with `agent metrics validate bad.json`"),
        "{}",
        refused.stderr
    );
}

#[test]
fn export_supports_every_format() {
    let agent = filled();
    agent.run(["metrics", "package"]);
    fill(&agent);
    for (format, needle) in [
        ("json", "\"schema_version\": \"agent.shared_metrics.v2\""),
        ("ndjson", "{\"generated_at\":\"2026-07-28T12:00:00Z\""),
        ("csv", ",agent.model_route.count,"),
        (
            "prometheus",
            "agent_model_route_count_total{model=\"gpt-5\",provider=\"lab\",agent_version=\"1.0\",architecture=\"x86_64\",install_method=\"git\",os_family=\"linux\"} 18\n",
        ),
        ("otlp", "\"aggregationTemporality\": 1"),
    ] {
        let run = agent.run(["metrics", "export", "--format", format]);
        assert_eq!((run.code, &*run.stderr), (0, ""), "{format}");
        assert!(run.stdout.contains(needle), "{format}\n{}", run.stdout);
    }
    let files = agent.run(["metrics", "export", "-f", "prometheus", "agent-home/metrics/outbox"]);
    assert!(files.stdout.contains("} 9\n"), "{}", files.stdout);
}

#[test]
fn catalogue_and_schema_are_printed_as_text_and_json() {
    let agent = agent();
    let text = agent.run(["metrics", "catalogue"]).stdout;
    assert!(text.contains("agent.tool_call.count One call of a tool."), "{text}");
    let json: Value =
        serde_json::from_str(&agent.run(["metrics", "catalogue", "--json"]).stdout).unwrap();
    assert_eq!(json["kinds"].as_array().unwrap().len(), 9);
    let markdown = agent.run(["metrics", "catalogue", "--format", "markdown"]).stdout;
    assert_eq!(markdown, usage_metrics::catalogue::markdown());
    let schema: Value = serde_json::from_str(&agent.run(["metrics", "schema"]).stdout).unwrap();
    assert_eq!(schema, usage_metrics::schema::json_schema());
}
