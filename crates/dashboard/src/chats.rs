//! The stored conversations: list, search, read, export, delete.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::IntoResponse as _;
use pages::{Frame, Html, credits, markdown, redirect};
use serde::Deserialize;
use serde_json::Value;

use crate::access::plain;
use crate::page::{PageResult, Viewer, segment, show};

/// Output of `agent chat --list --json`.
#[derive(Debug, Deserialize)]
struct Summary {
    id: String,
    used: String,
    messages: u64,
    first_words: String,
}

#[derive(Template)]
#[template(path = "chats.html")]
struct ChatsPage<'a> {
    frame: Frame,
    query: &'a str,
    rows: Vec<Summary>,
}

#[derive(Template)]
#[template(path = "new_chat.html")]
struct NewChatPage {
    frame: Frame,
    models: Vec<String>,
}

/// Output of `agent chat --export ID --json`.
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
    /// The steps of a plan, and their states.
    plan: Vec<PlanStep>,
    images: Vec<String>,
    sounds: Vec<String>,
}

/// The arguments of `update_plan`.
#[derive(Debug, Deserialize)]
struct Plan {
    plan: Vec<PlanStep>,
}

#[derive(Debug, Deserialize)]
struct PlanStep {
    step: String,
    status: String,
}

#[derive(Template)]
#[template(path = "chat.html")]
struct ChatPage {
    frame: Frame,
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

pub(crate) async fn list(viewer: Viewer) -> PageResult {
    let query = viewer.query.get("q");
    let find = format!("--find={query}");
    let words: &[&str] =
        if query.is_empty() { &["chat", "--list"] } else { &["chat", "--list", &find] };
    let rows = viewer.app.program.list("conversations", words).await?;
    show(&ChatsPage { frame: viewer.frame("Chats"), query, rows })
}

/// The list of models, loaded separately because the page would wait for the service.
pub(crate) async fn models(viewer: Viewer) -> PageResult {
    let found = viewer.app.program.json(&["models", "--capability", "chat"]).await;
    let frame = viewer.form_frame("New chat", found.as_ref().err());
    let found = found.unwrap_or_default();
    let models = found["data"].as_array().into_iter().flatten();
    let models = models.filter_map(|model| model["id"].as_str().map(str::to_owned)).collect();
    show(&NewChatPage { frame, models })
}

pub(crate) async fn conversation(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    let chat = viewer.app.chats.find(&id);
    let (said, mut next_event) = chat.as_ref().map_or((None, 0), |chat| chat.open_message());
    let is_busy = said.is_some();
    let read = viewer.app.program.read(&["chat", &format!("--export={id}")]).await;
    let mut found: Conversation = match read {
        // A conversation is stored only with its first message.
        Err(_) if chat.is_some() => Conversation { id: id.clone(), ..Default::default() },
        read => read?,
    };
    if let Some(said) = said {
        // The rest arrives as events, with the message if it is not stored yet.
        let last = found.messages.iter().rposition(|message| message["role"] == "user");
        let is_said = |at: &usize| {
            let text = found.messages[*at]["text"].as_str();
            text.is_some_and(|text| text.starts_with(said.trim()))
        };
        match last.filter(is_said) {
            Some(last) => found.messages.truncate(last + 1),
            None => next_event -= 1,
        }
    }
    let title = found.messages.iter().find(|message| message["role"] == "user");
    let title = title.and_then(|message| message["text"].as_str()).unwrap_or("New chat");
    let title: String = title.lines().next().unwrap_or_default().chars().take(60).collect();
    show(&ChatPage {
        frame: viewer.frame(&title),
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
    let media = |kinds: &[&str]| {
        let attached = message["attachments"].as_array().into_iter().flatten();
        let media = attached.filter_map(|one| {
            let mime = one["mime"].as_str().filter(|mime| kinds.contains(mime))?;
            Some(format!("data:{mime};base64,{}", one["data"].as_str()?))
        });
        media.collect()
    };
    let mut shown = Shown {
        images: media(&["image/png", "image/jpeg", "image/gif", "image/webp"]),
        sounds: media(&["audio/wav", "audio/mpeg"]),
        ..Default::default()
    };
    match message["role"].as_str()? {
        "user" => (shown.who, shown.html) = ("You", markdown(text)),
        "assistant" => {
            (shown.who, shown.html) = ("Agent", markdown(text));
            for call in message["calls"].as_array().into_iter().flatten() {
                let word = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
                let (name, arguments) = (word("name"), word("arguments"));
                let plan = Some(&arguments).filter(|_| name == "update_plan");
                match plan.and_then(|plan| serde_json::from_str(plan).ok()) {
                    Some(Plan { plan }) => shown.plan = plan,
                    None => shown.details.push((format!("Calls {name}"), arguments)),
                }
            }
        }
        "tool" => {
            let name = message["name"].as_str().unwrap_or_default();
            shown.details.push((format!("Result of {name}"), text.to_owned()));
        }
        _ => return None,
    }
    Some(shown)
}

impl PlanStep {
    fn state(&self) -> &str {
        match self.status.as_str() {
            "completed" => "done",
            "in_progress" => "in progress",
            other => other,
        }
    }
}

/// A conversation as Markdown.
pub(crate) async fn export(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    let text = viewer.app.program.run(&["chat", &format!("--export={id}")], "").await?;
    let name = format!("attachment; filename=\"chat-{}.md\"", segment(&id));
    let media_type = "text/markdown; charset=utf-8".to_owned();
    Ok(([(CONTENT_TYPE, media_type), (CONTENT_DISPOSITION, name)], text).into_response())
}

pub(crate) async fn delete(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    viewer.app.chats.end(&id).await;
    viewer.app.program.json(&["chat", &format!("--remove={id}")]).await?;
    Ok(redirect("/?done=deleted"))
}

/// Starts a conversation with its first message.
pub(crate) async fn begin(viewer: Viewer) -> PageResult {
    let text = viewer.form.get("text");
    if text.is_empty() {
        return Ok(plain(StatusCode::UNPROCESSABLE_ENTITY, "Write a message.\n"));
    }
    let model = Some(viewer.form.get("model")).filter(|model| !model.is_empty());
    let chat = viewer.app.chats.begin(&viewer.app.program, None, model).await?;
    chat.say(text).await?;
    Ok(redirect(&format!("/chats/{}", segment(&chat.id()))))
}
