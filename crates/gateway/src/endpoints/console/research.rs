//! Research jobs: start, progress, report, cancel.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use pages::{Frame, Html, credits};
use serde_json::json;
use wire::research::{JobSource, JobView};

use super::super::internal_call::{InternalCalls, InternalRequest};
use super::super::path::Id;
use super::context::MemberContext;
use super::page::{self, PageError, PageResult, redirect};
use crate::clock;
use crate::config::Capability;
use crate::endpoints::state::Shared;
use crate::failure::ApiError;
use crate::identity::may_use;
use crate::research::{Research, view};
use crate::upstreams::Upstreams;

const PAGE: u32 = 20;

#[derive(Template)]
#[template(path = "console/research.html")]
struct ResearchPage {
    frame: Frame,
    csrf: String,
    jobs: Vec<JobRow>,
    models: Vec<String>,
    query: String,
    next: String,
}

struct JobRow {
    id: String,
    query: String,
    model: String,
    state: Html,
    progress: String,
    created: Html,
    charge: String,
}

pub(super) async fn list(
    context: MemberContext,
    State(research): Shared<Research>,
    State(upstreams): Shared<Upstreams>,
) -> PageResult {
    jobs_page(&context, &research, &upstreams, "", None).await
}

async fn jobs_page(
    context: &MemberContext,
    research: &Research,
    upstreams: &Upstreams,
    query: &str,
    refusal: Option<ApiError>,
) -> PageResult {
    let after = Some(context.param("after")).filter(|after| !after.is_empty());
    let (jobs, has_more) = research.list(&context.caller, PAGE, after).await?;
    let now = clock::now().micros();
    let jobs: Vec<JobRow> = jobs
        .iter()
        .map(|job| {
            let created = pages::moment(job.created_at.micros(), now);
            let job = view::job(job, &[]);
            JobRow {
                state: state(&job.status),
                progress: format!("{} of {}", job.progress.done, job.progress.total),
                created,
                charge: job.charge_micros.map(credits).unwrap_or_default(),
                id: job.id,
                query: job.query,
                model: job.model,
            }
        })
        .collect();
    let catalogue = upstreams.catalogue.load();
    let models = catalogue.models().filter(|model| {
        model.is_for(Capability::Chat) && model.is_usable() && may_use(&context.caller, &model.id)
    });
    let mut frame = context.frame("Research", "/research");
    let status = refusal.as_ref().map_or(200, |error| error.code().status());
    if let Some(error) = refusal {
        frame.notice = Some(page::refused(error.message()));
    }
    let page = ResearchPage {
        frame,
        csrf: context.csrf(),
        next: if has_more { jobs.last().map(|job| job.id.clone()) } else { None }
            .unwrap_or_default(),
        jobs,
        models: models.map(|model| model.id.to_string()).collect(),
        query: query.to_owned(),
    };
    page::show_as(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), &page)
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

pub(super) async fn start(
    context: MemberContext,
    State(research): Shared<Research>,
    State(upstreams): Shared<Upstreams>,
    Extension(calls): Extension<Arc<InternalCalls>>,
    request: Request,
) -> PageResult {
    let fields = context.submitted(request).await?;
    let mut wanted = json!({"query": fields.get("query"), "depth": fields.get("depth")});
    if !fields.get("model").is_empty() {
        wanted["model"] = fields.get("model").into();
    }
    let request = InternalRequest::StartResearch(wanted.to_string().into());
    let started = match calls.send_as(&context.info, &context.caller, request).await {
        Ok(started) => started,
        Err(error) => {
            let query = fields.get("query");
            return jobs_page(&context, &research, &upstreams, query, Some(error)).await;
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
    csrf: String,
    job: JobView,
    state: Html,
    is_over: bool,
    charge: String,
    created: Html,
    steps: Vec<StepRow>,
    report: Html,
    sources: Vec<SourceRow>,
}

struct StepRow {
    kind: String,
    about: String,
    took: String,
}

struct SourceRow {
    n: u32,
    title: String,
    url: String,
    /// Whether the address may be a link.
    is_web: bool,
}

pub(super) async fn show(
    context: MemberContext,
    State(research): Shared<Research>,
    Id(id): Id,
) -> PageResult {
    let found = research.find(&context.caller, &id).await?;
    let (created_at, is_over) = (found.created_at.micros(), found.status.is_over());
    let steps = context.store().job_steps(found.id).await?;
    let took = steps.iter().map(|it| it.finished_at.micros() - it.started_at.micros());
    let took: Vec<String> = took.map(pages::duration).collect();
    let job = view::job(&found, &steps);
    let steps = job.steps.iter().zip(took).map(|(step, took)| StepRow {
        kind: step.kind.clone(),
        about: about(&step.detail),
        took,
    });
    let report = job.report.as_ref().map(|report| pages::markdown(&report.markdown));
    page::show(&JobPage {
        frame: context.frame("Research job", "/research"),
        csrf: context.csrf(),
        state: state(&job.status),
        is_over,
        charge: job.charge_micros.map(credits).unwrap_or_default(),
        created: pages::moment(created_at, clock::now().micros()),
        steps: steps.collect(),
        report: report.unwrap_or_default(),
        sources: job.sources.iter().map(source).collect(),
        job,
    })
}

/// The first text of a step's details.
fn about(detail: &serde_json::Value) -> String {
    let texts = ["query", "question", "title", "url", "note"];
    let found = texts.iter().find_map(|name| detail[name].as_str());
    found.unwrap_or_default().chars().take(200).collect()
}

fn source(source: &JobSource) -> SourceRow {
    let url = source.url.clone();
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    SourceRow { n: source.n, title: source.title.clone(), url, is_web }
}

/// The events of a job, of which the page only needs to know that there are some.
pub(super) async fn events(
    context: MemberContext,
    Extension(calls): Extension<Arc<InternalCalls>>,
    Id(id): Id,
    headers: HeaderMap,
) -> Response {
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let request = InternalRequest::ResearchEvents { id, after: last.unwrap_or(0) };
    let answered = calls.send_as(&context.info, &context.caller, request).await;
    answered.unwrap_or_else(IntoResponse::into_response)
}

pub(super) async fn cancel(
    context: MemberContext,
    State(research): Shared<Research>,
    Id(id): Id,
    request: Request,
) -> PageResult {
    context.submitted(request).await?;
    research.cancel(&context.caller, &id).await?;
    Ok(redirect(&format!("/research/{id}?done=cancelled")))
}
