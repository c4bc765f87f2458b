//! Sign-ins to servers with OAuth.

use askama::Template;
use axum::extract::Path;
use pages::{Frame, Html, redirect, tag};
use serde::Deserialize;

use crate::job_page;
use crate::page::{PageResult, Viewer, show};

/// Output of `agent mcp status --json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SignIn {
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
    rows: Vec<SignIn>,
}

impl SignIn {
    fn tag(&self) -> Html {
        tag(if self.signed_in { "good" } else { "warn" }, &self.state)
    }

    fn expires(&self) -> String {
        self.expires_at.map_or(String::new(), |at| pages::exact_time(at.saturating_mul(1_000_000)))
    }
}

pub(crate) async fn list(viewer: Viewer) -> PageResult {
    let rows = viewer.app.program.list("servers", &["mcp", "status"]).await?;
    show(&SignInsPage { frame: viewer.frame("Sign-ins"), rows })
}

/// Starts a sign-in in the browser, or signs out.
pub(crate) async fn change(
    viewer: Viewer,
    Path((server, action)): Path<(String, String)>,
) -> PageResult {
    if action == "in" {
        let words = ["--json", "mcp", "login", "--dashboard", "--", &server];
        return job_page::start(&viewer, format!("Sign in to {server}"), &words);
    }
    viewer.app.program.json(&["mcp", "logout", "--yes", "--", &server]).await?;
    Ok(redirect("/sign-ins?done=signed-out"))
}
