//! What is stored on this machine: approvals, skills and model files.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use pages::{Frame, Html, redirect};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::access::Submitted;
use crate::job_page;
use crate::page::{Viewer, show};
use crate::program::CommandError;
use crate::state::{App, Shared};

#[derive(Debug, Deserialize)]
struct Approval {
    server: String,
    tool: String,
}

#[derive(Template)]
#[template(path = "approvals.html")]
struct ApprovalsPage {
    frame: Frame,
    csrf: String,
    rows: Vec<Approval>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Skill {
    name: String,
    description: String,
    from: String,
    path: String,
    state: String,
    uses: u64,
    body: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SkillProblem {
    path: String,
    reason: String,
}

#[derive(Template)]
#[template(path = "skills.html")]
struct SkillsPage {
    frame: Frame,
    csrf: String,
    rows: Vec<Skill>,
    problems: Vec<SkillProblem>,
    archived: Vec<String>,
}

#[derive(Template)]
#[template(path = "skill.html")]
struct SkillPage {
    frame: Frame,
    skill: Skill,
    body: Html,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ModelFile {
    name: String,
    title: Option<String>,
    licence: Option<String>,
    bytes: Option<u64>,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "models.html")]
struct ModelsPage {
    frame: Frame,
    csrf: String,
    folder: String,
    models: Vec<ModelFile>,
    fetchable: Vec<ModelFile>,
}

impl ModelFile {
    fn size(&self) -> String {
        self.bytes.map_or(String::new(), pages::bytes)
    }
}

fn list<T: DeserializeOwned>(value: &mut Value, name: &str) -> Result<Vec<T>, CommandError> {
    let rows = Vec::deserialize(value[name].take());
    rows.map_err(|error| CommandError::new(error.to_string()))
}

pub(crate) async fn approvals(State(app): Shared, viewer: Viewer) -> Response {
    let read = app.program.json(&["mcp", "approvals"]).await;
    match read.and_then(|mut value| list(&mut value, "approvals")) {
        Ok(rows) => {
            let frame = viewer.frame(&app, "Approvals", "/approvals");
            show(&ApprovalsPage { frame, csrf: viewer.csrf, rows })
        }
        Err(error) => viewer.problem(&app, "/approvals", error),
    }
}

pub(crate) async fn revoke(
    State(app): Shared,
    viewer: Viewer,
    Extension(Submitted(fields)): Extension<Submitted>,
) -> Response {
    let what = format!("--revoke={}/{}", fields.get("server"), fields.get("tool"));
    match app.program.json(&["mcp", "approvals", &what]).await {
        Ok(_) => redirect("/approvals?done=revoked"),
        Err(error) => viewer.problem(&app, "/approvals", error),
    }
}

pub(crate) async fn skills(State(app): Shared, viewer: Viewer) -> Response {
    let read = async {
        let mut value = app.program.json(&["skills", "list"]).await?;
        Ok((
            list(&mut value, "skills")?,
            list(&mut value, "problems")?,
            list(&mut value, "archived")?,
        ))
    };
    match read.await {
        Ok((rows, problems, archived)) => {
            let frame = viewer.frame(&app, "Skills", "/skills");
            show(&SkillsPage { frame, csrf: viewer.csrf, rows, problems, archived })
        }
        Err(error) => viewer.problem(&app, "/skills", error),
    }
}

pub(crate) async fn skill(
    State(app): Shared,
    viewer: Viewer,
    Path(name): Path<String>,
) -> Response {
    let read = app.program.json(&["skills", "show", "--", &name]).await;
    match read.map(Skill::deserialize) {
        Ok(Ok(skill)) => {
            let frame = viewer.frame(&app, &skill.name, "/skills");
            let body = pages::markdown(&skill.body);
            show(&SkillPage { frame, skill, body })
        }
        Ok(Err(error)) => viewer.problem(&app, "/skills", CommandError::new(error.to_string())),
        Err(error) => viewer.problem(&app, "/skills", error),
    }
}

/// Archives or restores a skill.
pub(crate) async fn change_skill(
    State(app): Shared,
    viewer: Viewer,
    Path((name, action)): Path<(String, String)>,
    Extension(Submitted(_)): Extension<Submitted>,
) -> Response {
    let (command, word) =
        if action == "restore" { ("restore", "restored") } else { ("archive", "archived") };
    match app.program.json(&["skills", command, "--", &name]).await {
        Ok(_) => redirect(&format!("/skills?done={word}")),
        Err(error) => viewer.problem(&app, "/skills", error),
    }
}

pub(crate) async fn models(State(app): Shared, viewer: Viewer) -> Response {
    match read_models(&app).await {
        Ok((folder, models, fetchable)) => {
            let frame = viewer.frame(&app, "Models on this machine", "/models");
            show(&ModelsPage { frame, csrf: viewer.csrf, folder, models, fetchable })
        }
        Err(error) => viewer.problem(&app, "/models", error),
    }
}

async fn read_models(app: &App) -> Result<(String, Vec<ModelFile>, Vec<ModelFile>), CommandError> {
    let mut value = app.program.json(&["models", "local"]).await?;
    let folder = value["folder"].as_str().unwrap_or_default().to_owned();
    Ok((folder, list(&mut value, "models")?, list(&mut value, "fetchable")?))
}

/// Downloads or deletes a model file.
pub(crate) async fn change_model(
    State(app): Shared,
    viewer: Viewer,
    Path((name, action)): Path<(String, String)>,
    Extension(Submitted(_)): Extension<Submitted>,
) -> Response {
    if action == "pull" {
        let words = ["models", "pull", "--", &name];
        return job_page::start(&app, &viewer, format!("Download of {name}"), "/models", &words);
    }
    match app.program.json(&["models", "remove", "--yes", "--", &name]).await {
        Ok(_) => redirect("/models?done=model-removed"),
        Err(error) => viewer.problem(&app, "/models", error),
    }
}
