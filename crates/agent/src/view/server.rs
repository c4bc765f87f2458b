//! The request handlers: authorization, routes, and common headers.
//!
//! Everything is below an unguessable path, and is served only to requests with a host name of
//! this machine, so that no other page in the browser can read it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::header::{self, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use pages::{Asset, AssetSet, Frame};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::data::{ReadError, Reading};

const GRACE: Duration = Duration::from_secs(1);

const JSON: &str = "application/json; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// Headers of every response: no external resources, no caching, no referrer.
const HEADERS: [(header::HeaderName, &str); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
         img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

#[derive(Debug)]
pub(super) struct Site {
    /// The unguessable part of the address.
    pub(super) token: String,
    pub(super) port: u16,
    pub(super) reading: Arc<Reading>,
}

impl Site {
    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }
}

/// The state of the handlers.
#[derive(Debug)]
struct Content {
    frame: Frame,
    assets: AssetSet,
    reading: Arc<Reading>,
}

#[derive(Template)]
#[template(path = "metrics.html")]
struct Page {
    frame: Frame,
    version: &'static str,
    folder: String,
}

/// Serves until `shutdown` is ready, then waits a moment for open requests.
pub(super) async fn serve(
    listener: TcpListener,
    site: Site,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let (tell_end, end) = oneshot::channel();
    let served = axum::serve(listener, router(site)).with_graceful_shutdown(async move {
        shutdown.await;
        // The send fails only if the server has stopped.
        let _ = tell_end.send(());
    });
    let patience = async {
        match end.await {
            Ok(()) => tokio::time::sleep(GRACE).await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        result = served.into_future() => result,
        () = patience => Ok(()),
    }
}

fn router(site: Site) -> Router {
    let frame = Frame { nav: Vec::new(), ..dashboard::metrics_frame() };
    routes(&site.token, frame, site.reading)
        .fallback(async || not_found())
        .layer(middleware::from_fn_with_state(site.port, guard))
}

/// The page and its data, below a path. A layer around them authorizes requests.
pub(super) fn routes(below: &str, frame: Frame, reading: Arc<Reading>) -> Router {
    let assets = AssetSet::new(&OWN_ASSETS);
    // Relative, because the path of the page may be a secret.
    let path = assets.path().trim_start_matches('/').to_owned();
    let content = Content { frame: Frame { assets: path, ..frame }, assets, reading };
    let at = |path: &str| format!("/{below}/{path}");
    Router::new()
        .route(&at(""), get(page))
        .route(&at("data.json"), get(data))
        .route(&at("next.json"), get(next))
        .route(&at("next/{file}"), get(draft))
        .route(&at("packages/{file}"), get(package))
        .route(&at("assets/{version}/{name}"), get(asset))
        .with_state(Arc::new(content))
}

/// Authorizes requests and sets the headers of every response.
async fn guard(State(port): State<u16>, request: Request, next: Next) -> Response {
    let is_ours = pages::is_for_this_machine(request.headers(), request.uri(), port);
    let mut response = if !is_ours {
        text(StatusCode::FORBIDDEN, "unknown host\n")
    } else if matches!(*request.method(), Method::GET | Method::HEAD) {
        next.run(request).await
    } else {
        let allowed = [(header::ALLOW, "GET, HEAD")];
        let refused = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        (allowed, refused).into_response()
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

type Shared = State<Arc<Content>>;

async fn page(State(shared): Shared) -> Response {
    let page = Page {
        frame: shared.frame.clone(),
        version: env!("CARGO_PKG_VERSION"),
        folder: shared.reading.folder.root().display().to_string(),
    };
    match page.render() {
        Ok(html) => content(HTML, html.into_bytes()),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "cannot render the page\n"),
    }
}

async fn asset(
    State(shared): Shared,
    Path((version, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    shared.assets.answer(&version, &name, &headers).unwrap_or_else(not_found)
}

async fn data(State(shared): Shared) -> Response {
    json(read(&shared.reading, Reading::data).await)
}

async fn next(State(shared): Shared) -> Response {
    json(read(&shared.reading, Reading::next).await)
}

async fn draft(State(shared): Shared, Path(file): Path<String>) -> Response {
    json(read(&shared.reading, move |reading| reading.draft(package_id(&file))).await)
}

async fn package(State(shared): Shared, Path(file): Path<String>) -> Response {
    json(read(&shared.reading, move |reading| reading.package(package_id(&file))).await)
}

/// The file name of a package without its extension; no package has an empty id.
fn package_id(file: &str) -> &str {
    file.strip_suffix(".json").unwrap_or_default()
}

/// Reads the store on a blocking thread.
async fn read(
    reading: &Arc<Reading>,
    work: impl FnOnce(&Reading) -> Result<Vec<u8>, ReadError> + Send + 'static,
) -> Result<Vec<u8>, ReadError> {
    let reading = Arc::clone(reading);
    tokio::task::spawn_blocking(move || work(&reading))
        .await
        .unwrap_or_else(|error| Err(ReadError::unfinished(&error)))
}

fn json(result: Result<Vec<u8>, ReadError>) -> Response {
    match result {
        Ok(bytes) => content(JSON, bytes),
        Err(trouble) => (trouble.status, content(JSON, trouble.to_bytes())).into_response(),
    }
}

fn content(media_type: &'static str, body: impl Into<axum::body::Body>) -> Response {
    ([(header::CONTENT_TYPE, media_type)], body.into()).into_response()
}

fn text(status: StatusCode, text: &'static str) -> Response {
    (status, text).into_response()
}

fn not_found() -> Response {
    text(StatusCode::NOT_FOUND, "not found\n")
}

macro_rules! asset {
    ($name:literal, $media_type:literal) => {
        Asset::new(
            $name,
            concat!($media_type, "; charset=utf-8"),
            include_str!(concat!("../../assets/", $name)),
        )
    };
}

const OWN_ASSETS: [Asset; 11] = [
    asset!("metrics.css", "text/css"),
    asset!("metrics.js", "text/javascript"),
    asset!("chart.js", "text/javascript"),
    asset!("data.js", "text/javascript"),
    asset!("detail.js", "text/javascript"),
    asset!("dom.js", "text/javascript"),
    asset!("overview.js", "text/javascript"),
    asset!("packages.js", "text/javascript"),
    asset!("route.js", "text/javascript"),
    asset!("table.js", "text/javascript"),
    asset!("words.js", "text/javascript"),
];
