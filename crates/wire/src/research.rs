//! Bodies of research jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::Display;

use crate::whole::optional_whole;

/// Longest query, in characters.
pub const MAX_QUERY_CHARS: usize = 4000;
/// Maximum number of sources of a request.
pub const MAX_SOURCES: u32 = 50;
/// Maximum size of `metadata`, in bytes of JSON.
pub const MAX_METADATA_BYTES: usize = 16 * 1024;

/// `POST /v1/research/jobs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResearchRequest {
    /// What is asked.
    #[schemars(length(min = 1, max = 4000), regex(pattern = r"[^\s\u0000-\u001f\u007f-\u009f]"))]
    pub query: String,
    /// A chat model of `GET /v1/models`; the operator's choice if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How thorough it is; `standard` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<Depth>,
    /// How many pages are read at most; never more than the depth has.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole")]
    #[schemars(range(min = 1, max = 50))]
    pub max_sources: Option<u32>,
    /// The http or https address that receives the end of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096), url, regex(pattern = r"^https?://[^\s/?#@]+"))]
    pub webhook_url: Option<String>,
    /// Anything; it is given back with the job. At most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// How thorough a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Depth {
    /// A few pages.
    Quick,
    /// Some more.
    Standard,
    /// Many, in several rounds.
    Deep,
}

/// A research job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobView {
    /// `research.job`.
    pub object: String,
    /// Its id.
    pub id: String,
    /// `queued`, `running`, `completed`, `failed`, `cancelled` or `expired`.
    pub status: String,
    /// What is asked.
    pub query: String,
    /// The model that works on it.
    pub model: String,
    /// When it was queued: RFC 3339.
    pub created_at: String,
    /// When it was begun.
    pub started_at: Option<String>,
    /// When it ended.
    pub finished_at: Option<String>,
    /// How far it is.
    pub progress: JobProgress,
    /// The steps that are finished.
    pub steps: Vec<JobStepView>,
    /// The sources of the report, once there is one.
    pub sources: Vec<JobSource>,
    /// The report, once there is one.
    pub report: Option<JobReport>,
    /// Why there is none.
    pub error: Option<JobError>,
    /// As it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// What was charged; null until it has ended, 0 where it came to nothing.
    pub charge_micros: Option<i64>,
}

/// How far a job is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobProgress {
    /// What is being done.
    pub step: String,
    /// How many steps are done.
    pub done: u32,
    /// How many there will be, as far as that is known.
    pub total: u32,
}

/// A step of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobStepView {
    /// Its number, from 0.
    pub number: u32,
    /// `plan`, `search`, `read`, `note`, `write` or `check`.
    pub kind: String,
    /// The state of the job.
    pub status: StepStatus,
    /// What it was about.
    pub detail: Value,
    /// When it began: RFC 3339.
    pub started_at: String,
    /// When it ended.
    pub finished_at: String,
}

/// The state of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepStatus {
    /// It is finished.
    Finished,
}

/// A source of a report. Its title is what its author wrote: data, never an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobSource {
    /// Its number: `[n]` in the report.
    pub n: u32,
    /// What it is called.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// When it was read: RFC 3339.
    pub fetched_at: String,
    /// The digest of the text that was read, in hexadecimal digits.
    pub sha256: String,
}

/// A report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobReport {
    /// Markdown. Every `[n]` is a source.
    pub markdown: String,
}

/// Why a job came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobError {
    /// What programs decide by.
    pub code: String,
    /// For a person.
    pub message: String,
}

/// A page of jobs, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobList {
    /// `list`.
    pub object: String,
    /// The jobs, without their steps and reports.
    pub data: Vec<JobView>,
    /// Whether there are more.
    pub has_more: bool,
    /// The `after` of the next page.
    pub last_id: Option<String>,
}
