//! Calls of `good` that run as tasks.

use serde_json::{Value, json};

use super::behaviour::Behaviour;
use super::correct_server::{self, Era};

const ID: &str = "task-1";
const STATUS_FLOOD: usize = 1000;
/// The number of polls before the odd task ends.
const ODD_LOOKS: usize = 3;

pub(super) fn is_task(behaviour: Behaviour) -> bool {
    behaviour.name().starts_with("task-")
}

/// Declares tasks in the answer to the handshake.
pub(super) fn declare(behaviour: Behaviour, opened: &mut Value) {
    if is_task(behaviour) && opened["result"]["capabilities"].is_object() {
        let capabilities = &mut opened["result"]["capabilities"];
        capabilities["tasks"] = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
        capabilities["extensions"] = json!({"io.modelcontextprotocol/tasks": {}});
    }
}

/// The messages that answer a call.
pub(super) fn started(behaviour: Behaviour, era: Era, request: &Value) -> Option<Vec<Value>> {
    if !is_task(behaviour) {
        return None;
    }
    if era == Era::Legacy && request["params"]["task"].is_null() {
        return Some(vec![correct_server::error(request, -32601, "good runs as a task only")]);
    }
    let mut task = state("working", "started");
    if behaviour == Behaviour::TaskNoId {
        task["taskId"] = json!(7);
    }
    let mut messages = Vec::new();
    if behaviour == Behaviour::TaskOdd {
        let method = "notifications/tasks/status";
        messages = vec![correct_server::notification(method, &task); STATUS_FLOOD];
    }
    let result = match era {
        Era::Legacy => json!({"task": task}),
        Era::Stateless => {
            task["resultType"] = json!("task");
            task
        }
    };
    messages.push(correct_server::result(request, &result));
    Some(messages)
}

/// The answer to a request about the task; `turn` counts those of its method.
pub(super) fn answer(
    behaviour: Behaviour,
    era: Era,
    request: &Value,
    turn: usize,
    has_other_client: bool,
) -> Value {
    if !is_task(behaviour) || request["params"]["taskId"] != ID || behaviour == Behaviour::TaskGone
    {
        return correct_server::error(request, -32602, "Failed to retrieve task: Task not found");
    }
    let value = match request["method"].as_str() {
        Some("tasks/cancel") => state("cancelled", "as you wish"),
        Some("tasks/update") => json!({}),
        Some("tasks/result") => {
            return correct_server::call_with_text(era, request, "good: the task is done");
        }
        _ => match behaviour {
            Behaviour::TaskOdd if turn < ODD_LOOKS => {
                let mut odd = state("dreaming", "\u{1b}[2Jof sheep\n");
                odd["pollInterval"] = json!(-1);
                odd
            }
            Behaviour::TaskOdd => state("completed", ""),
            Behaviour::TaskOutlives if has_other_client => state("completed", "at last"),
            Behaviour::TaskAsksForever => {
                let mut asking = state("input_required", "one more question");
                asking["inputRequests"] =
                    json!({format!("question-{turn}"): correct_server::question()});
                asking
            }
            _ => state("working", "far from done"),
        },
    };
    correct_server::of_era(era, request, value)
}

fn state(status: &str, message: &str) -> Value {
    json!({
        "taskId": ID, "status": status, "statusMessage": message, "ttl": null, "ttlMs": null,
        "createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z",
        "pollInterval": 300,
    })
}
