//! `agent gateway import`: the configuration of another gateway, as a `gateway.yaml`.

mod litellm;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use clap::Subcommand;
use settings::{Node, Value};
use task_loop::untrusted::printable;

use crate::config;
use crate::diagnostic::{Diagnostic, ErrorContext, Exit, Result};
use crate::session::Session;

/// Convert the configuration of another gateway
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  agent gateway import litellm config.yaml --output gateway.yaml")]
pub(crate) enum Source {
    /// Convert the config.yaml of a LiteLLM proxy
    #[command(after_help = "\
Takes over models, model groups, fallbacks, aliases and defaults of new keys. Keys become `${NAME}`: \
no secret is copied. The report on stderr lists each entry that was taken over or not, with its \
line. Members, keys and spend are in the database of LiteLLM and are not taken over.

Exit codes: 0 converted, 1 the file cannot be read or written, 3 it is not valid YAML.

Examples:
  agent gateway import litellm config.yaml
  agent gateway import litellm config.yaml --output gateway.yaml")]
    Litellm {
        /// File to convert
        file: PathBuf,
        /// Write the configuration to this new file instead of stdout
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

pub(crate) fn run(command: &Source, session: &Session) -> Result {
    let Source::Litellm { file, output } = command;
    let text = config::read(file)?.ok_or_else(|| Diagnostic::no_file(Exit::Failed, file))?;
    let root = Node::from_yaml(&text).map_err(|problem| {
        let message = format!("{} is invalid", file.display());
        Diagnostic::configuration(message).cause(problem.in_file(file))
    })?;
    let imported = litellm::convert(&root);
    if let Some(path) = output {
        File::create_new(path)
            .and_then(|mut file| file.write_all(imported.config.as_bytes()))
            .or_cannot("write", path)?;
    }
    if session.output.is_json() {
        return session.output.json(&imported);
    }
    if output.is_none() {
        session.output.verbatim(&imported.config)?;
    }
    for (heading, notes) in [("Taken over:", &imported.taken), ("Not taken over:", &imported.left)]
    {
        if !notes.is_empty() {
            session.output.note(heading);
        }
        for note in notes {
            let (path, text) = (file.display(), printable(&note.text));
            session.output.note(format!("  {path}:{}: {text}", note.line));
        }
    }
    session.output.note("Set the variables in the profile's .env, then run `agent gateway check`.");
    Ok(())
}

fn text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::String(text) | Value::Number(_, text) | Value::Bool(_, text) => Some(text),
        _ => None,
    }
}

fn text_of<'n>(node: &'n Node, name: &str) -> Option<&'n str> {
    node.get(name).and_then(text)
}

fn number_of(node: &Node, name: &str) -> Option<f64> {
    match &node.get(name)?.value {
        Value::Number(number, _) => Some(*number),
        _ => text_of(node, name)?.parse().ok(),
    }
}

/// The items of a list; empty for any other node.
fn items(node: Option<&Node>) -> &[Node] {
    match node.map(|node| &node.value) {
        Some(Value::List(items)) => items,
        _ => &[],
    }
}

/// A text, quoted for the new file.
fn quoted(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c))
        && !matches!(text.to_ascii_lowercase().as_str(), "true" | "false" | "null" | "yes" | "no")
        && !matches!(text.to_ascii_lowercase().as_str(), "on" | "off" | "y" | "n");
    if is_plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}
