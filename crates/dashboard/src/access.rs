//! Who gets a page: a browser that opened a one-time link and has the cookie of its session.
//!
//! Every request passes [`guard`]. It refuses foreign host names, which a page elsewhere can point
//! at this machine, and every change that a page of this site did not send with its token.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HOST, SET_COOKIE};
use axum::http::{Extensions, HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::{BodyExt as _, Limited};
use pages::{CSRF_HEADER, Fields, Token, is_same_site, redirect, secure};

use crate::page;
use crate::state::App;

const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;
/// Links that nobody opened, beyond which the oldest are forgotten.
const MAX_LINKS: usize = 100;
const MAX_SESSIONS: usize = 100;

/// The secrets of browsers. They end with the process.
#[derive(Debug, Default)]
pub(crate) struct Access {
    port: u16,
    links: Mutex<Vec<(Token, String)>>,
    /// The hashes of session tokens.
    sessions: Mutex<Vec<[u8; 32]>>,
    last_request: Mutex<Option<Instant>>,
}

/// The session of a request.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    pub(crate) csrf: String,
}

/// The fields of a form whose origin and token were checked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Submitted(pub(crate) Arc<Fields>);

impl Access {
    pub(crate) fn new(port: u16) -> Self {
        Self { port, last_request: Mutex::new(Some(Instant::now())), ..Self::default() }
    }

    /// The address that opens a page once.
    pub(crate) fn link(&self, path: &str) -> Option<String> {
        let token = Token::draw()?;
        let address = format!("http://127.0.0.1:{}/open/{}", self.port, token.secret());
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if links.len() == MAX_LINKS {
            links.remove(0);
        }
        links.push((token, path.to_owned()));
        Some(address)
    }

    pub(crate) fn last_request(&self) -> Instant {
        let last = self.last_request.lock().unwrap_or_else(PoisonError::into_inner);
        last.unwrap_or_else(Instant::now)
    }

    fn is_ours(&self, host: &str) -> bool {
        // Browsers leave out the usual port.
        let (name, port) = host.split_once(':').unwrap_or((host, "80"));
        matches!(name, "127.0.0.1" | "localhost") && port == self.port.to_string()
    }

    /// Cookies do not know ports: other dashboards on this machine have their own name.
    fn cookie(&self) -> String {
        format!("agent-dashboard-{}", self.port)
    }

    /// Begins a session for the first who opens a link.
    fn open(&self, secret: &str) -> Option<Response> {
        let wanted = Token::parse(secret)?.hash();
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let at = links.iter().position(|(token, _)| token.hash() == wanted)?;
        let (_, path) = links.remove(at);
        let token = Token::draw()?;
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() == MAX_SESSIONS {
            sessions.remove(0);
        }
        sessions.push(token.hash());
        let mut response = redirect(&path);
        response.headers_mut().insert(SET_COOKIE, token.set_cookie(&self.cookie(), None, false)?);
        Some(response)
    }

    fn session(&self, headers: &HeaderMap) -> Option<Token> {
        let token = Token::of_cookie(headers, &self.cookie())?;
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.contains(&token.hash()).then_some(token)
    }
}

/// Checks a request before any page sees it.
pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let access = &app.access;
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let aimed = request.uri().authority().is_none_or(|it| access.is_ours(it.as_str()));
    if !(aimed && host.is_some_and(|host| access.is_ours(host))) {
        return plain(StatusCode::FORBIDDEN, "unknown host\n");
    }
    let path = request.uri().path();
    if path.starts_with("/assets/") {
        return next.run(request).await;
    }
    if let Some(secret) = path.strip_prefix("/open/") {
        return access.open(secret).unwrap_or_else(|| page::locked(&app));
    }
    let Some(session) = access.session(request.headers()) else { return page::locked(&app) };
    *access.last_request.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    let visitor = Visitor { csrf: session.csrf() };
    let request = if matches!(*request.method(), Method::GET | Method::HEAD) {
        with(request, |extensions| drop(extensions.insert(visitor)))
    } else {
        match checked(request, &session).await {
            Ok((request, fields)) => with(request, |extensions| {
                extensions.insert(visitor);
                extensions.insert(Submitted(Arc::new(fields)));
            }),
            Err(refusal) => return refusal,
        }
    };
    let mut response = next.run(request).await;
    secure(response.headers_mut());
    response
}

fn with(mut request: Request, change: impl FnOnce(&mut Extensions)) -> Request {
    change(request.extensions_mut());
    request
}

/// Reads a change that a page of this site sent, with its token in a field or a header.
async fn checked(request: Request, session: &Token) -> Result<(Request, Fields), Response> {
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
    Ok((Request::from_parts(head, Body::from(body)), fields))
}

pub(crate) fn plain(status: StatusCode, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    secure(response.headers_mut());
    response
}
