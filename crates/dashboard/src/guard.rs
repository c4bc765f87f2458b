//! The check of every request: foreign host names (DNS rebinding) and changes without the
//! token of a page of this site are refused.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::{BodyExt as _, Limited};
use pages::{CSRF_HEADER, Fields, Token, is_for_this_machine, is_same_site, secure};

use crate::access::plain;
use crate::local_peer::is_own;
use crate::page::{self, Viewer};
use crate::program::CommandError;
use crate::state::App;

const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// Checks a request before its handler runs.
pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let access = &app.access;
    if !is_for_this_machine(request.headers(), request.uri(), access.port) {
        return plain(StatusCode::FORBIDDEN, "unknown host\n");
    }
    let path = request.uri().path();
    if path.starts_with("/assets/") {
        return next.run(request).await;
    }
    if let Some(secret) = path.strip_prefix("/open/") {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        if !peer.is_some_and(|peer| is_own(peer.0, access.port)) {
            return plain(StatusCode::FORBIDDEN, "This link is for another user.\n");
        }
        return access.open(secret).unwrap_or_else(|| page::locked(&app));
    }
    let Some(session) = access.session(request.headers()) else { return page::locked(&app) };
    access.note_request();
    let (form, mut request) = if matches!(*request.method(), Method::GET | Method::HEAD) {
        (Fields::default(), request)
    } else {
        match checked(request, &session).await {
            Ok(checked) => checked,
            Err(refusal) => return refusal,
        }
    };
    let viewer = Viewer::new(&app, session.csrf(), form, request.uri());
    request.extensions_mut().insert(viewer.clone());
    let mut response = next.run(request).await;
    if let Some(error) = response.extensions_mut().remove::<CommandError>() {
        response = viewer.problem(error);
    }
    secure(response.headers_mut());
    response
}

/// Reads a change request, whose token is in a field or a header.
async fn checked(request: Request, session: &Token) -> Result<(Fields, Request), Response> {
    if !is_same_site(request.headers(), None) {
        return Err(plain(StatusCode::FORBIDDEN, "This request was not sent by the dashboard.\n"));
    }
    let (head, body) = request.into_parts();
    let body = Limited::new(body, MAX_BODY_BYTES).collect().await;
    let body: Bytes = match body {
        Ok(body) => body.to_bytes(),
        Err(_) => return Err(plain(StatusCode::PAYLOAD_TOO_LARGE, "The request is too large.\n")),
    };
    let media_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_form = media_type.is_some_and(|it| it.starts_with("application/x-www-form-urlencoded"));
    let fields = if is_form { Fields::parse(&body) } else { Fields::default() };
    let offered = head.headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok());
    if !session.is_csrf(offered.unwrap_or_else(|| fields.get("csrf"))) {
        let text = "This form is out of date. Go back, reload the page and try again.\n";
        return Err(plain(StatusCode::FORBIDDEN, text));
    }
    Ok((fields, Request::from_parts(head, Body::from(body))))
}
