//! The dialog of an install link: nothing is installed before a person has seen all of it.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use pages::{Frame, redirect};
use serde::Deserialize;
use serde_json::Value;

use crate::access::Submitted;
use crate::page::{Viewer, bad, segment, show};
use crate::program::CommandError;
use crate::state::{App, Shared};

/// A server that may be added, as a person judges it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Preview {
    pub(crate) name: String,
    pub(crate) config: String,
    pub(crate) command: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) cautions: Vec<String>,
    pub(crate) is_taken: bool,
}

#[derive(Template)]
#[template(path = "install.html")]
struct InstallPage {
    frame: Frame,
    csrf: String,
    path: String,
    preview: Preview,
    name: String,
}

impl Preview {
    /// Those of `--preview`.
    pub(crate) fn all(value: &Value) -> Vec<Self> {
        Vec::deserialize(&value["servers"]).unwrap_or_default()
    }
}

pub(crate) async fn dialog(State(app): Shared, viewer: Viewer, Path(id): Path<String>) -> Response {
    let Some(link) = app.links.get(&id) else { return used(&app, &viewer) };
    page(&app, &viewer, Asked { id: &id, link: &link, name: "" }, None).await
}

fn used(app: &App, viewer: &Viewer) -> Response {
    let mut error = CommandError::new("This install link was answered already");
    error.hints.push("Open the link again".to_owned());
    viewer.problem(app, "/servers", error)
}

/// A link, and the name that the person chose for its server.
struct Asked<'a> {
    id: &'a str,
    link: &'a str,
    name: &'a str,
}

async fn page(
    app: &App,
    viewer: &Viewer,
    Asked { id, link, name }: Asked<'_>,
    error: Option<CommandError>,
) -> Response {
    let mut words = vec!["mcp", "install", "--preview"];
    if !name.is_empty() {
        words.extend(["--name", name]);
    }
    let previewed = match app.program.json(&[&*words, &["--", link]].concat()).await {
        Ok(value) => Ok(value),
        // The name of the form cannot be used; that of the link can.
        Err(_) if !name.is_empty() => {
            app.program.json(&["mcp", "install", "--preview", "--", link]).await
        }
        Err(error) => Err(error),
    };
    let preview = match previewed {
        Ok(value) => Preview::all(&value).into_iter().next().unwrap_or_default(),
        Err(error) => {
            app.links.remove(id);
            return viewer.problem(app, "/servers", error);
        }
    };
    let mut frame = viewer.frame(app, "Install a server?", "/servers");
    frame.notice = error.map(|error| bad(error.text())).or(frame.notice);
    let name = if name.is_empty() { preview.name.clone() } else { name.to_owned() };
    show(&InstallPage {
        frame,
        csrf: viewer.csrf.clone(),
        path: format!("/install/{id}"),
        preview,
        name,
    })
}

/// Installs the server under the name of the form, or forgets the link.
pub(crate) async fn answer(
    State(app): Shared,
    viewer: Viewer,
    Path(id): Path<String>,
    Extension(Submitted(fields)): Extension<Submitted>,
) -> Response {
    let Some(link) = app.links.get(&id) else { return used(&app, &viewer) };
    if fields.get("answer") != "install" {
        app.links.remove(&id);
        return redirect("/servers");
    }
    let name = fields.get("name");
    let words = ["mcp", "install", "--yes", "--name", name, "--", &link];
    match app.program.json(&words).await {
        Ok(_) => {
            app.links.remove(&id);
            app.chats.reload(&[name]).await;
            redirect(&format!("/servers/{}?done=added", segment(name)))
        }
        Err(error) => page(&app, &viewer, Asked { id: &id, link: &link, name }, Some(error)).await,
    }
}
