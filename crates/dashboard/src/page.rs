//! Rendering: the frame of a page, notices, errors.

use std::sync::Arc;

use askama::Template;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use pages::{Fields, Frame, NavItem, Notice};

use crate::access::plain;
use crate::program::CommandError;
use crate::state::App;

/// Success notices, by the word in the URL.
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
const CHATS: &str = "/";
const SERVERS: &str = "/servers";

const NAV: &[NavItem] = &[
    NavItem::new("", "Chats", CHATS, "chat"),
    NavItem::new("Tools", "Servers", SERVERS, "server"),
    NavItem::new("", "Sign-ins", "/sign-ins", "key"),
    NavItem::new("", "Approvals", "/approvals", "check"),
    NavItem::new("", "Skills", "/skills", "book"),
    NavItem::new("This machine", "Models", "/models", "cube"),
    NavItem::new("", "Metrics", "/metrics/", "chart"),
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

/// A page, or why its command failed.
pub(crate) type PageResult = Result<Response, CommandError>;

/// The requesting browser, from the guard, which checked its session, and the origin and token
/// of every change.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    pub(crate) app: Arc<App>,
    pub(crate) query: Arc<Fields>,
    /// Fields of a checked form; empty if the request changes nothing.
    pub(crate) form: Arc<Fields>,
    /// The navigation link of the page.
    pub(crate) section: &'static str,
    pub(crate) csrf: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Viewer {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        let viewer = parts.extensions.get::<Self>().cloned();
        viewer.ok_or_else(|| plain(StatusCode::FORBIDDEN, "no session\n"))
    }
}

impl Viewer {
    pub(crate) fn new(app: &Arc<App>, csrf: String, form: Fields, uri: &Uri) -> Self {
        let path = uri.path();
        let mut sections = NAV.iter().map(|item| item.path).filter(|section| *section != CHATS);
        let section = match sections.find(|section| path.starts_with(section)) {
            Some(section) => section,
            None if path.starts_with("/install/") || path.starts_with("/jobs/") => SERVERS,
            None => CHATS,
        };
        let query = Fields::parse(uri.query().unwrap_or_default().as_bytes());
        Self { app: app.clone(), query: Arc::new(query), form: Arc::new(form), section, csrf }
    }

    pub(crate) fn frame(&self, title: &str) -> Frame {
        Frame {
            nav: NavItem::marked(NAV, self.section),
            notice: Notice::done(DONE, self.query.get("done")),
            csrf: self.csrf.clone(),
            ..frame(&self.app, title)
        }
    }

    /// The frame of a form page, and why the form was refused.
    pub(crate) fn form_frame(&self, title: &str, error: Option<&CommandError>) -> Frame {
        let frame = self.frame(title);
        let refused = error.map(|error| Notice::bad(error.text()));
        Frame { notice: refused.or(frame.notice), ..frame }
    }

    /// The page of a command that failed.
    pub(crate) fn problem(&self, error: CommandError) -> Response {
        let mut frame = self.frame("This did not work");
        frame.notice = Some(Notice::bad(error.message));
        let page = ProblemPage { frame, causes: error.causes, hints: error.hints };
        show_as(StatusCode::UNPROCESSABLE_ENTITY, &page)
    }
}

/// The guard renders it as a page, which needs the viewer.
impl IntoResponse for CommandError {
    fn into_response(self) -> Response {
        let mut response = Response::default();
        response.extensions_mut().insert(self);
        response
    }
}

fn frame(app: &App, title: &str) -> Frame {
    let (title, site) = (title.to_owned(), SITE.to_owned());
    Frame { title, site, assets: app.assets.path(), ..Frame::default() }
}

/// The frame of the metrics page, which has its own assets.
pub fn metrics_frame() -> Frame {
    let (title, site) = ("Usage metrics".to_owned(), SITE.to_owned());
    Frame { title, site, nav: NavItem::marked(NAV, "/metrics/"), ..Frame::default() }
}

/// The page for a browser without a session.
pub(crate) fn locked(app: &App) -> Response {
    show_as(StatusCode::UNAUTHORIZED, &LockedPage { frame: frame(app, "Open the dashboard") })
}

#[expect(clippy::unnecessary_wraps, reason = "handlers return it as their result")]
pub(crate) fn show<T: Template>(page: &T) -> PageResult {
    Ok(show_as(StatusCode::OK, page))
}

fn show_as<T: Template>(status: StatusCode, page: &T) -> Response {
    match page.render() {
        Ok(html) => pages::html(status, html),
        Err(error) => {
            tracing::error!(%error, "a page cannot be rendered");
            plain(StatusCode::INTERNAL_SERVER_ERROR, "cannot render the page\n")
        }
    }
}

/// A segment of a path.
pub(crate) fn segment(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}
