//! The page of a command that runs, and the forms that start one.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use pages::{Frame, redirect};
use serde_json::Value;

use crate::jobs::SignInPage;
use crate::page::{Viewer, show};
use crate::program::CommandError;
use crate::state::{App, Shared};

#[derive(Template)]
#[template(path = "job.html")]
struct JobPage {
    frame: Frame,
    back: &'static str,
    lines: String,
    sign_in: Option<SignInPage>,
    state: &'static str,
    is_running: bool,
}

pub(crate) async fn page(State(app): Shared, viewer: Viewer, Path(id): Path<u64>) -> Response {
    let Some(job) = app.jobs.find(id) else { return redirect("/servers") };
    let state = job.state();
    let (word, is_running) = match state.has_succeeded {
        None => ("running", true),
        Some(true) => ("done", false),
        Some(false) => ("failed", false),
    };
    let lines: Vec<String> = state.lines.iter().map(|line| readable(line)).collect();
    let page = JobPage {
        frame: viewer.frame(&app, &job.title, job.back),
        back: job.back,
        lines: lines.join("\n"),
        sign_in: state.sign_in.clone().filter(|_| is_running),
        state: word,
        is_running,
    };
    drop(state);
    show(&page)
}

/// A JSON line of an error as words; other lines as they are.
fn readable(line: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(line) else { return line.to_owned() };
    let texts = |name: &str| value["error"][name].as_array().cloned().unwrap_or_default();
    let Some(message) = value["error"]["message"].as_str() else { return line.to_owned() };
    let mut text = format!("error: {message}");
    for (word, name) in [("cause", "causes"), ("hint", "hints")] {
        for one in texts(name).iter().filter_map(Value::as_str) {
            text.push_str(&format!("\n  {word}: {one}"));
        }
    }
    text
}

/// Starts a command and leads to its page.
pub(crate) fn start(
    app: &App,
    viewer: &Viewer,
    title: String,
    back: &'static str,
    words: &[&str],
) -> Response {
    match app.jobs.start(&app.program, title, back, words) {
        Ok(address) => redirect(&address),
        Err(error) => {
            let error = CommandError::new(format!("cannot run `agent`: {error}"));
            viewer.problem(app, back, error)
        }
    }
}
