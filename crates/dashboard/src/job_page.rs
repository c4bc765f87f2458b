//! The page of a running command, and the forms that start one.

use askama::Template;
use axum::extract::Path;
use pages::{Frame, redirect};

use crate::jobs::SignInPage;
use crate::page::{PageResult, Viewer, show};
use crate::program::CommandError;

#[derive(Template)]
#[template(path = "job.html")]
struct JobPage {
    frame: Frame,
    back: &'static str,
    lines: String,
    sign_in: Option<SignInPage>,
    /// `None` while running.
    has_succeeded: Option<bool>,
}

pub(crate) async fn page(viewer: Viewer, Path(id): Path<u64>) -> PageResult {
    let Some(job) = viewer.app.jobs.find(id) else { return Ok(redirect("/servers")) };
    let page = {
        let state = job.state();
        let lines: Vec<String> = state.lines.iter().map(|line| readable(line)).collect();
        let viewer = Viewer { section: job.back, ..viewer };
        JobPage {
            frame: viewer.frame(&job.title),
            back: job.back,
            lines: lines.join("\n"),
            sign_in: state.sign_in.clone(),
            has_succeeded: state.has_succeeded,
        }
    };
    show(&page)
}

/// The text of a JSON error line; other lines unchanged.
fn readable(line: &str) -> String {
    let Some(error) = CommandError::of_line(line) else { return line.to_owned() };
    let causes = error.causes.iter().map(|cause| format!("\n  cause: {cause}"));
    let hints = error.hints.iter().map(|hint| format!("\n  hint: {hint}"));
    format!("error: {}", error.message) + &causes.chain(hints).collect::<String>()
}

/// Starts a command and redirects to its page.
pub(crate) fn start(viewer: &Viewer, title: String, words: &[&str]) -> PageResult {
    start_then(viewer, title, words, async {})
}

/// The same, with work after the command.
pub(crate) fn start_then(
    viewer: &Viewer,
    title: String,
    words: &[&str],
    then: impl Future<Output = ()> + Send + 'static,
) -> PageResult {
    let (app, section) = (&viewer.app, viewer.section);
    Ok(redirect(&app.jobs.start(&app.program, (title, section), words, then)?))
}
