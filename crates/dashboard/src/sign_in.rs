//! Sign-ins to servers with OAuth.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use pages::{Frame, Html, redirect, tag};
use serde::Deserialize;

use crate::access::Submitted;
use crate::job_page;
use crate::page::{Viewer, segment, show};
use crate::program::CommandError;
use crate::state::Shared;

const PATH: &str = "/sign-ins";

/// What `agent mcp status --json` says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Standing {
    server: String,
    state: String,
    signed_in: bool,
    issuer: Option<String>,
    scope: Option<String>,
    expires_at: Option<i64>,
    client: Client,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Client {
    kind: Option<String>,
}

#[derive(Template)]
#[template(path = "sign_ins.html")]
struct SignInsPage {
    frame: Frame,
    csrf: String,
    rows: Vec<Standing>,
}

impl Standing {
    fn tag(&self) -> Html {
        tag(if self.signed_in { "good" } else { "warn" }, &self.state)
    }

    fn path(&self) -> String {
        format!("{PATH}/{}", segment(&self.server))
    }

    fn expires(&self) -> String {
        self.expires_at.map_or(String::new(), |at| pages::exact_time(at.saturating_mul(1_000_000)))
    }
}

pub(crate) async fn list(State(app): Shared, viewer: Viewer) -> Response {
    let rows = app.program.json(&["mcp", "status"]).await.and_then(|mut value| {
        let rows = Vec::<Standing>::deserialize(value["servers"].take());
        rows.map_err(|error| CommandError::new(error.to_string()))
    });
    match rows {
        Ok(rows) => {
            let frame = viewer.frame(&app, "Sign-ins", PATH);
            show(&SignInsPage { frame, csrf: viewer.csrf, rows })
        }
        Err(error) => viewer.problem(&app, PATH, error),
    }
}

/// Signs in, which a person finishes in the browser, or out.
pub(crate) async fn change(
    State(app): Shared,
    viewer: Viewer,
    Path((server, action)): Path<(String, String)>,
    Extension(Submitted(_)): Extension<Submitted>,
) -> Response {
    if action == "in" {
        let words = ["--json", "mcp", "login", "--dashboard", "--", &server];
        return job_page::start(&app, &viewer, format!("Sign in to {server}"), PATH, &words);
    }
    match app.program.json(&["mcp", "logout", "--yes", "--", &server]).await {
        Ok(_) => redirect(&format!("{PATH}?done=signed-out")),
        Err(error) => viewer.problem(&app, PATH, error),
    }
}
