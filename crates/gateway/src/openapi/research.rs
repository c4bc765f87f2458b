//! Operations of research jobs.

use schemars::json_schema;
use wire::error::Code;
use wire::research::{JobList, JobView, ResearchRequest};

use super::Verb::{Get, Post};
use super::member::{CHARGE, IDEMPOTENCY, OWN, RECEIPT, REPLAYED};
use super::{
    EVENTS, Header, Operation, Parameter, SuccessResponse, answer, events, keyed, of, returning,
    text,
};

static PLACE: Header = Header::new("location", "URL of the job.", text);

pub(crate) static CREATE: Operation = keyed(Post, "/v1/research/jobs", "startResearch")
    .describe(
        "Start a research job",
        "Queues a job and returns at once. The price is reserved first, charged when the job \
         completes, and refunded if it fails, expires or is cancelled. The job searches, reads \
         pages and writes a report in which every `[n]` refers to a source.",
    )
    .parameters(&[&IDEMPOTENCY])
    .body(of::<ResearchRequest>, r#"{"query": "Why is the sky blue?", "depth": "quick"}"#)
    .answers(&[returning::<JobView>(202, "The job.", &[&CHARGE, &RECEIPT, &REPLAYED, &PLACE])])
    .failures(&[
        Code::ModelNotFound,
        Code::ModelNotForCapability,
        Code::ScopeMissing,
        Code::ModelNotAllowed,
        Code::TargetRefused,
        Code::Conflict,
        Code::CapabilityUnavailable,
        Code::OutcomeUnknown,
    ]);

static ID: Parameter = Parameter::path("id", "Id of a research job of this member.", text)
    .example("job_0123456789abcdef0123456789abcdef");

static WAIT: Parameter = Parameter::query(
    "wait",
    "Maximum number of seconds to wait for the job to end.",
    |_| json_schema!({ "type": "integer", "minimum": 0, "maximum": 60 }),
);

static LIMIT: Parameter = Parameter::query(
    "limit",
    "Maximum number of jobs to return. Default: 20.",
    |_| json_schema!({ "type": "integer", "minimum": 1, "maximum": 100 }),
);

static AFTER: Parameter = Parameter::query(
    "after",
    "Id of the job after which the list continues: `last_id` of the previous page.",
    |_| json_schema!({ "type": "string", "pattern": "^job_[0-9a-f]{32}$" }),
);

static STARTING_AFTER: Parameter = Parameter::query(
    "starting_after",
    "Return only events after this number. Takes precedence over `Last-Event-ID`.",
    |_| json_schema!({ "type": "integer", "minimum": 0, "maximum": i64::MAX }),
);

static LAST_EVENT_ID: Parameter = Parameter::header(
    "Last-Event-ID",
    "Return only events after this number. Browsers send it when they reconnect.",
    text,
);

pub(crate) static SHOW: Operation = keyed(Get, "/v1/research/jobs/{id}", "showResearch")
    .describe(
        "Get a research job",
        "Returns the current state of a job or, with `wait`, its final state.",
    )
    .parameters(&[&ID, &WAIT])
    .answers(&[ONE])
    .failures(&[Code::InvalidRequest, Code::ScopeMissing, Code::NotFound]);

const ONE: SuccessResponse = returning::<JobView>(200, "The job.", OWN);

pub(crate) static LIST: Operation = keyed(Get, "/v1/research/jobs", "listResearch")
    .describe(
        "List research jobs",
        "Lists the member's jobs, newest first, without steps and reports.",
    )
    .parameters(&[&LIMIT, &AFTER])
    .answers(&[returning::<JobList>(200, "The jobs.", OWN)])
    .failures(&[Code::InvalidRequest, Code::ScopeMissing]);

pub(crate) static FOLLOW: Operation = keyed(Get, "/v1/research/jobs/{id}/events", "followResearch")
    .describe(
        "Stream research events",
        "Streams the past and future events of a job until it ends. The `id` of an event is its \
         number, starting at 1 without gaps.",
    )
    .parameters(&[&ID, &STARTING_AFTER, &LAST_EVENT_ID])
    .answers(&[answer(
        200,
        "Events: `queued`, `running`, `step.started`, `step.finished`, `step.failed`, \
                      and one of `completed`, `failed`, `cancelled`, `expired`.",
        &[(EVENTS, events)],
        OWN,
    )])
    .failures(&[Code::InvalidRequest, Code::ScopeMissing, Code::NotFound]);

pub(crate) static CANCEL: Operation =
    keyed(Post, "/v1/research/jobs/{id}/cancel", "cancelResearch")
        .describe(
            "Cancel a research job",
            "Cancels a job at once; it is not charged. A job that has ended is not changed.",
        )
        .parameters(&[&ID])
        .answers(&[ONE])
        .failures(&[Code::ScopeMissing, Code::NotFound]);
