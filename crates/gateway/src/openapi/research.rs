//! Operations of research jobs.

use schemars::{Schema, SchemaGenerator, json_schema};
use wire::error::Code;
use wire::research::{JobList, JobView, ResearchRequest};

use super::member::{CHARGE, IDEMPOTENCY, OWN, RECEIPT, REPLAYED};
use super::{
    EVENTS, Header, JSON, Operation, PLAIN, Parameter, ParameterLocation, SuccessResponse, Verb,
    answer, events, json_body, of, text,
};

static PLACE: Header = Header { name: "location", description: "URL of the job.", schema: text };

/// `POST /v1/research/jobs`.
pub(crate) static CREATE: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/research/jobs",
    id: "startResearch",
    summary: "Start a research job",
    description: "Queues a job and returns at once. The price is reserved first, charged when the \
                  job completes, and refunded if it fails, expires or is cancelled. The job \
                  searches, reads pages and writes a report in which every `[n]` refers to a \
                  source.",
    parameters: &[&IDEMPOTENCY],
    body: Some(json_body(
        of::<ResearchRequest>,
        r#"{"query": "Why is the sky blue?", "depth": "quick"}"#,
    )),
    answers: &[answer(
        202,
        "The job.",
        &[(JSON, of::<JobView>)],
        &[&CHARGE, &RECEIPT, &REPLAYED, &PLACE],
    )],
    failures: &[
        Code::InvalidJson,
        Code::InvalidRequest,
        Code::ModelNotFound,
        Code::ModelNotForCapability,
        Code::ScopeMissing,
        Code::ModelNotAllowed,
        Code::TargetRefused,
        Code::BodyTimeout,
        Code::IdempotencyInProgress,
        Code::Conflict,
        Code::BodyTooLarge,
        Code::IdempotencyMismatch,
        Code::CapabilityUnavailable,
        Code::OutcomeUnknown,
    ],
    ..PLAIN
};

static ID: Parameter = Parameter {
    location: ParameterLocation::Path,
    name: "id",
    description: "Id of a research job of this member.",
    schema: text,
    example: "job_0123456789abcdef0123456789abcdef",
};

static WAIT: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "wait",
    description: "Maximum number of seconds to wait for the job to end.",
    schema: wait,
    example: "",
};

static LIMIT: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "limit",
    description: "Maximum number of jobs to return. Default: 20.",
    schema: limit,
    example: "",
};

static AFTER: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "after",
    description: "Id of the job after which the list continues: `last_id` of the previous page.",
    schema: job,
    example: "",
};

static STARTING_AFTER: Parameter = Parameter {
    location: ParameterLocation::Query,
    name: "starting_after",
    description: "Return only events after this number. Takes precedence over `Last-Event-ID`.",
    schema: sequence_number,
    example: "",
};

static LAST_EVENT_ID: Parameter = Parameter {
    location: ParameterLocation::Header,
    name: "Last-Event-ID",
    description: "Return only events after this number. Browsers send it when they reconnect.",
    schema: text,
    example: "",
};

/// `GET /v1/research/jobs/{id}`.
pub(crate) static SHOW: Operation = Operation {
    path: "/v1/research/jobs/{id}",
    id: "showResearch",
    summary: "Get a research job",
    description: "Returns the current state of a job or, with `wait`, its final state.",
    parameters: &[&ID, &WAIT],
    answers: &[ONE],
    failures: &[Code::InvalidRequest, Code::ScopeMissing, Code::NotFound],
    ..PLAIN
};

const ONE: SuccessResponse = answer(200, "The job.", &[(JSON, of::<JobView>)], OWN);

/// `GET /v1/research/jobs`.
pub(crate) static LIST: Operation = Operation {
    path: "/v1/research/jobs",
    id: "listResearch",
    summary: "List research jobs",
    description: "Lists the member's jobs, newest first, without steps and reports.",
    parameters: &[&LIMIT, &AFTER],
    answers: &[answer(200, "The jobs.", &[(JSON, of::<JobList>)], OWN)],
    failures: &[Code::InvalidRequest, Code::ScopeMissing],
    ..PLAIN
};

/// `GET /v1/research/jobs/{id}/events`.
pub(crate) static FOLLOW: Operation = Operation {
    path: "/v1/research/jobs/{id}/events",
    id: "followResearch",
    summary: "Stream research events",
    description: "Streams the past and future events of a job until it ends. The `id` of an event \
                  is its number, starting at 1 without gaps.",
    parameters: &[&ID, &STARTING_AFTER, &LAST_EVENT_ID],
    answers: &[answer(
        200,
        "Events: `queued`, `running`, `step.started`, `step.finished`, `step.failed`, \
                      and one of `completed`, `failed`, `cancelled`, `expired`.",
        &[(EVENTS, events)],
        OWN,
    )],
    failures: &[Code::InvalidRequest, Code::ScopeMissing, Code::NotFound],
    ..PLAIN
};

/// `POST /v1/research/jobs/{id}/cancel`.
pub(crate) static CANCEL: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/research/jobs/{id}/cancel",
    id: "cancelResearch",
    summary: "Cancel a research job",
    description: "Cancels a job at once; it is not charged. A job that has ended is not changed.",
    parameters: &[&ID],
    answers: &[ONE],
    failures: &[Code::ScopeMissing, Code::NotFound],
    ..PLAIN
};

fn wait(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 0, "maximum": 60 })
}

fn limit(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 1, "maximum": 100 })
}

fn sequence_number(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 0, "maximum": i64::MAX })
}

fn job(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^job_[0-9a-f]{32}$" })
}
