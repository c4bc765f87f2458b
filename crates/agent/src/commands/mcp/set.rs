//! `agent mcp set`, `enable` and `disable`: set single keys of servers.

use mcp_client::config::{Problem, parse_entry};
use serde_json::{Value, json};
use task_loop::Sanitizer;
use task_loop::untrusted::printable;

use crate::config::lock;
use crate::config::servers::ServersFile;
use crate::diagnostic::{Diagnostic, Result};
use crate::key_value;
use crate::mcp::McpServers;
use crate::mcp::reporter::MessageSink;
use crate::output::GOOD;
use crate::session::Session;

/// How a hidden secret begins in the output of commands.
const MARK: &str = "[redacted:";

/// Change settings of a server
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A value is JSON or text; `null` removes the key. Comments in config.yaml stay. `agent mcp \
reference` explains every key.

Examples:
  agent mcp set files timeout=60
  agent mcp set files 'tools.exclude=[\"write_file\"]'
  agent mcp set files trust=untrusted timeout=null")]
pub(crate) struct Args {
    /// Server name
    server: String,
    /// Keys and their values, such as `timeout=60`
    #[arg(required = true, value_name = "KEY=VALUE")]
    settings: Vec<String>,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let mut settings = key_value::object(&args.settings, "key")?;
    let home = session.home()?;
    let (path, name) = (home.config(), &args.server);
    ServersFile::load(&path)?.existing(std::slice::from_ref(name))?;
    let _lock = lock::take(&path)?;
    let mut file = ServersFile::load(&path)?;
    let shown = McpServers::load(session, MessageSink::Notes)?.shown;
    let before = file.entry(name).unwrap_or_default();
    for (key, value) in &mut settings {
        let all = key.split('.').fold(&before, |entry, part| &entry[part]);
        if !restore(value, all, all, &shown) {
            let message = format!("`{}` contains a hidden secret", printable(key));
            return Err(Diagnostic::configuration(message)
                .hint("write the secret itself, or a reference such as `${NAME}`"));
        }
        let value = Some(&*value).filter(|value| **value != Value::Null);
        file.set_key(name, key, value).map_err(|diagnostic| {
            let key = printable(key);
            diagnostic.hint(format!("change `{key}` under `{name}:` yourself"))
        })?;
    }
    let scope = crate::mcp::scope(session, &home)?;
    let entry = file.entry(name).unwrap_or_default();
    let (_, warnings) = parse_entry(name, &entry, &scope).map_err(|problems| {
        Diagnostic::configuration("these settings are invalid; nothing was changed")
            .hint("see `agent mcp reference` for all keys")
            .causes(problems.iter().map(Problem::to_string))
    })?;
    file.write()?;
    for warning in warnings {
        session.output.warn(printable(&warning.to_string()));
    }
    let keys: Vec<&String> = settings.keys().collect();
    session.output.print(
        &json!({ "server": name, "changed": keys, "file": path.to_string_lossy() }),
        format!("{GOOD}Changed{GOOD:#} {}.\n", printable(name)),
    )
}

/// Restores the secrets that other commands print as marks: those of `here`, the value at the
/// same place in the file, or the only ones in `all` that look like this. Returns whether no mark
/// is left.
fn restore(value: &mut Value, here: &Value, all: &Value, shown: &Sanitizer) -> bool {
    match value {
        Value::String(text) if text.contains(MARK) => {
            let text = Value::String(text.clone());
            let mut found = Vec::new();
            add_strings(all, &mut found);
            found.retain(|it| shown.json((*it).clone()) == text);
            if found.contains(&here) {
                found = vec![here];
            }
            let Some(first) = found.first().filter(|first| found.iter().all(|it| it == *first))
            else {
                return false;
            };
            *value = (*first).clone();
            true
        }
        Value::Array(items) => {
            let mut items = items.iter_mut().enumerate();
            items.all(|(at, item)| restore(item, &here[at], all, shown))
        }
        Value::Object(entries) => entries
            .iter_mut()
            .all(|(key, item)| !key.contains(MARK) && restore(item, &here[key], all, shown)),
        _ => true,
    }
}

fn add_strings<'v>(value: &'v Value, strings: &mut Vec<&'v Value>) {
    match value {
        Value::String(_) => strings.push(value),
        Value::Array(items) => items.iter().for_each(|item| add_strings(item, strings)),
        Value::Object(entries) => entries.values().for_each(|item| add_strings(item, strings)),
        _ => {}
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct SwitchArgs {
    /// Server names
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
}

pub(super) fn switch(args: &SwitchArgs, enabled: bool, session: &Session) -> Result {
    let path = session.home()?.config();
    // Without a known server no file is created.
    ServersFile::load(&path)?.existing(&args.names)?;
    let _lock = lock::take(&path)?;
    let mut file = ServersFile::load(&path)?;
    let (mut changed, mut unchanged) = (Vec::new(), Vec::new());
    for name in file.existing(&args.names)? {
        let is_changed = file.set_enabled(&name, enabled).map_err(|diagnostic| {
            diagnostic.hint(format!("set `enabled: {enabled}` under `{name}:` yourself"))
        })?;
        if is_changed { changed.push(name) } else { unchanged.push(name) }
    }
    if !changed.is_empty() {
        file.write()?;
    }
    let word = if enabled { "enabled" } else { "disabled" };
    let already = unchanged.iter().map(|name| format!("{name} is already {word}.\n"));
    let now = changed.iter().map(|name| format!("{GOOD}{name}{GOOD:#} is now {word}.\n"));
    let text: String = already.chain(now).collect();
    let json = json!({ word: changed, "unchanged": unchanged, "file": path.to_string_lossy() });
    session.output.print(&json, text)
}
