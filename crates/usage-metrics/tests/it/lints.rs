//! Warnings for valid but suspicious packages.

use serde_json::{Value, json};
use usage_metrics::lint::{Code, Warning, lint};
use usage_metrics::package::Package;

use crate::fixtures::package_json;

fn active() -> Value {
    json!({ "name": "agent.client.active", "type": "counter", "dimensions": {}, "value": 1 })
}

fn finished(outcome: &str, end_reason: &str, termination: &str) -> Value {
    json!({
        "name": "agent.task_run.finished",
        "type": "counter",
        "value": 1,
        "dimensions": {
            "duration_bucket": "lt_1s", "end_reason": end_reason, "entrypoint": "api",
            "execution_surface": "api", "model_call_count_bucket": "0", "outcome": outcome,
            "retry_count_bucket": "0", "termination": termination, "tool_call_count_bucket": "0",
        },
    })
}

fn loaded(post_patch_state: &str, reuse_state: &str, bucket: &str) -> Value {
    json!({
        "name": "agent.skill.load.count",
        "type": "counter",
        "value": 1,
        "dimensions": {
            "post_patch_state": post_patch_state, "provenance": "local",
            "reuse_state": reuse_state, "use_count_bucket": bucket,
        },
    })
}

fn warnings(document: &Value) -> Vec<Warning> {
    let bytes = serde_json::to_vec_pretty(document).unwrap();
    lint(&bytes, &Package::read(&bytes).unwrap())
}

fn codes(document: &Value) -> Vec<(Code, String)> {
    warnings(document).into_iter().map(|warning| (warning.code, warning.pointer)).collect()
}

#[test]
fn valid_package_has_no_warning() {
    let metrics = json!([
        active(),
        finished("success", "completed", "none"),
        loaded("not_applicable", "first_use", "1"),
        loaded("no_new_patch", "reused", "gte_11"),
    ]);
    assert_eq!(warnings(&package_json(&metrics)), []);
}

#[test]
fn suspicious_periods_are_reported() {
    let with = |start: &str, end: &str, generated: &str| {
        let mut document = package_json(&json!([active()]));
        document["period_start"] = json!(start);
        document["period_end"] = json!(end);
        document["generated_at"] = json!(generated);
        codes(&document)
    };
    let (day, next) = ("2026-07-28T00:00:00Z", "2026-07-29T00:00:00Z");
    let at = |code, pointer: &str| vec![(code, pointer.to_owned())];
    assert_eq!(with(day, day, day), at(Code::L001, "/period_end"));
    assert_eq!(with(next, day, next), at(Code::L001, "/period_end"));
    assert_eq!(with(day, next, "2026-07-27T23:59:59.999Z"), at(Code::L002, "/generated_at"));
    assert_eq!(with(day, "2026-07-30T00:00:00Z", day), at(Code::L003, "/period_start"));
    assert_eq!(
        with("2026-07-28T01:00:00Z", "2026-07-29T01:00:00Z", next),
        at(Code::L003, "/period_start")
    );
    assert_eq!(with(day, "2026-07-29T00:00:00.5Z", day), at(Code::L003, "/period_start"));
    // In another time zone it is the same UTC day; a package of the current day may be early.
    assert_eq!(with("2026-07-28T02:00:00+02:00", "2026-07-29T02:00:00+02:00", day), []);
    assert_eq!(with(day, next, "2026-08-30T00:00:00Z"), []);
}

#[test]
fn repeated_counter_is_reported_with_its_line() {
    let document =
        package_json(&json!([active(), finished("success", "completed", "none"), active()]));
    let warnings = warnings(&document);
    assert_eq!(warnings.len(), 1);
    assert_eq!((warnings[0].code, &*warnings[0].pointer), (Code::L004, "/metrics/2"));
    let text = serde_json::to_string_pretty(&document).unwrap();
    let line = text.lines().nth(warnings[0].line - 1).unwrap();
    assert_eq!((line.trim(), warnings[0].column), ("{", 5));
}

#[test]
fn nine_of_225_endings_are_valid() {
    use usage_metrics::catalogue::{EndReason, TaskOutcome, Termination};
    let mut sensible = 0;
    for outcome in TaskOutcome::TEXTS {
        for reason in EndReason::TEXTS {
            for termination in Termination::TEXTS {
                let metrics = json!([finished(outcome, reason, termination)]);
                match &codes(&package_json(&metrics))[..] {
                    [] => sensible += 1,
                    [(Code::L005, pointer)] => assert_eq!(pointer, "/metrics/0"),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    assert_eq!(sensible, 9);
}

#[test]
fn impossible_skill_loads_are_reported() {
    for (state, reuse, bucket) in [
        ("not_applicable", "first_use", "2"),
        ("no_new_patch", "first_use", "1"),
        ("not_applicable", "reused", "2"),
        ("no_new_patch", "reused", "1"),
        ("reused_after_patch", "reused", "0"),
    ] {
        let found = codes(&package_json(&json!([loaded(state, reuse, bucket)])));
        assert_eq!(found, [(Code::L006, "/metrics/0".to_owned())], "{state} {reuse} {bucket}");
    }
}
