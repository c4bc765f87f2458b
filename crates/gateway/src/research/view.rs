//! Jobs and events in the API.

use gateway_store::{JobEvent, JobStep, ResearchJob};
use ledger::Time;
use serde_json::{Value, json};
use wire::research::{JobProgress, JobReport, JobSource, JobStepView, JobView, StepStatus};

use super::job_id;
use crate::clock;

pub(crate) fn job(job: &ResearchJob, steps: &[JobStep]) -> JobView {
    let moment = |at: Option<Time>| at.map(clock::rfc3339);
    let result: Value = parsed(job.result.as_deref());
    let request: Value = parsed(Some(&job.request));
    let markdown = result["report"]["markdown"].as_str().map(str::to_owned);
    let metadata = request.get("metadata").filter(|metadata| !metadata.is_null()).cloned();
    JobView {
        object: "research.job".to_owned(),
        id: job_id(job.id),
        status: job.status.as_str().to_owned(),
        query: job.query.clone(),
        model: job.model.clone(),
        created_at: clock::rfc3339(job.created_at),
        started_at: moment(job.started_at),
        finished_at: moment(job.finished_at),
        progress: JobProgress {
            step: job.progress.step.clone(),
            done: job.progress.done,
            total: job.progress.total.max(job.progress.done),
        },
        steps: steps.iter().map(step).collect(),
        sources: sources(&result),
        report: markdown.map(|markdown| JobReport { markdown }),
        error: job.error.as_deref().and_then(|error| serde_json::from_slice(error).ok()),
        metadata,
        charge_micros: job.charged.map(ledger::Micros::get),
    }
}

fn parsed(bytes: Option<&[u8]>) -> Value {
    bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
}

fn sources(result: &Value) -> Vec<JobSource> {
    serde_json::from_value(result["sources"].clone()).unwrap_or_default()
}

fn step(step: &JobStep) -> JobStepView {
    JobStepView {
        number: step.number,
        kind: step.kind.clone(),
        status: StepStatus::Finished,
        detail: parsed(Some(&step.detail)),
        started_at: clock::rfc3339(step.started_at),
        finished_at: clock::rfc3339(step.finished_at),
    }
}

/// An event of the stream; its sequence number is its id.
pub(crate) fn event(id: &str, event: &JobEvent) -> Vec<u8> {
    let mut data = match parsed(Some(&event.data)) {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    };
    data.insert("type".to_owned(), json!(event.kind));
    data.insert("job".to_owned(), json!(id));
    data.insert("sequence_number".to_owned(), json!(event.sequence));
    data.insert("at".to_owned(), json!(clock::rfc3339(event.at)));
    let data = Value::Object(data);
    format!("id: {}\nevent: {}\ndata: {data}\n\n", event.sequence, event.kind).into_bytes()
}
