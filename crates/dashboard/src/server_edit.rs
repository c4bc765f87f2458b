//! Forms that add servers and edit all keys of one.

use std::sync::Arc;

use askama::Template;
use axum::extract::Path;
use pages::{Fields, Frame, redirect};
use serde_json::{Map, Value, json};

use crate::install::Preview;
use crate::job_page;
use crate::page::{PageResult, Viewer, show};
use crate::program::{CommandError, list};
use crate::servers::{Configuration, Problem, path, saved};

#[derive(Template)]
#[template(path = "server_add.html")]
struct AddPage<'a> {
    frame: Frame,
    form: &'a Fields,
    /// Servers to add, after the person's review.
    previews: Vec<Preview>,
    /// The configuration with these servers.
    confirmed: String,
}

#[derive(Template)]
#[template(path = "server_edit.html")]
struct EditPage {
    frame: Frame,
    path: String,
    config: String,
    name: String,
    keys: Vec<EditedKey>,
}

/// A key with its documentation, its value in the file, and its problem.
struct EditedKey {
    name: String,
    about: String,
    default: String,
    value: String,
    rows: usize,
    problems: Vec<Problem>,
}

pub(crate) async fn add_form(viewer: Viewer) -> PageResult {
    add_page(&viewer, Ok(None))
}

/// The form, or the servers `previewed` from this configuration.
fn add_page(
    viewer: &Viewer,
    previewed: Result<Option<(String, Vec<Preview>)>, CommandError>,
) -> PageResult {
    let frame = viewer.form_frame("Add a server", previewed.as_ref().err());
    let (confirmed, previews) = previewed.ok().flatten().unwrap_or_default();
    show(&AddPage { frame, form: &viewer.form, previews, confirmed })
}

/// Shows the servers to add; adds them after confirmation.
pub(crate) async fn add(viewer: Viewer) -> PageResult {
    let confirmed = viewer.form.get("confirmed");
    if confirmed.is_empty() {
        return add_page(&viewer, preview(&viewer).await.map(Some));
    }
    let words = ["mcp", "add", "--yes", "--paste", "-"];
    match viewer.app.program.json_with(&words, confirmed).await {
        Ok(added) => {
            let added = added["added"].as_array().into_iter().flatten();
            let names: Vec<&str> = added.filter_map(|server| server["name"].as_str()).collect();
            viewer.app.chats.reload(&names).await;
            Ok(redirect("/servers?done=added"))
        }
        Err(error) => add_page(&viewer, Err(error)),
    }
}

/// The configuration in the form, and the servers to add.
async fn preview(viewer: &Viewer) -> Result<(String, Vec<Preview>), CommandError> {
    let text = match viewer.form.get("pasted") {
        "" => typed(&viewer.form).map_err(CommandError::new)?,
        pasted => pasted.to_owned(),
    };
    let words = ["mcp", "add", "--preview", "--paste", "-"];
    let previews = list("servers", viewer.app.program.json_with(&words, &text).await?)?;
    Ok((text, previews))
}

/// The form as a configuration entry, as the documentation of a server has it.
fn typed(fields: &Fields) -> Result<String, String> {
    let (name, reached_by) = (fields.get("name"), fields.get("reached_by"));
    if name.is_empty() || reached_by.is_empty() {
        let message = "Enter a name, and a command or an address; or paste a configuration";
        return Err(message.to_owned());
    }
    let is_remote = reached_by.starts_with("http://") || reached_by.starts_with("https://");
    let mut pairs = Map::new();
    for line in fields.get("variables").lines().map(str::trim).filter(|line| !line.is_empty()) {
        let separators: &[char] = if is_remote { &[':', '='] } else { &['='] };
        let Some((name, value)) = line.split_once(separators) else {
            let form = if is_remote { "Name: value" } else { "NAME=value" };
            return Err(format!("Write each line of variables or headers as {form}"));
        };
        pairs.insert(name.trim().to_owned(), value.trim().into());
    }
    let mut entry = if is_remote {
        json!({"url": reached_by, "headers": pairs})
    } else {
        // The reader splits the arguments like a shell.
        let (command, args) =
            reached_by.split_once(char::is_whitespace).unwrap_or((reached_by, ""));
        json!({"command": command, "args": args.trim(), "env": pairs})
    };
    if let Some(entry) = entry.as_object_mut() {
        entry.retain(|_, value| *value != json!({}) && *value != "");
    }
    Ok(json!({"mcpServers": {name: entry}}).to_string())
}

#[derive(Template)]
#[template(path = "server_import.html")]
struct ImportPage {
    frame: Frame,
    found: String,
}

/// Shows the servers of other clients on this machine.
pub(crate) async fn import_form(viewer: Viewer) -> PageResult {
    let found = viewer.app.program.run(&["mcp", "import", "--dry-run"], "").await?;
    let found = String::from_utf8_lossy(&found).into_owned();
    show(&ImportPage { frame: viewer.frame("Servers of other clients"), found })
}

pub(crate) async fn import(viewer: Viewer) -> PageResult {
    let app = Arc::clone(&viewer.app);
    let before = Configuration::read(&app).await?;
    // Running conversations start the new servers.
    let reload = async move {
        if let Ok(after) = Configuration::read(&app).await {
            let names = after.servers.iter().map(|server| server.name.as_str());
            let new: Vec<&str> = names.filter(|name| before.find(name).is_err()).collect();
            app.chats.reload(&new).await;
        }
    };
    let words = ["mcp", "import", "--yes"];
    job_page::start_then(&viewer, "Import of servers".to_owned(), &words, reload)
}

pub(crate) async fn edit_form(viewer: Viewer, Path(name): Path<String>) -> PageResult {
    edit_page(&viewer, &name, None).await
}

async fn edit_page(viewer: &Viewer, name: &str, error: Option<CommandError>) -> PageResult {
    let configuration = Configuration::read(&viewer.app).await?;
    let server = configuration.find(name)?;
    let schema = viewer.app.program.json(&["config", "schema"]).await?;
    let schema = &schema["properties"]["mcp_servers"]["additionalProperties"];
    let mut keys = Vec::new();
    add_keys("", schema, &server.entry, &mut keys);
    let of_server = |problem: &&Problem| problem.server.as_deref() == Some(name);
    for key in &mut keys {
        let at_key = |problem: &&Problem| {
            let at = problem.key.as_deref().unwrap_or_default();
            at == key.name
                || at.strip_prefix(&key.name).is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        key.problems =
            configuration.problems.iter().filter(of_server).filter(at_key).cloned().collect();
        let field = format!("key.{}", key.name);
        if let Some(typed) = viewer.form.all(&field).next() {
            typed.clone_into(&mut key.value);
        }
        key.rows = key.value.lines().count().clamp(1, 12);
    }
    show(&EditPage {
        frame: viewer.form_frame(&format!("Edit {name}"), error.as_ref()),
        path: path(name),
        config: configuration.config.clone(),
        name: name.to_owned(),
        keys,
    })
}

/// The keys of a mapping and of nested ones, each by its full name.
fn add_keys(prefix: &str, schema: &Value, entry: &Value, keys: &mut Vec<EditedKey>) {
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let full = format!("{prefix}{name}");
        let value = &entry[name];
        let inner = mapping(schema);
        // A short form, such as `tools: [a]`, is edited as it is.
        if let Some(inner) = inner.filter(|_| value.is_null() || value.is_object()) {
            add_keys(&format!("{full}."), inner, value, keys);
            continue;
        }
        keys.push(EditedKey {
            name: full,
            about: schema["description"].as_str().unwrap_or_default().to_owned(),
            default: match &schema["default"] {
                Value::Null => String::new(),
                default => written(default),
            },
            value: written(value),
            rows: 1,
            problems: Vec::new(),
        });
    }
}

/// The schema with the keys of a mapping, which may be one of several forms.
fn mapping(schema: &Value) -> Option<&Value> {
    // Headers and variables have keys of any name, and are edited whole.
    let has_keys =
        |schema: &&Value| schema["properties"].as_object().is_some_and(|it| !it.is_empty());
    let forms = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array());
    std::iter::once(schema).chain(forms.into_iter().flatten()).find(has_keys)
}

/// A value as the person types it: strings plain, everything else as JSON.
fn written(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if serde_json::from_str::<Value>(text).is_err() => text.clone(),
        Value::Array(_) | Value::Object(_) => {
            serde_json::to_string_pretty(value).unwrap_or_default()
        }
        other => other.to_string(),
    }
}

/// Saves only the changed keys.
pub(crate) async fn edit(viewer: Viewer, Path(name): Path<String>) -> PageResult {
    let fields = &viewer.form;
    let changed: Vec<String> = fields
        .iter()
        .filter_map(|(field, text)| {
            let key = field.strip_prefix("key.")?;
            let text = text.replace("\r\n", "\n");
            let before = fields.get(&format!("before.{key}")).replace("\r\n", "\n");
            let value = if text.trim().is_empty() { "null" } else { text.trim() };
            (text.trim() != before.trim()).then(|| format!("{key}={value}"))
        })
        .collect();
    if changed.is_empty() {
        return Ok(redirect(&path(&name)));
    }
    let mut words = vec!["mcp", "set", "--", &name];
    words.extend(changed.iter().map(String::as_str));
    match viewer.app.program.json(&words).await {
        Ok(_) => Ok(saved(&viewer, &name, "saved").await),
        Err(error) => edit_page(&viewer, &name, Some(error)).await,
    }
}
