//! The stored conversations: list, search, read, export, delete.

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use pages::{Frame, Html, credits, markdown, redirect};
use serde::Deserialize;
use serde_json::Value;

use crate::access::{Submitted, plain};
use crate::page::{Viewer, segment, show};
use crate::program::CommandError;
use crate::state::{App, Shared};

const PATH: &str = "/";

/// What `agent chat --list --json` says.
#[derive(Debug, Deserialize)]
struct Summary {
    id: String,
    used: String,
    messages: u64,
    first_words: String,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Search {
    #[serde(default)]
    q: String,
}

#[derive(Template)]
#[template(path = "chats.html")]
struct ChatsPage {
    frame: Frame,
    csrf: String,
    query: String,
    rows: Vec<Summary>,
    models: Vec<String>,
    no_models: String,
}

/// What `agent chat --export ID --json` says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Conversation {
    id: String,
    model: String,
    messages: Vec<Value>,
    spent: Value,
}

/// A message as the page shows it.
#[derive(Default)]
struct Shown {
    who: &'static str,
    html: Html,
    /// The name and arguments of tool calls, or of a result.
    details: Vec<(String, String)>,
    images: Vec<String>,
}

#[derive(Template)]
#[template(path = "chat.html")]
struct ChatPage {
    frame: Frame,
    csrf: String,
    path: String,
    model: String,
    spent: String,
    messages: Vec<Shown>,
    is_busy: bool,
    next_event: u64,
}

impl Summary {
    fn when(&self) -> String {
        self.used.replace('T', " ").replace('Z', " UTC")
    }
}

pub(crate) async fn list(
    State(app): Shared,
    viewer: Viewer,
    Query(search): Query<Search>,
) -> Response {
    let find = format!("--find={}", search.q);
    let mut words = vec!["chat", "--list"];
    if !search.q.is_empty() {
        words.push(&find);
    }
    let rows = app.program.json(&words).await.and_then(|mut value| {
        let rows = Vec::<Summary>::deserialize(value["conversations"].take());
        rows.map_err(|error| CommandError::new(error.to_string()))
    });
    let rows = match rows {
        Ok(rows) => rows,
        Err(error) => return viewer.problem(&app, PATH, error),
    };
    let frame = viewer.frame(&app, "Chats", PATH);
    let (models, no_models) = (Vec::new(), String::new());
    show(&ChatsPage { frame, csrf: viewer.csrf, query: search.q, rows, models, no_models })
}

/// The models to choose from, in the place of a page that would wait for the service.
pub(crate) async fn models(State(app): Shared, viewer: Viewer) -> Response {
    let (models, no_models) = match app.program.json(&["models", "--capability", "chat"]).await {
        Ok(value) => {
            let ids = value["data"].as_array().into_iter().flatten();
            let ids = ids.filter_map(|model| model["id"].as_str().map(str::to_owned));
            (ids.collect(), String::new())
        }
        Err(error) => (Vec::new(), error.text()),
    };
    let frame = viewer.frame(&app, "New chat", PATH);
    let (query, rows) = (String::new(), Vec::new());
    show(&ChatsPage { frame, csrf: viewer.csrf, query, rows, models, no_models })
}

async fn read(app: &App, id: &str) -> Result<Conversation, CommandError> {
    let value = app.program.json(&["chat", &format!("--export={id}")]).await?;
    Conversation::deserialize(value).map_err(|error| CommandError::new(error.to_string()))
}

pub(crate) async fn conversation(
    State(app): Shared,
    viewer: Viewer,
    Path(id): Path<String>,
) -> Response {
    let chat = app.chats.find(&id);
    let is_busy = chat.as_ref().is_some_and(|chat| chat.is_busy());
    let next_event = chat.as_ref().map_or(0, |chat| chat.next_event());
    let mut found = match read(&app, &id).await {
        Ok(found) => found,
        // A conversation is stored with its first message.
        Err(_) if chat.is_some() => Conversation { id: id.clone(), ..Default::default() },
        Err(error) => return viewer.problem(&app, PATH, error),
    };
    if is_busy {
        // The rest comes as events.
        let last = found.messages.iter().rposition(|message| message["role"] == "user");
        found.messages.truncate(last.map_or(0, |last| last + 1));
    }
    let title = found.messages.iter().find(|message| message["role"] == "user");
    let title = title.and_then(|message| message["text"].as_str()).unwrap_or("New chat");
    let title: String = title.lines().next().unwrap_or_default().chars().take(60).collect();
    show(&ChatPage {
        frame: viewer.frame(&app, &title, PATH),
        csrf: viewer.csrf,
        path: format!("/chats/{}", segment(&id)),
        model: found.model,
        spent: credits(found.spent["charge_micros"].as_i64().unwrap_or(0)),
        messages: found.messages.iter().filter_map(shown).collect(),
        is_busy,
        next_event,
    })
}

fn shown(message: &Value) -> Option<Shown> {
    let text = message["text"].as_str().unwrap_or_default();
    let images = message["attachments"].as_array().into_iter().flatten().filter_map(|one| {
        let mime = one["mime"].as_str().filter(|mime| {
            matches!(*mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
        })?;
        Some(format!("data:{mime};base64,{}", one["base64"].as_str()?))
    });
    let images = images.collect();
    match message["role"].as_str()? {
        "user" => Some(Shown { who: "You", html: markdown(text), images, ..Default::default() }),
        "assistant" => {
            let calls = message["calls"].as_array().into_iter().flatten();
            let details = calls.map(|call| {
                let word = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
                (format!("Calls {}", word("name")), word("arguments"))
            });
            Some(Shown { who: "Agent", html: markdown(text), details: details.collect(), images })
        }
        "tool" => {
            let name = message["name"].as_str().unwrap_or_default();
            let details = vec![(format!("Result of {name}"), text.to_owned())];
            Some(Shown { who: "", details, images, ..Default::default() })
        }
        _ => None,
    }
}

/// A conversation as Markdown.
pub(crate) async fn export(State(app): Shared, viewer: Viewer, Path(id): Path<String>) -> Response {
    match app.program.run(&["chat", &format!("--export={id}")], "").await {
        Ok(text) => {
            let mut response = Response::new(Body::from(text));
            let headers = response.headers_mut();
            let media_type = HeaderValue::from_static("text/markdown; charset=utf-8");
            headers.insert(CONTENT_TYPE, media_type);
            let name = format!("attachment; filename=\"chat-{}.md\"", segment(&id));
            headers
                .extend(HeaderValue::try_from(name).ok().map(|name| (CONTENT_DISPOSITION, name)));
            response
        }
        Err(error) => viewer.problem(&app, PATH, error),
    }
}

pub(crate) async fn delete(
    State(app): Shared,
    viewer: Viewer,
    Path(id): Path<String>,
    Extension(Submitted(_)): Extension<Submitted>,
) -> Response {
    app.chats.end(&id).await;
    match app.program.json(&["chat", &format!("--remove={id}")]).await {
        Ok(_) => redirect("/?done=deleted"),
        Err(error) => viewer.problem(&app, PATH, error),
    }
}

/// Begins a conversation with its first message.
pub(crate) async fn begin(
    State(app): Shared,
    viewer: Viewer,
    Extension(Submitted(fields)): Extension<Submitted>,
) -> Response {
    let text = fields.get("text");
    if text.is_empty() {
        return plain(StatusCode::UNPROCESSABLE_ENTITY, "Write a message.\n");
    }
    let model = Some(fields.get("model")).filter(|model| !model.is_empty());
    let begun = match app.chats.begin(&app.program, None, model).await {
        Ok(chat) => chat.say(text).await.map(|()| chat.id()),
        Err(error) => Err(error),
    };
    match begun {
        Ok(id) => redirect(&format!("/chats/{}", segment(&id))),
        Err(error) => viewer.problem(&app, PATH, error),
    }
}
