//! The server: routes, the socket for later commands, and the idle exit.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path as UrlPath, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use pages::{Asset, AssetSet};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, UnixListener, UnixStream};

use crate::access::{Access, Links, plain};
use crate::guard::guard;
use crate::jobs::Jobs;
use crate::live_chat::LiveChats;
use crate::program::Program;
use crate::server_watch::ServerWatch;
use crate::state::{App, Shared};
use crate::{chat, chats, install, job_page, server_edit, servers, sign_in, stored, tools};

const OWN_ASSETS: [Asset; 2] = [
    Asset::new("chat.js", "text/javascript; charset=utf-8", include_str!("../assets/chat.js")),
    Asset::new("dashboard.css", "text/css; charset=utf-8", include_str!("../assets/dashboard.css")),
];
const CHECK: Duration = Duration::from_secs(1);
const MAX_REQUEST_BYTES: u64 = 64 * 1024;
const MAX_ANSWER: Duration = Duration::from_secs(5);

/// Options of the dashboard.
#[derive(Debug)]
pub struct Options {
    /// The program that runs the commands.
    pub program: Program,
    /// The socket on which later commands request links. Its folder is private.
    pub socket: PathBuf,
    /// The routes below `/metrics/`.
    pub metrics: Router,
    /// Idle time after which it exits.
    pub idle: Duration,
}

/// Waits while another dashboard starts; until the file is closed, others wait.
pub fn lock_start(socket: &Path) -> io::Result<fs::File> {
    let path = socket.with_extension("lock");
    let lock = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    lock.lock()?;
    Ok(lock)
}

/// Requests the URL of a page, or of the dialog of an install link, from the running
/// dashboard. `None` if none runs.
pub async fn ask_running(
    socket: &Path,
    path: &str,
    link: Option<&str>,
) -> io::Result<Option<String>> {
    let asked = async {
        let mut stream = UnixStream::connect(socket).await.ok()?;
        let request = json!({"path": path, "link": link});
        stream.write_all(format!("{request}\n").as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.take(MAX_REQUEST_BYTES).read_to_string(&mut answer).await.ok()?;
        serde_json::from_str::<Value>(&answer).ok()
    };
    let answer = tokio::time::timeout(MAX_ANSWER, asked).await;
    let answer = answer.map_err(|_| io::Error::other("it does not answer"))?.unwrap_or_default();
    match answer["error"].as_str() {
        Some(error) => Err(io::Error::other(error.to_owned())),
        None => Ok(answer["address"].as_str().map(str::to_owned)),
    }
}

/// Serves until `stop` completes or the idle time is over. `opened` gets the first URL.
pub async fn serve(
    listener: TcpListener,
    options: Options,
    (path, link): (&str, Option<&str>),
    opened: impl FnOnce(String),
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let Options { program, socket, metrics, idle } = options;
    let app = Arc::new(App {
        program,
        access: Access::new(listener.local_addr()?.port()),
        assets: AssetSet::new(&OWN_ASSETS),
        servers: ServerWatch::default(),
        chats: LiveChats::default(),
        jobs: Jobs::default(),
        links: Links::default(),
    });
    let later = listen(&socket)?;
    let id = |socket| fs::metadata(socket).map(|file| (file.dev(), file.ino())).ok();
    let own = id(&socket);
    opened(address(&app, path, link)?);
    let routes = router(&app, metrics).into_make_service_with_connect_info::<SocketAddr>();
    let served = axum::serve(listener, routes).into_future();
    let result = tokio::select! {
        result = served => result,
        () = answer_later(&app, &later) => Ok(()),
        () = idle_end(&app, idle) => Ok(()),
        () = stop => Ok(()),
    };
    // It may be that of a newer dashboard.
    if id(&socket) == own {
        let _ = fs::remove_file(&socket);
    }
    app.chats.end_all().await;
    result
}

fn router(app: &Arc<App>, metrics: Router) -> Router {
    Router::new()
        .route("/", get(chats::list))
        .route("/chats", get(chats::models).post(chats::begin))
        .route("/chats/{id}", get(chats::conversation))
        .route("/chats/{id}/export", get(chats::export))
        .route("/chats/{id}/delete", post(chats::delete))
        .route("/chats/{id}/messages", post(chat::say))
        .route("/chats/{id}/events", get(chat::events))
        .route("/chats/{id}/answers", post(chat::answer))
        .route("/chats/{id}/stop", post(chat::stop))
        .route("/servers", get(servers::list))
        .route("/servers-add", get(server_edit::add_form).post(server_edit::add))
        .route("/servers-import", get(server_edit::import_form).post(server_edit::import))
        .route("/servers/{name}", get(servers::details))
        .route("/servers/{name}/edit", get(server_edit::edit_form).post(server_edit::edit))
        .route("/servers/{name}/tools", get(tools::list).post(tools::choose))
        .route("/servers/{name}/tools/{tool}", get(tools::form).post(tools::call))
        .route("/servers/{name}/do/{action}", post(servers::change))
        .route("/install/{id}", get(install::dialog).post(install::answer))
        .route("/sign-ins", get(sign_in::list))
        .route("/sign-ins/{server}/{action}", post(sign_in::change))
        .route("/approvals", get(stored::approvals).post(stored::revoke))
        .route("/skills", get(stored::skills))
        .route("/skills/{name}", get(stored::skill))
        .route("/skills/{name}/{action}", post(stored::change_skill))
        .route("/models", get(stored::models))
        .route("/models/{name}/{action}", post(stored::change_model))
        .route("/jobs/{id}", get(job_page::page))
        .route("/alive", get(async || StatusCode::NO_CONTENT))
        .route("/assets/{version}/{name}", get(asset))
        .with_state(Arc::clone(app))
        .merge(metrics)
        .fallback(async || plain(StatusCode::NOT_FOUND, "There is no such page.\n"))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(app), guard))
}

async fn asset(
    State(app): Shared,
    UrlPath((version, name)): UrlPath<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let found = app.assets.answer(&version, &name, &headers);
    found.unwrap_or_else(|| plain(StatusCode::NOT_FOUND, "There is no such file.\n"))
}

fn address(app: &App, path: &str, link: Option<&str>) -> io::Result<String> {
    let dialog = link.map(|link| app.links.add(link)).transpose()?;
    app.access.link(dialog.as_deref().unwrap_or(path))
}

/// Opens the socket for this user only, replacing an abandoned one.
fn listen(socket: &Path) -> io::Result<UnixListener> {
    if let Err(error) = fs::remove_file(socket)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(error);
    }
    let listener = UnixListener::bind(socket)?;
    fs::set_permissions(socket, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Sends links to later commands.
async fn answer_later(app: &Arc<App>, listener: &UnixListener) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(CHECK).await;
            continue;
        };
        let app = Arc::clone(app);
        tokio::spawn(async move {
            let _ = tokio::time::timeout(MAX_ANSWER, answer_one(&app, stream)).await;
        });
    }
}

async fn answer_one(app: &App, stream: UnixStream) -> Option<()> {
    let (read, mut write) = stream.into_split();
    let mut line = String::new();
    BufReader::new(read.take(MAX_REQUEST_BYTES)).read_line(&mut line).await.ok()?;
    let request: Value = serde_json::from_str(&line).ok()?;
    let path = request["path"].as_str().filter(|path| path.starts_with('/')).unwrap_or("/");
    let answer = match address(app, path, request["link"].as_str()) {
        Ok(address) => json!({"address": address}),
        Err(error) => json!({"error": error.to_string()}),
    };
    write.write_all(answer.to_string().as_bytes()).await.ok()
}

/// Completes after the idle time without requests and running work.
async fn idle_end(app: &App, idle: Duration) {
    loop {
        tokio::time::sleep(CHECK.min(idle)).await;
        let is_working = app.chats.is_any_busy() || app.jobs.is_busy();
        if !is_working && app.access.last_request().elapsed() > idle {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
