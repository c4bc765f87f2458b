//! Tests of `session::task`.

use super::*;

fn state(text: &str) -> TaskState {
    TaskState::decode(&RawObject::open(text).unwrap())
}

#[test]
fn the_state_is_read_leniently_and_the_interval_is_bounded() {
    for (text, status, seconds) in [
        ("{}", TaskStatus::Working, 2.0),
        (r#"{"status": "dreaming", "pollInterval": 1500}"#, TaskStatus::Working, 1.5),
        (r#"{"status": "completed", "pollIntervalMs": 500.5}"#, TaskStatus::Completed, 0.5005),
        (r#"{"status": "input_required", "pollInterval": 0}"#, TaskStatus::InputRequired, 0.25),
        (r#"{"status": "failed", "pollInterval": -1e300}"#, TaskStatus::Failed, 0.25),
        (r#"{"status": "cancelled", "pollInterval": 1e300}"#, TaskStatus::Cancelled, 30.0),
        (r#"{"status": 7, "pollInterval": "soon"}"#, TaskStatus::Working, 2.0),
    ] {
        let state = state(text);
        assert_eq!((state.status, state.interval.as_secs_f64()), (status, seconds), "{text}");
    }
}

#[test]
fn a_message_is_one_part_of_what_is_shown() {
    let shown = |text| state(text).to_string();
    assert_eq!(shown(r#"{"statusMessage": " half way "}"#), "working: half way");
    assert_eq!(shown(r#"{"status": "completed", "statusMessage": " "}"#), "completed");
    let long = format!(r#"{{"statusMessage": "{}"}}"#, "x".repeat(5 * MAX_MESSAGE_BYTES));
    assert!(shown(&long).len() < MAX_MESSAGE_BYTES + 20);
}
