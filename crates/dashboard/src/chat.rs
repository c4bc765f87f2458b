//! Requests of a conversation page: events, messages, answers, and the stop button.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{self, StreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::program::CommandError;
use crate::state::Shared;

#[derive(Debug, Deserialize)]
pub(crate) struct From {
    from: u64,
}

/// The events of a conversation from a number on.
pub(crate) async fn events(
    State(app): Shared,
    Path(id): Path<String>,
    Query(From { from }): Query<From>,
) -> Response {
    let Some(chat) = app.chats.find(&id) else { return StatusCode::NO_CONTENT.into_response() };
    let batches = stream::unfold((chat, from), |(chat, from)| async move {
        let (next, events) = chat.next_events(from).await?;
        Some((events, (chat, next)))
    });
    let event = |(at, event): (u64, Value)| {
        Ok::<_, Infallible>(Event::default().id(at.to_string()).data(event.to_string()))
    };
    let events = batches.flat_map(move |events| stream::iter(events.into_iter().map(event)));
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

#[derive(Debug, Deserialize)]
pub(crate) struct Message {
    text: String,
}

fn outcome(done: Result<(), CommandError>) -> Response {
    match done {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => {
            let body = Body::from(json!({"message": error.text()}).to_string());
            (StatusCode::UNPROCESSABLE_ENTITY, body).into_response()
        }
    }
}

/// Sends a message; a closed conversation is resumed.
pub(crate) async fn say(State(app): Shared, Path(id): Path<String>, body: Bytes) -> Response {
    let Ok(message) = serde_json::from_slice::<Message>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    outcome(match app.chats.begin(&app.program, Some(&id), None).await {
        Ok(chat) => chat.say(&message.text).await,
        Err(error) => Err(error),
    })
}

/// Answers a question of the conversation.
pub(crate) async fn answer(State(app): Shared, Path(id): Path<String>, body: Bytes) -> Response {
    let Ok(answer) = serde_json::from_slice::<Value>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let Some(chat) = app.chats.find(&id) else { return StatusCode::NOT_FOUND.into_response() };
    let line =
        json!({"type": "answer", "question": answer["question"], "answer": answer["answer"]});
    outcome(chat.send(&line).await)
}

pub(crate) async fn stop(State(app): Shared, Path(id): Path<String>) -> Response {
    if let Some(chat) = app.chats.find(&id) {
        chat.stop();
    }
    StatusCode::NO_CONTENT.into_response()
}
