//! Rendering: the frame of a page, notices, errors.

use askama::Template;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use pages::{Fields, Frame, NavItem, Notice};

use crate::access::{Visitor, plain};
use crate::program::CommandError;
use crate::state::App;

/// What a page says after a change, by the word in its address.
const DONE: &[(&str, &str)] = &[
    ("added", "The server is added."),
    ("saved", "The configuration is saved. Running conversations use it from now on."),
    ("enabled", "The server is enabled."),
    ("disabled", "The server is disabled. It stays in the configuration."),
    ("removed", "The server is removed from the configuration."),
    ("signed-out", "You are signed out; the tokens are deleted."),
    ("revoked", "The approval is revoked. The tool asks again at its next call."),
    ("deleted", "The conversation is deleted."),
    ("archived", "The skill is archived. Models no longer see it."),
    ("restored", "The skill is restored."),
    ("model-removed", "The model file is deleted."),
    ("imported", "The servers are imported."),
];

const SITE: &str = "agent";

const fn item(
    group: &'static str,
    name: &'static str,
    path: &'static str,
    icon: &'static str,
) -> NavItem {
    NavItem { group, name, path, icon, is_current: false }
}

const NAV: &[NavItem] = &[
    item("", "Chats", "/", "chat"),
    item("Tools", "Servers", "/servers", "server"),
    item("", "Sign-ins", "/sign-ins", "key"),
    item("", "Approvals", "/approvals", "check"),
    item("", "Skills", "/skills", "book"),
    item("This machine", "Models", "/models", "cube"),
    item("", "Metrics", "/metrics/", "chart"),
];

#[derive(Template)]
#[template(path = "locked.html")]
struct LockedPage {
    frame: Frame,
}

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    frame: Frame,
    causes: Vec<String>,
    hints: Vec<String>,
}

/// The browser that asks: makes frames of pages.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    pub(crate) csrf: String,
    done: Option<Notice>,
}

impl<S: Send + Sync> FromRequestParts<S> for Viewer {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        let visitor = parts.extensions.get::<Visitor>();
        let visitor = visitor.ok_or_else(|| plain(StatusCode::FORBIDDEN, "no session\n"))?;
        let query = Fields::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let word = DONE.iter().find(|(word, _)| *word == query.get("done"));
        let done = word.map(|(_, text)| Notice { kind: "good", text: (*text).to_owned() });
        Ok(Self { csrf: visitor.csrf.clone(), done })
    }
}

impl Viewer {
    pub(crate) fn frame(&self, app: &App, title: &str, path: &str) -> Frame {
        Frame { nav: nav(path), notice: self.done.clone(), ..frame(app, title) }
    }

    /// The page of a command that failed.
    pub(crate) fn problem(&self, app: &App, path: &str, error: CommandError) -> Response {
        let mut frame = self.frame(app, "This did not work", path);
        frame.notice = Some(bad(error.message));
        let page = ProblemPage { frame, causes: error.causes, hints: error.hints };
        show_as(StatusCode::UNPROCESSABLE_ENTITY, &page)
    }
}

fn nav(path: &str) -> Vec<NavItem> {
    let item = |item: &NavItem| NavItem { is_current: item.path == path, ..item.clone() };
    NAV.iter().map(item).collect()
}

fn frame(app: &App, title: &str) -> Frame {
    let (title, site) = (title.to_owned(), SITE.to_owned());
    Frame { title, site, assets: app.assets.path(), ..Frame::default() }
}

/// The frame of the page of metrics, whose files are its own.
pub fn metrics_frame() -> Frame {
    let (title, site) = ("Usage metrics".to_owned(), SITE.to_owned());
    Frame { title, site, nav: nav("/metrics/"), ..Frame::default() }
}

pub(crate) fn bad(text: impl Into<String>) -> Notice {
    Notice { kind: "bad", text: text.into() }
}

/// What a browser without a session sees.
pub(crate) fn locked(app: &App) -> Response {
    show_as(StatusCode::UNAUTHORIZED, &LockedPage { frame: frame(app, "Open the dashboard") })
}

pub(crate) fn show<T: Template>(page: &T) -> Response {
    show_as(StatusCode::OK, page)
}

fn show_as<T: Template>(status: StatusCode, page: &T) -> Response {
    match page.render() {
        Ok(html) => pages::html(status, html),
        Err(error) => {
            tracing::error!(%error, "a page cannot be rendered");
            plain(StatusCode::INTERNAL_SERVER_ERROR, "cannot render the page\n").into_response()
        }
    }
}

/// A segment of a path.
pub(crate) fn segment(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}
