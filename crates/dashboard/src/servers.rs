//! The servers of the configuration: list, details, switches.

use std::sync::Arc;

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use pages::{Frame, Html, Notice, redirect, tag};
use serde::Deserialize;
use serde_json::Value;

use crate::job_page;
use crate::page::{PageResult, Viewer, segment, show};
use crate::program::CommandError;
use crate::server_watch::ServerState;
use crate::state::App;

const LOG_LINES: &str = "100";

/// A configured server.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Configured {
    pub(crate) name: String,
    pub(crate) transport: String,
    pub(crate) enabled: bool,
    pub(crate) line: u64,
    pub(crate) reached_by: String,
    /// The entry, with references instead of its secrets.
    #[serde(default)]
    pub(crate) entry: Value,
    #[serde(default)]
    pub(crate) signs_in: bool,
    #[serde(default)]
    pub(crate) is_of_project: bool,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Problem {
    pub(crate) severity: String,
    pub(crate) line: u64,
    pub(crate) server: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// Output of `agent mcp list --no-connect --json`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Configuration {
    pub(crate) config: String,
    pub(crate) servers: Vec<Configured>,
    pub(crate) problems: Vec<Problem>,
}

impl Configuration {
    pub(crate) async fn read(app: &App) -> Result<Self, CommandError> {
        app.program.read(&["mcp", "list", "--no-connect"]).await
    }

    pub(crate) fn find(&self, name: &str) -> Result<&Configured, CommandError> {
        let server = self.servers.iter().find(|server| server.name == name);
        server.ok_or_else(|| CommandError::new(format!("there is no server named “{name}”")))
    }
}

#[derive(Template)]
#[template(path = "servers.html")]
struct ServersPage {
    frame: Frame,
    config: String,
    rows: Vec<(Configured, ServerState)>,
    problems: Vec<Problem>,
}

#[derive(Template)]
#[template(path = "server.html")]
struct ServerPage {
    frame: Frame,
    path: String,
    server: Configured,
    config: String,
    state: ServerState,
    problems: Vec<Problem>,
    log: String,
}

fn state_tag(state: &ServerState, server: &Configured) -> Html {
    match state.state.as_str() {
        _ if !server.enabled => tag("plain", "disabled"),
        "" => tag("plain", "starting"),
        "ready" => tag("good", "ready"),
        "recycled" => tag("good", "idle"),
        word @ ("connecting" | "degraded") => tag("warn", word),
        "parked" => tag("bad", "failed"),
        word => tag("bad", word),
    }
}

pub(crate) async fn list(viewer: Viewer) -> PageResult {
    let Configuration { config, servers, problems } = Configuration::read(&viewer.app).await?;
    // Without enabled servers, there is no state to wait for.
    let states = if servers.iter().any(|server| server.enabled) {
        viewer.app.servers.states(&viewer.app.program).await
    } else {
        Arc::default()
    };
    let row = |server: Configured| {
        let state = states.get(&server.name).cloned().unwrap_or_default();
        (server, state)
    };
    let rows = servers.into_iter().map(row).collect();
    show(&ServersPage { frame: viewer.frame("Servers"), config, rows, problems })
}

pub(crate) async fn details(viewer: Viewer, Path(name): Path<String>) -> PageResult {
    let configuration = Configuration::read(&viewer.app).await?;
    let server = configuration.find(&name)?.clone();
    let states = viewer.app.servers.states(&viewer.app.program).await;
    let state = states.get(&name).cloned().unwrap_or_default();
    let log = viewer.app.program.run(&["mcp", "logs", "-n", LOG_LINES, "--", &name], "").await;
    let of_server = |problem: &Problem| problem.server.as_ref() == Some(&name);
    let mut frame = viewer.frame(&name);
    let reason = state.reason.clone().filter(|_| server.enabled);
    frame.notice = frame.notice.or(reason.map(Notice::bad));
    show(&ServerPage {
        frame,
        path: path(&name),
        server,
        config: configuration.config,
        state,
        problems: configuration.problems.into_iter().filter(of_server).collect(),
        log: String::from_utf8_lossy(&log.unwrap_or_default()).into_owned(),
    })
}

/// The path of the page of a server.
pub(crate) fn path(name: &str) -> String {
    format!("/servers/{}", segment(name))
}

/// Enables, disables, removes or tests a server.
pub(crate) async fn change(
    viewer: Viewer,
    Path((name, action)): Path<(String, String)>,
) -> PageResult {
    let words: &[&str] = match action.as_str() {
        "enable" => &["mcp", "enable", "--"],
        "disable" => &["mcp", "disable", "--"],
        "remove" => &["mcp", "remove", "--yes", "--"],
        "test" => {
            let words = ["mcp", "test", "--", &name];
            return job_page::start(&viewer, format!("Test of {name}"), &words);
        }
        _ => return Ok(redirect("/servers")),
    };
    viewer.app.program.json(&[words, &[&name]].concat()).await?;
    if action == "remove" {
        viewer.app.chats.reload(&[&name]).await;
        return Ok(redirect("/servers?done=removed"));
    }
    Ok(saved(&viewer, &name, &format!("{action}d")).await)
}

/// Makes conversations use a changed server, and redirects to its page.
pub(crate) async fn saved(viewer: &Viewer, name: &str, word: &str) -> Response {
    viewer.app.chats.reload(&[name]).await;
    redirect(&format!("{}?done={word}", path(name)))
}
