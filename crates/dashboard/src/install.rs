//! The dialog of an install link: nothing is installed before the person has reviewed it.

use askama::Template;
use axum::extract::Path;
use pages::{Frame, redirect};
use serde::Deserialize;

use crate::page::{PageResult, Viewer, segment, show};
use crate::program::CommandError;

/// A server to add, for review: output of `--preview --json`.
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
struct InstallPage<'a> {
    frame: Frame,
    id: &'a str,
    preview: Preview,
    name: String,
}

pub(crate) async fn dialog(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    let link = link(&viewer, &id)?;
    page(&viewer, (&id, &link), "", None).await
}

fn link(viewer: &Viewer, id: &str) -> Result<String, CommandError> {
    viewer.app.links.get(id).ok_or_else(|| {
        let mut error = CommandError::new("This install link was answered already");
        error.hints.push("Open the link again".to_owned());
        error
    })
}

/// The dialog of a link, with the server name from the form.
async fn page(
    viewer: &Viewer,
    (id, link): (&str, &str),
    name: &str,
    error: Option<CommandError>,
) -> PageResult {
    let program = &viewer.app.program;
    let words = ["mcp", "install", "--preview", "--", link];
    let named = ["mcp", "install", "--preview", "--name", name, "--", link];
    let previewed = match name {
        "" => program.list("servers", &words).await,
        _ => match program.list("servers", &named).await {
            Ok(previews) => Ok(previews),
            // The name in the form is invalid; that of the link is valid.
            Err(_) => program.list("servers", &words).await,
        },
    };
    let previews: Vec<Preview> = previewed.inspect_err(|_| viewer.app.links.remove(id))?;
    let preview = previews.into_iter().next().unwrap_or_default();
    let frame = viewer.form_frame("Install a server?", error.as_ref());
    let name = if name.is_empty() { preview.name.clone() } else { name.to_owned() };
    show(&InstallPage { frame, id, preview, name })
}

/// Installs the server under the name in the form, or drops the link.
pub(crate) async fn answer(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    let link = link(&viewer, &id)?;
    if viewer.form.get("answer") != "install" {
        viewer.app.links.remove(&id);
        return Ok(redirect("/servers"));
    }
    let name = viewer.form.get("name");
    let words = ["mcp", "install", "--yes", "--name", name, "--", &link];
    match viewer.app.program.json(&words).await {
        Ok(_) => {
            viewer.app.links.remove(&id);
            viewer.app.chats.reload(&[name]).await;
            Ok(redirect(&format!("/servers/{}?done=added", segment(name))))
        }
        Err(error) => page(&viewer, (&id, &link), name, Some(error)).await,
    }
}
