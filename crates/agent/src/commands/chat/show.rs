//! Output of chat commands.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use mcp_client::registry::RegisteredTool;
use serde_json::{Value, json};
use task_loop::conversation::Message;
use task_loop::member::credits;
use task_loop::toolbox::find;
use task_loop::untrusted::printable;
use usage_metrics::consent::Mode;
use wire::account::Me;

use super::export::markdown;
use super::session::ChatSession;
use super::slash_command;
use crate::commands::mcp::list::report::{reasons, server_json, table};
use crate::commands::mcp::tools::access;
use crate::commands::metrics::drafts;
use crate::diagnostic::{Diagnostic, Result};
use crate::metrics_recorder;
use crate::table::{Table, counted, fields, grouped};
use crate::task_printer::{shortened, size};

/// Timeout for storing the current counts.
const FLUSH: Duration = Duration::from_millis(500);
const MAX_EXCERPT_CHARS: usize = 200;

pub(super) fn help(chat: &ChatSession<'_>) -> Result {
    let all =
        slash_command::ALL.iter().map(|(name, _, does, _)| json!({"name": name, "does": does}));
    let value = json!({"type": "help", "commands": all.collect::<Value>()});
    chat.print(value, slash_command::help())
}

pub(super) async fn models(chat: &ChatSession<'_>) -> Result {
    let listed = chat.model.listed().await;
    let mut listed = listed.map_err(|trouble| chat.setup.member.diagnostic(&trouble))?;
    listed.sort_by(|one, other| one.id.cmp(&other.id));
    let mut models: Vec<Value> = Vec::new();
    let mut rows = Table::new(["", "model", "credits per call", "context"])
        .align_right(&["credits per call", "context"]);
    for one in &listed {
        let (unknown, is_current) = (|| "-".to_owned(), one.id == chat.model.id);
        models.push(json!({
            "id": one.id, "price_micros": one.price_micros,
            "context_length": one.context_length, "current": is_current,
        }));
        rows.row([
            if is_current { "*" } else { "" }.to_owned(),
            one.id.clone(),
            one.price_micros.map_or_else(unknown, credits),
            one.context_length.map_or_else(unknown, grouped),
        ]);
    }
    chat.print(json!({"type": "models", "models": models}), rows.text())
}

pub(super) fn model(chat: &ChatSession<'_>) -> Result {
    let model = &chat.model;
    let (id, price) = (printable(&model.id), credits(model.price_micros));
    let note = format!("switched to {id}: {price} credits per call");
    chat.print_or_note(json!({"type": "model", "model": model.id}), note)
}

/// The tools offered to the model, or those that match these words.
pub(super) fn tools(chat: &ChatSession<'_>, words: &str) -> Result {
    let (registry, offered) = (chat.toolbox.registry(), chat.toolbox.offered());
    let found = (!words.is_empty()).then(|| find::search(&registry, words));
    let mut rows =
        Table::new(["server", "tool", "access", "tokens", "description"]).align_right(&["tokens"]);
    let mut listed: Vec<Value> = Vec::new();
    let mut add = |entry: Option<&RegisteredTool>, name: &str, tokens: u32, description: &str| {
        let (server, name, access) = match entry {
            Some(entry) => (&*entry.server, entry.native_name(), access(entry)),
            None => ("agent", name, "reads only"),
        };
        let about = chat.setup.fleet.shown.first_line(description);
        let name = chat.setup.fleet.shown.line(name);
        let (server, access) = (server.to_owned(), access.to_owned());
        listed.push(json!({
            "server": server, "tool": name, "access": access, "tokens": tokens,
            "description": about,
        }));
        rows.row([server, name, access, grouped(tokens), about]);
    };
    if let Some(found) = &found {
        for entry in found {
            add(Some(entry), &entry.name, entry.tokens, &entry.description);
        }
    } else {
        for tool in &offered {
            add(registry.lookup(&tool.name), &tool.name, tool.tokens, &tool.description);
        }
    }
    let (count, all) = (listed.len(), registry.len());
    let tokens: u32 = offered.iter().map(|tool| tool.tokens).sum();
    if chat.output().is_json() {
        let value = json!({"type": "tools", "tools": listed, "tokens": tokens, "all": all});
        return chat.print_json(value, &rows.text());
    }
    if found.is_some() && count == 0 {
        chat.output().note(format!("no tool matches `{}`", printable(words)));
        return Ok(());
    }
    if count > 0 {
        chat.output().text(rows.text())?;
    }
    if found.is_none() {
        let offers = counted(count, "tool");
        let mut line = format!("{offers}, about {} tokens per request", grouped(tokens));
        if offered.iter().any(|tool| *tool.name == *find::NAME) {
            line.push_str(&format!("; {all} tools in total, which the model finds by search"));
        }
        chat.output().note(line);
    }
    Ok(())
}

pub(super) fn servers(chat: &ChatSession<'_>) -> Result {
    let all = chat.client.status();
    let fleet = &chat.setup.fleet;
    let servers: Vec<Value> = all.iter().map(|status| server_json(status, fleet)).collect();
    let value = json!({"type": "mcp", "servers": servers});
    if all.is_empty() {
        return chat.print_or_note(value, "this conversation has no servers");
    }
    chat.print(value, format!("{}{}", table(&all), reasons(&all, fleet)))
}

pub(super) async fn cost(chat: &ChatSession<'_>) -> Result {
    let spent = &chat.spent;
    let me: Result<Me, _> = chat.setup.member.client.get("/me").await;
    let lines = [
        ("model calls", spent.model_calls.to_string()),
        ("tool calls", spent.tool_calls.to_string()),
        (
            "tokens",
            format!("{} in, {} out", grouped(spent.input_tokens), grouped(spent.output_tokens)),
        ),
        ("spent", format!("{} credits", credits(spent.charge_micros))),
    ];
    let available = me.as_ref().ok().map(|me| me.available_micros);
    let balance = available.map(|available| ("balance", format!("{} credits", credits(available))));
    let line = |(name, value): (&str, String)| format!("{name:<12} {value}\n");
    let text: String = lines.into_iter().chain(balance).map(line).collect();
    let value = json!({"type": "cost", "spent": spent, "available_micros": available});
    chat.print(value, text)?;
    match me {
        _ if chat.output().is_json() => Ok(()),
        Ok(_) => Ok(()),
        Err(trouble) => {
            let mut diagnostic = chat.setup.member.diagnostic(&trouble);
            let cause = diagnostic.message.replace("cannot read the balance".to_owned());
            diagnostic.causes.splice(0..0, cause);
            Err(diagnostic)
        }
    }
}

pub(super) fn metrics(chat: &ChatSession<'_>) -> Result {
    let (_, decision) = metrics_recorder::decision(chat.session)?;
    if decision.mode != Mode::Local {
        let note = "Recording is off. Turn it on with `agent metrics on`.";
        return chat.print_or_note(json!({"type": "metrics", "recording": false}), note);
    }
    let _ = chat.setup.recorder.flush(FLUSH);
    let drafts = drafts(chat.session)?;
    let Some(next) = drafts.first() else {
        chat.output().note("Nothing was counted since the last package.");
        return Ok(());
    };
    let bytes = next.to_bytes();
    if chat.output().is_json() {
        let package: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let value = json!({"type": "metrics", "recording": true, "package": package});
        return chat.print_json(value, &String::from_utf8_lossy(&bytes));
    }
    chat.output().bytes(&bytes)?;
    if drafts.len() > 1 {
        let count = drafts.len();
        chat.output().note(format!("This is the first of {count} packages."));
    }
    Ok(())
}

pub(super) fn history(chat: &ChatSession<'_>) -> Result {
    let messages = chat.conversation.messages().iter();
    let said = messages.filter(|message| !matches!(message, Message::System { .. }));
    let said: Vec<&Message> = said.collect();
    let value = json!({"type": "history", "messages": said});
    if said.is_empty() {
        return chat.print_or_note(value, "No messages yet.");
    }
    let lines: Vec<(&str, String)> = said.into_iter().map(excerpt).collect();
    chat.print(value, fields(&lines))
}

pub(super) fn save(chat: &ChatSession<'_>, file: &str) -> Result {
    let id = chat.record.id();
    let path = match (file, file.strip_prefix("~/"), &chat.session.environment.home) {
        ("", ..) => PathBuf::from(format!("chat-{id}.md")),
        (_, Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(file),
    };
    let shown = path.display();
    let text = markdown(&id, &chat.model.id, chat.conversation.messages());
    let text = chat.setup.fleet.shown.whole(&text);
    let file = fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let is_there = error.kind() == io::ErrorKind::AlreadyExists;
        let hint = is_there.then_some("existing files are not overwritten; choose another name");
        Diagnostic::failed(format!("cannot write {shown}"))
            .because(&error)
            .hints(hint.map(str::to_owned))
    })?;
    let value = json!({"type": "saved", "path": path.to_string_lossy()});
    chat.print_or_note(value, format!("saved to {shown}"))
}

/// The author of a message, and its beginning.
pub(super) fn excerpt(message: &Message) -> (&'static str, String) {
    let (who, text) = match message {
        Message::System { text } => ("told", text.clone()),
        Message::User { text, .. } => ("you", text.clone()),
        Message::Assistant { text, calls } => {
            let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
            let called = names.join(", ");
            ("agent", if names.is_empty() { text.clone() } else { format!("{text} [{called}]") })
        }
        Message::Tool { name, text, .. } => ("tool", format!("{name}, {}", size(text.len()))),
    };
    let attached: Vec<String> =
        message.attachments().iter().map(|one| format!(" [{one}]")).collect();
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ") + &attached.concat();
    (who, shortened(&printable(&text), MAX_EXCERPT_CHARS))
}
