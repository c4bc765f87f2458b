//! The sessions of a person: list and end.

use askama::Template;
use axum::body::Body;
use axum::response::Response;
use http::Request;
use pages::{Frame, Html};

use super::super::path::Id;
use super::context::PageContext;
use super::page::{self, PageError, redirect};
use crate::clock;
use crate::identity::hex;

#[derive(Template)]
#[template(path = "console/sessions.html")]
struct SessionsPage {
    frame: Frame,
    csrf: String,
    sessions: Vec<SessionRow>,
}

struct SessionRow {
    id: String,
    client: String,
    key: String,
    address: String,
    created: Html,
    seen: Html,
    is_this: bool,
}

pub(super) async fn list(context: PageContext) -> Result<Response, PageError> {
    let now = clock::now().micros();
    let sessions = context.store().sessions(context.session.member).await?;
    let sessions = sessions.into_iter().map(|session| SessionRow {
        id: hex(&session.hash),
        client: browser(&session.client),
        key: session.key.unwrap_or_else(|| "admin token".to_owned()),
        address: session.address,
        created: pages::moment(session.created_at.micros(), now),
        seen: pages::moment(session.seen_at.micros(), now),
        is_this: session.hash == context.session.hash,
    });
    let sessions = sessions.collect();
    page::show(&SessionsPage {
        frame: context.frame("Sessions", ""),
        csrf: context.csrf(),
        sessions,
    })
}

pub(super) async fn end(
    context: PageContext,
    Id(id): Id,
    request: Request<Body>,
) -> Result<Response, PageError> {
    context.submitted(request).await?;
    let sessions = context.store().sessions(context.session.member).await?;
    let found = sessions.iter().find(|session| hex(&session.hash) == id);
    let found = found.ok_or_else(|| PageError::missing("session"))?;
    context.store().end_session(context.session.member, found.hash).await?;
    Ok(redirect("/sessions?done=session-ended"))
}

/// The browser and system that a client names.
fn browser(client: &str) -> String {
    const BROWSERS: [(&str, &str); 5] = [
        ("Edg/", "Edge"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ];
    const SYSTEMS: [(&str, &str); 6] = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS", "macOS"),
        ("Linux", "Linux"),
    ];
    let find = |names: &[(&str, &'static str)]| {
        names.iter().find(|(mark, _)| client.contains(mark)).map(|(_, name)| *name)
    };
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => "Unknown browser".to_owned(),
    }
}
