//! The servers of the configuration: list, details, switches.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use pages::{Frame, Html, redirect, tag};
use serde::Deserialize;
use serde_json::Value;

use crate::access::Submitted;
use crate::job_page;
use crate::page::{Viewer, bad, segment, show};
use crate::program::CommandError;
use crate::server_watch::ServerState;
use crate::state::{App, Shared};

const PATH: &str = "/servers";
const LOG_LINES: &str = "100";

/// A server as the configuration has it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Configured {
    pub(crate) name: String,
    pub(crate) transport: String,
    pub(crate) enabled: bool,
    pub(crate) line: u64,
    pub(crate) reached_by: String,
    /// The entry, with references in the place of its secrets.
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

/// What `agent mcp list --no-connect --json` says.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Configuration {
    pub(crate) config: String,
    pub(crate) servers: Vec<Configured>,
    pub(crate) problems: Vec<Problem>,
}

impl Configuration {
    pub(crate) async fn read(app: &App) -> Result<Self, CommandError> {
        let value = app.program.json(&["mcp", "list", "--no-connect"]).await?;
        Self::deserialize(value).map_err(|error| CommandError::new(error.to_string()))
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Configured> {
        self.servers.iter().find(|server| server.name == name)
    }
}

struct Row {
    name: String,
    path: String,
    transport: String,
    state: Html,
    reason: String,
    latency: String,
    tools: String,
    tokens: String,
}

#[derive(Template)]
#[template(path = "servers.html")]
struct ServersPage {
    frame: Frame,
    config: String,
    rows: Vec<Row>,
    problems: Vec<Problem>,
}

#[derive(Template)]
#[template(path = "server.html")]
struct ServerPage {
    frame: Frame,
    csrf: String,
    path: String,
    server: Configured,
    config: String,
    state: ServerState,
    state_tag: Html,
    problems: Vec<Problem>,
    log: String,
}

fn state_tag(state: &ServerState, is_enabled: bool) -> Html {
    match state.state.as_str() {
        _ if !is_enabled => tag("plain", "disabled"),
        "" => tag("plain", "starting"),
        "ready" => tag("good", "ready"),
        "recycled" => tag("good", "idle"),
        word @ ("connecting" | "degraded") => tag("warn", word),
        word => tag("bad", word),
    }
}

fn latency(state: &ServerState) -> String {
    state.latency_ms.map_or(String::new(), |ms| format!("{ms} ms"))
}

pub(crate) async fn list(State(app): Shared, viewer: Viewer) -> Response {
    let configuration = match Configuration::read(&app).await {
        Ok(configuration) => configuration,
        Err(error) => return viewer.problem(&app, PATH, error),
    };
    let states = app.servers.states(&app.program).await;
    let none = ServerState::default();
    let row = |server: &Configured| {
        let state = states.get(&server.name).unwrap_or(&none);
        let is_known = state.state == "ready" || state.state == "degraded";
        let number = |count: u64| if is_known { pages::count(count) } else { String::new() };
        Row {
            name: server.name.clone(),
            path: format!("{PATH}/{}", segment(&server.name)),
            transport: server.transport.clone(),
            state: state_tag(state, server.enabled),
            reason: state.reason.clone().unwrap_or_default(),
            latency: latency(state),
            tools: number(state.tools as u64),
            tokens: number(state.tokens),
        }
    };
    show(&ServersPage {
        frame: viewer.frame(&app, "Servers", PATH),
        config: configuration.config.clone(),
        rows: configuration.servers.iter().map(row).collect(),
        problems: configuration.problems,
    })
}

pub(crate) async fn details(
    State(app): Shared,
    viewer: Viewer,
    Path(name): Path<String>,
) -> Response {
    let configuration = match Configuration::read(&app).await {
        Ok(configuration) => configuration,
        Err(error) => return viewer.problem(&app, PATH, error),
    };
    let Some(server) = configuration.find(&name).cloned() else {
        let error = CommandError::new(format!("there is no server named “{name}”"));
        return viewer.problem(&app, PATH, error);
    };
    let states = app.servers.states(&app.program).await;
    let state = states.get(&name).cloned().unwrap_or_default();
    let log = app.program.run(&["mcp", "logs", "-n", LOG_LINES, "--", &name], "").await;
    let of_server = |problem: &Problem| problem.server.as_ref() == Some(&name);
    let mut frame = viewer.frame(&app, &name, PATH);
    if let Some(reason) = state.reason.as_ref().filter(|_| server.enabled && frame.notice.is_none())
    {
        frame.notice = Some(bad(reason.clone()));
    }
    show(&ServerPage {
        frame,
        csrf: viewer.csrf,
        path: format!("{PATH}/{}", segment(&name)),
        state_tag: state_tag(&state, server.enabled),
        server,
        config: configuration.config,
        state,
        problems: configuration.problems.into_iter().filter(of_server).collect(),
        log: String::from_utf8_lossy(&log.unwrap_or_default()).into_owned(),
    })
}

/// Enables, disables, removes or tests a server.
pub(crate) async fn change(
    State(app): Shared,
    viewer: Viewer,
    Path((name, action)): Path<(String, String)>,
    Extension(Submitted(_)): Extension<Submitted>,
) -> Response {
    let words: &[&str] = match action.as_str() {
        "enable" => &["mcp", "enable", "--"],
        "disable" => &["mcp", "disable", "--"],
        "remove" => &["mcp", "remove", "--yes", "--"],
        "test" => {
            let words = ["mcp", "test", "--", &name];
            return job_page::start(&app, &viewer, format!("Test of {name}"), PATH, &words);
        }
        _ => return redirect(PATH),
    };
    match app.program.json(&[words, &[&name]].concat()).await {
        Ok(_) if action == "remove" => {
            app.chats.reload(&[&name]).await;
            redirect(&format!("{PATH}?done=removed"))
        }
        Ok(_) => {
            app.chats.reload(&[&name]).await;
            redirect(&format!("{PATH}/{}?done={action}d", segment(&name)))
        }
        Err(error) => viewer.problem(&app, PATH, error),
    }
}

/// Tells all parts that the configuration changed.
pub(crate) async fn saved(app: &Arc<App>, name: &str, word: &str) -> Response {
    app.chats.reload(&[name]).await;
    redirect(&format!("{PATH}/{}?done={word}", segment(name)))
}
