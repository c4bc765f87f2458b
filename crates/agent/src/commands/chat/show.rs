//! What commands of a conversation show.

use std::time::Duration;

use serde_json::{Value, json};
use usage_metrics::consent::Mode;
use wire::account::Me;

use super::session::ChatSession;
use super::slash_command;
use crate::commands::mcp::list::report::{reasons, server_json, table};
use crate::commands::mcp::tools::access;
use crate::commands::metrics::show::drafts;
use crate::diagnostic::Diagnostic;
use crate::mcp::table::{Alignment, Table, counted, grouped};
use crate::member::credits;
use crate::metrics_recorder;
use crate::output::printable;
use crate::task::conversation::Message;
use crate::task::toolbox::find;
use crate::task_printer::{shortened, size};

/// How long the counts of this moment may take to be stored.
const FLUSH: Duration = Duration::from_millis(500);
/// How much of a message is shown in a line where no terminal says how wide it is.
const MAX_LINE_CHARS: usize = 200;

pub(super) fn help(talk: &ChatSession<'_>) -> Result<(), Diagnostic> {
    if talk.output().is_json() {
        let all =
            slash_command::ALL.iter().map(|known| json!({"name": known.name, "does": known.does}));
        return told(talk, json!({"type": "help", "commands": all.collect::<Vec<_>>()}));
    }
    talk.output().text(slash_command::help())
}

pub(super) async fn models(talk: &ChatSession<'_>) -> Result<(), Diagnostic> {
    let listed = talk.model.listed().await;
    let mut listed = listed.map_err(|trouble| talk.bench.member.diagnostic(&trouble))?;
    listed.sort_by(|one, other| one.id.cmp(&other.id));
    if talk.output().is_json() {
        let all = listed.iter().map(|one| {
            json!({
                "id": one.id, "price_micros": one.price_micros,
                "context_length": one.context_length, "current": one.id == talk.model.id,
            })
        });
        return told(talk, json!({"type": "models", "models": all.collect::<Vec<_>>()}));
    }
    let mut rows = Table::new([
        ("", Alignment::Left),
        ("model", Alignment::Left),
        ("credits a call", Alignment::Right),
        ("context", Alignment::Right),
    ]);
    for one in &listed {
        let unknown = || "-".to_owned();
        rows.row([
            if one.id == talk.model.id { "*" } else { "" }.to_owned(),
            one.id.clone(),
            one.price_micros.map_or_else(unknown, credits),
            one.context_length.map_or_else(unknown, grouped),
        ]);
    }
    talk.output().text(rows.text())
}

pub(super) fn model(talk: &ChatSession<'_>) -> Result<(), Diagnostic> {
    let model = &talk.model;
    if talk.output().is_json() {
        return told(talk, json!({"type": "model", "model": model.id}));
    }
    let price = credits(model.price_micros);
    let id = printable(&model.id);
    talk.output().note(format!("{id} answers from now on; a call costs {price} credits"));
    Ok(())
}

/// What the model is offered, or what these words find.
pub(super) fn tools(talk: &ChatSession<'_>, words: &str) -> Result<(), Diagnostic> {
    let registry = talk.toolbox.registry();
    let offered = talk.toolbox.offered();
    let found: Option<Vec<_>> =
        (!words.is_empty()).then(|| find::search(&registry, words).into_iter().collect());
    let mut rows = Table::new([
        ("server", Alignment::Left),
        ("tool", Alignment::Left),
        ("access", Alignment::Left),
        ("tokens", Alignment::Right),
        ("description", Alignment::Left),
    ]);
    let mut listed: Vec<Value> = Vec::new();
    let mut add = |server: &str, name: &str, access: &str, tokens: u32, description: &str| {
        let about = talk.bench.fleet.shown.first_line(description);
        let name = talk.bench.fleet.shown.line(name);
        let (server, access) = (server.to_owned(), access.to_owned());
        listed.push(json!({
            "server": server, "tool": name, "access": access, "tokens": tokens,
            "description": about,
        }));
        rows.row([server, name, access, grouped(tokens), about]);
    };
    if let Some(found) = &found {
        for entry in found {
            add(
                &entry.server,
                entry.native_name(),
                access(entry),
                entry.tokens,
                &entry.description,
            );
        }
    } else {
        for tool in &offered {
            match registry.lookup(&tool.name) {
                Some(entry) => {
                    let how = access(entry);
                    add(&entry.server, entry.native_name(), how, tool.tokens, &tool.description);
                }
                None => add("agent", &tool.name, "reads only", tool.tokens, &tool.description),
            }
        }
    }
    let count = listed.len();
    if talk.output().is_json() {
        let tokens: u32 = offered.iter().map(|tool| tool.tokens).sum();
        let all = registry.len();
        let value = json!({"type": "tools", "tools": listed, "tokens": tokens, "all": all});
        return told(talk, value);
    }
    if found.is_some() && count == 0 {
        talk.output().note(format!("no tool fits `{}`", printable(words)));
        return Ok(());
    }
    if count > 0 {
        talk.output().text(fitted(talk, &rows.text()))?;
    }
    if found.is_none() {
        let tokens: u32 = offered.iter().map(|tool| tool.tokens).sum();
        let offers = counted(count, "tool");
        let mut line = format!("{offers}, about {} tokens in every request", grouped(tokens));
        let is_found = offered.iter().any(|tool| *tool.name == *find::NAME);
        if is_found {
            let all = registry.len();
            line.push_str(&format!("; {all} in all, found by the model with its words"));
        }
        talk.output().note(line);
    }
    Ok(())
}

/// How each server is.
pub(super) fn servers(talk: &ChatSession<'_>) -> Result<(), Diagnostic> {
    let all = talk.client.status();
    let fleet = &talk.bench.fleet;
    if talk.output().is_json() {
        let servers: Vec<Value> = all.iter().map(|status| server_json(status, fleet)).collect();
        return told(talk, json!({"type": "mcp", "servers": servers}));
    }
    if all.is_empty() {
        talk.output().note("this conversation has no servers");
        return Ok(());
    }
    talk.output().text(table(&all))?;
    talk.output().text(reasons(&all, fleet))
}

/// What this conversation has cost.
pub(super) async fn cost(talk: &ChatSession<'_>) -> Result<(), Diagnostic> {
    let spent = &talk.spent;
    let me: Result<Me, _> = talk.bench.member.get("/me").await;
    if talk.output().is_json() {
        let available = me.as_ref().ok().map(|me| me.available_micros);
        let value = json!({"type": "cost", "spent": spent, "available_micros": available});
        return told(talk, value);
    }
    let lines = [
        ("model calls", spent.model_calls.to_string()),
        ("tool calls", spent.tool_calls.to_string()),
        (
            "tokens",
            format!("{} in, {} out", grouped(spent.input_tokens), grouped(spent.output_tokens)),
        ),
        ("spent", format!("{} credits", credits(spent.charge_micros))),
    ];
    let mut text = String::new();
    for (name, value) in lines {
        text.push_str(&format!("{name:<12} {value}\n"));
    }
    if let Ok(me) = &me {
        let available = credits(me.available_micros);
        text.push_str(&format!("{:<12} {available} credits\n", "balance"));
    }
    talk.output().text(text)?;
    match me {
        Ok(_) => Ok(()),
        Err(trouble) => {
            let mut diagnostic = talk.bench.member.diagnostic(&trouble);
            let cause = diagnostic.message.replace("the balance is not known".to_owned());
            diagnostic.causes.splice(0..0, cause);
            Err(diagnostic)
        }
    }
}

/// What would be in the next package.
pub(super) fn metrics(talk: &ChatSession<'_>) -> Result<(), Diagnostic> {
    let (_, decision) = metrics_recorder::decision(talk.session)?;
    if decision.mode != Mode::Local {
        if talk.output().is_json() {
            return told(talk, json!({"type": "metrics", "recording": false}));
        }
        talk.output().note("recording is off; `agent metrics on` turns it on");
        return Ok(());
    }
    let _ = talk.bench.recorder.flush(FLUSH);
    let drafts = drafts(talk.session)?;
    let Some(next) = drafts.first() else {
        talk.output().note("nothing was counted since the last package");
        return Ok(());
    };
    if talk.output().is_json() {
        let package: Value = serde_json::from_slice(&next.to_bytes()).unwrap_or_default();
        return told(talk, json!({"type": "metrics", "recording": true, "package": package}));
    }
    talk.output().bytes(&next.to_bytes())?;
    if drafts.len() > 1 {
        let count = drafts.len();
        talk.output().note(format!("this is the first of {count} packages"));
    }
    Ok(())
}

/// What was said, in a line each.
pub(super) fn history(talk: &ChatSession<'_>) -> Result<(), Diagnostic> {
    let messages = talk.conversation.messages().iter();
    let said = messages.filter(|message| !matches!(message, Message::System { .. }));
    if talk.output().is_json() {
        let messages: Vec<&Message> = said.collect();
        return told(talk, json!({"type": "history", "messages": messages}));
    }
    let lines: Vec<String> = said.map(line).collect();
    if lines.is_empty() {
        talk.output().note("nothing was said yet");
        return Ok(());
    }
    talk.output().text(fitted(talk, &format!("{}\n", lines.join("\n"))))
}

/// A message in a line.
pub(super) fn line(message: &Message) -> String {
    let (who, text) = match message {
        Message::System { text } => ("told", text.clone()),
        Message::User { text } => ("you", text.clone()),
        Message::Assistant { text, calls } => {
            let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
            match (text.is_empty(), names.is_empty()) {
                (_, true) => ("agent", text.clone()),
                (true, false) => ("agent", format!("[{}]", names.join(", "))),
                (false, false) => ("agent", format!("{text} [{}]", names.join(", "))),
            }
        }
        Message::Tool { name, text, .. } => ("tool", format!("{name}, {}", size(text.len()))),
    };
    let text: Vec<&str> = text.split_whitespace().collect();
    format!("{who:<5}  {}", shortened(&printable(&text.join(" ")), MAX_LINE_CHARS))
}

/// Lines that fit the terminal, if there is one.
fn fitted(talk: &ChatSession<'_>, text: &str) -> String {
    let Some(width) = talk.output().columns() else { return text.to_owned() };
    let lines: Vec<String> = text.lines().map(|line| shortened(line, width)).collect();
    format!("{}\n", lines.join("\n"))
}

/// Writes what a program asked for, without secrets.
pub(super) fn told(talk: &ChatSession<'_>, value: Value) -> Result<(), Diagnostic> {
    talk.output().json_line(&talk.bench.fleet.shown.json(value))
}
