//! Data stored on this machine: approvals, skills and model files.

use askama::Template;
use axum::extract::Path;
use pages::{Frame, Html, redirect};
use serde::Deserialize;

use crate::job_page;
use crate::page::{PageResult, Viewer, show};

/// Output of `agent mcp approvals --json`.
#[derive(Debug, Deserialize)]
struct Approval {
    server: String,
    tool: String,
}

#[derive(Template)]
#[template(path = "approvals.html")]
struct ApprovalsPage {
    frame: Frame,
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
    message: String,
}

/// The output of `agent skills list --json`.
#[expect(clippy::struct_field_names, reason = "the keys of the JSON document")]
#[derive(Debug, Deserialize)]
struct Skills {
    skills: Vec<Skill>,
    problems: Vec<SkillProblem>,
    archived: Vec<String>,
}

#[derive(Template)]
#[template(path = "skills.html")]
struct SkillsPage {
    frame: Frame,
    listed: Skills,
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

/// Output of `agent models local --json`.
#[derive(Debug, Deserialize)]
struct ModelFiles {
    folder: String,
    models: Vec<ModelFile>,
    fetchable: Vec<ModelFile>,
}

#[derive(Template)]
#[template(path = "models.html")]
struct ModelsPage {
    frame: Frame,
    files: ModelFiles,
}

impl ModelFile {
    fn size(&self) -> String {
        self.bytes.map_or(String::new(), pages::bytes)
    }
}

pub(crate) async fn approvals(viewer: Viewer) -> PageResult {
    let rows = viewer.app.program.list("approvals", &["mcp", "approvals"]).await?;
    show(&ApprovalsPage { frame: viewer.frame("Approvals"), rows })
}

pub(crate) async fn revoke(viewer: Viewer) -> PageResult {
    let (server, tool) = (viewer.form.get("server"), viewer.form.get("tool"));
    viewer.app.program.json(&["mcp", "approvals", &format!("--revoke={server}/{tool}")]).await?;
    Ok(redirect("/approvals?done=revoked"))
}

pub(crate) async fn skills(viewer: Viewer) -> PageResult {
    let listed = viewer.app.program.read(&["skills", "list"]).await?;
    show(&SkillsPage { frame: viewer.frame("Skills"), listed })
}

pub(crate) async fn skill(viewer: Viewer, Path(name): Path<String>) -> PageResult {
    let skill: Skill = viewer.app.program.read(&["skills", "show", "--", &name]).await?;
    let body = pages::markdown(&skill.body);
    show(&SkillPage { frame: viewer.frame(&skill.name), skill, body })
}

/// Archives or restores a skill.
pub(crate) async fn change_skill(
    viewer: Viewer,
    Path((name, action)): Path<(String, String)>,
) -> PageResult {
    let (command, word) =
        if action == "restore" { ("restore", "restored") } else { ("archive", "archived") };
    viewer.app.program.json(&["skills", command, "--", &name]).await?;
    Ok(redirect(&format!("/skills?done={word}")))
}

pub(crate) async fn models(viewer: Viewer) -> PageResult {
    let files = viewer.app.program.read(&["models", "local"]).await?;
    show(&ModelsPage { frame: viewer.frame("Models on this machine"), files })
}

/// Downloads or deletes a model file.
pub(crate) async fn change_model(
    viewer: Viewer,
    Path((name, action)): Path<(String, String)>,
) -> PageResult {
    if action == "pull" {
        let words = ["models", "pull", "--", &name];
        return job_page::start(&viewer, format!("Download of {name}"), &words);
    }
    viewer.app.program.json(&["models", "remove", "--yes", "--", &name]).await?;
    Ok(redirect("/models?done=model-removed"))
}
