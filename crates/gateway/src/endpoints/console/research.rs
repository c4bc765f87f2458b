//! Research jobs: start, progress, report, cancel.

use askama::Template;
use axum::extract::Request;
use gateway_store::JobStep;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use ledger::Time;
use pages::{Frame, Html};
use serde_json::json;
use wire::research::{JobStepView, JobView};

use super::super::Id;
use super::super::internal_call::{get, job_address, post};
use super::context::MemberContext;
use super::filters;
use super::models::chat_models;
use super::page::{self, PageError, PageResult, Pager, Refusal, redirect};
use crate::catalogue::Model;
use crate::failure::{ApiError, ApiResult};
use crate::research::view;

const PAGE: u32 = 20;

#[derive(Template)]
#[template(path = "console/research.html")]
struct ResearchPage<'a> {
    frame: Frame,
    jobs: Vec<(JobView, Time)>,
    models: Vec<&'a Model>,
    query: &'a str,
    pager: Pager,
}

pub(super) async fn list(context: MemberContext) -> PageResult {
    jobs_page(&context, "", None).await
}

async fn jobs_page(context: &MemberContext, query: &str, refusal: Option<ApiError>) -> PageResult {
    let after = Some(context.param("after")).filter(|after| !after.is_empty());
    let research = &context.service.research;
    let (jobs, has_more) = research.list(&context.who.caller, PAGE, after).await?;
    let jobs: Vec<_> = jobs.iter().map(|job| (view::job(job, &[]), job.created_at)).collect();
    let next = jobs.last().filter(|_| has_more).map(|(job, _)| job.id.clone());
    let catalogue = context.service.upstreams.catalogue.load();
    let refusal = refusal.map(|error| {
        let status = StatusCode::from_u16(error.code().status());
        let status = status.unwrap_or(StatusCode::BAD_REQUEST);
        Refusal { status, ..Refusal::new("", error.message()) }
    });
    let (frame, status) = context.form_frame("Research", "/research", refusal);
    let page = ResearchPage {
        frame,
        jobs,
        models: chat_models(&catalogue, &context.who.caller).collect(),
        query,
        pager: context.pager_to(next),
    };
    page::show_as(status, &page)
}

fn state(status: &str) -> Html {
    let kind = match status {
        "completed" => "good",
        "failed" | "expired" => "bad",
        "running" | "queued" => "warn",
        _ => "plain",
    };
    pages::tag(kind, status)
}

pub(super) async fn start(context: MemberContext, request: Request) -> PageResult {
    let fields = context.submitted(request).await?;
    let mut wanted = json!({"query": fields.get("query"), "depth": fields.get("depth")});
    if !fields.get("model").is_empty() {
        wanted["model"] = fields.get("model").into();
    }
    let request = post("/v1/research/jobs", wanted.to_string())?;
    let started = match context.send(request).await {
        Ok(started) => started,
        Err(error) => {
            return jobs_page(&context, fields.get("query"), Some(error)).await;
        }
    };
    let body = started.into_body().collect().await.map_err(|_| PageError::internal())?;
    let job: JobView =
        serde_json::from_slice(&body.to_bytes()).map_err(|_| PageError::internal())?;
    Ok(redirect(&format!("/research/{}", job.id)))
}

#[derive(Template)]
#[template(path = "console/research_job.html")]
struct JobPage {
    frame: Frame,
    job: JobView,
    created_at: Time,
    is_over: bool,
    /// Kind, subject and duration of each step.
    steps: Vec<(String, String, String)>,
}

pub(super) async fn show(context: MemberContext, Id(id): Id) -> PageResult {
    let found = context.service.research.find(&context.who.caller, &id).await?;
    let steps = context.store().job_steps(found.id).await?;
    let job = view::job(&found, &steps);
    let step = |(step, it): (&JobStepView, &JobStep)| {
        let took = it.finished_at.micros() - it.started_at.micros();
        (step.kind.clone(), about(&step.detail), pages::duration(took))
    };
    page::show(&JobPage {
        frame: context.frame("Research job", "/research"),
        steps: job.steps.iter().zip(&steps).map(step).collect(),
        created_at: found.created_at,
        is_over: found.status.is_over(),
        job,
    })
}

/// The first text of a step's details.
fn about(detail: &serde_json::Value) -> String {
    let texts = ["query", "question", "title", "url", "note"];
    let found = texts.iter().find_map(|name| detail[name].as_str());
    found.unwrap_or_default().chars().take(200).collect()
}

/// Whether an address may be a link.
fn is_web(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

/// The events of a job; the page only needs the notification.
pub(super) async fn events(context: MemberContext, Id(id): Id, headers: HeaderMap) -> ApiResult {
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let after: i64 = last.unwrap_or(0);
    context.send(get(&format!("{}/events?starting_after={after}", job_address(&id)))?).await
}

pub(super) async fn cancel(context: MemberContext, Id(id): Id, request: Request) -> PageResult {
    context.submitted(request).await?;
    context.service.research.cancel(&context.who.caller, &id).await?;
    Ok(redirect(&format!("/research/{id}?done=cancelled")))
}
