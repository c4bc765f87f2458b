//! `agent mcp add`: adds a server from flags, or from documentation of other clients.

mod published;

use mcp_client::config::foreign::{self, Found, Kind};
use serde_json::{Map, Value as Json, json};
use task_loop::untrusted::printable;

use super::candidate::{Candidate, SavedServers, SecretHandling, name_is_taken, save};
use super::install::dialog;
use crate::config::servers::ServersFile;
use crate::diagnostic::{Diagnostic, ErrorContext, Exit, Result};
use crate::download::OnConflict;
use crate::mcp::advice;
use crate::output::{GOOD, WARNING};
use crate::prompt::{Prompt, standard_input};
use crate::session::Session;

const MAX_PASTED_BYTES: u64 = 1024 * 1024;

/// Add a server to the configuration
#[derive(Debug, clap::Args)]
#[command(
    after_help = "\
Secrets in --env and --header are stored in the profile's .env; config.yaml refers to them.

Examples:
  agent mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  agent mcp add docs --url https://example.com/mcp --header 'Authorization: Bearer abc'
  agent mcp add io.github.example/weather@registry --as weather
  agent mcp add --paste '{\"mcpServers\": {\"time\": {\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}}}'
  pbpaste | agent mcp add --paste -",
    override_usage = "agent mcp add [OPTIONS] NAME -- COMMAND [ARGS]...\n       \
                      agent mcp add [OPTIONS] NAME --url URL\n       \
                      agent mcp add [OPTIONS] [NAME] --paste TEXT\n       \
                      agent mcp add [OPTIONS] NAME[@VERSION]@registry"
)]
#[expect(clippy::struct_excessive_bools, reason = "switches are what a command line has")]
pub(crate) struct Args {
    /// Server name: letters, digits, dots, underscores and hyphens; or `NAME@registry` for a server
    /// of the registry, whose required inputs are asked for
    name: Option<String>,
    /// Name for a server of the registry [default: the last part of its name]
    #[arg(long = "as", value_name = "NAME")]
    own_name: Option<String>,
    /// URL of a remote server
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// Transport of a remote server
    #[arg(long, value_name = "NAME", value_parser = ["http", "sse"])]
    transport: Option<String>,
    /// HTTP header for a remote server: `Name: value` or `Name=value`
    #[arg(long = "header", value_name = "HEADER")]
    headers: Vec<String>,
    /// Sign-in method of a remote server
    #[arg(long, value_name = "METHOD", value_parser = ["oauth"])]
    auth: Option<String>,
    /// Environment variable of a local server
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    env: Vec<String>,
    /// Working directory of a local server
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    cwd: Option<String>,
    /// Tool call timeout in seconds, restarted by progress
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Option<serde_json::Number>,
    /// `full` skips approval of tools that write
    #[arg(long, value_name = "TRUST", value_parser = ["full", "untrusted"])]
    trust: Option<String>,
    /// Protocol handshake
    #[arg(long, value_name = "NAME", value_parser = ["auto", "stateless", "legacy"])]
    protocol: Option<String>,
    /// Add the server disabled
    #[arg(long)]
    disabled: bool,
    /// Add servers from a configuration of another client: JSON with `mcpServers`, `servers` or
    /// one entry, YAML or TOML; `-` reads stdin
    #[arg(
        long,
        value_name = "TEXT",
        visible_alias = "from-json",
        conflicts_with_all = ["url", "transport", "headers", "auth", "env", "cwd", "timeout", "trust",
                              "protocol", "command"]
    )]
    paste: Option<String>,
    /// Write secrets to config.yaml instead of .env
    #[arg(long)]
    keep_literal: bool,
    /// Replace an existing server of that name
    #[arg(long)]
    replace: bool,
    /// Skip the confirmation of pasted commands and servers of the registry
    #[arg(long, short)]
    yes: bool,
    /// Print what would be added
    #[arg(long, hide = true, conflicts_with = "yes")]
    preview: bool,
    /// A pasted text may also stand by itself
    #[arg(value_name = "TEXT", hide = true)]
    texts: Vec<String>,
    /// Command of a local server with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    if let Some(wanted) = published::registry_name(args) {
        return published::add(wanted, args, session);
    }
    if args.own_name.is_some() {
        return Err(Diagnostic::usage("--as applies only to servers of the registry"));
    }
    let paste = pasted_text(args)?;
    let found = match paste {
        Some((name, text)) => pasted(name, text)?,
        None => vec![typed(args)?],
    };
    let home = session.home()?;
    let scope = crate::mcp::scope(session, &home)?;
    let check = |Found { name, mut entry, notes, .. }| {
        if let Some(entry) = entry.as_object_mut().filter(|_| args.disabled) {
            entry.insert("enabled".to_owned(), false.into());
        }
        Candidate::check(&name, entry, notes, &scope)
    };
    let mut candidates = all(found.into_iter().map(check))?;
    let taken = if args.replace { OnConflict::Replace } else { OnConflict::Keep };
    let file = ServersFile::load(&home.config())?;
    if !args.preview {
        refuse_taken(&file, candidates.iter().map(|candidate| &*candidate.name), taken)?;
    }
    for candidate in &mut candidates {
        candidate.note_twins(file.names());
    }
    if args.preview {
        return session.output.json(&dialog::preview(&candidates, &scope, &file));
    }
    report_notes(session, candidates.iter().flat_map(|candidate| &candidate.notes));
    if paste.is_some() && !args.yes && !confirmed(session, &candidates)? {
        session.output.note("Nothing was added.");
        return Ok(());
    }
    let literals = if args.keep_literal { SecretHandling::Keep } else { SecretHandling::Move };
    let saved = save(session, &candidates, literals, taken)?;
    report(session, &candidates, &saved)
}

/// The text of `--paste`, or a single argument that can only be pasted text; with the name of its
/// server, if one is given.
fn pasted_text(args: &Args) -> Result<Option<(Option<&str>, &str)>> {
    let is_text = |text: &str| text == "-" || text.trim_start().starts_with('{');
    let is_open = args.paste.is_none() && args.url.is_none() && args.command.is_empty();
    let name = args.name.as_deref();
    let paste = match (&args.paste, name, args.texts.as_slice()) {
        (Some(text), name, []) => return Ok(Some((name, text.as_str()))),
        (None, Some(text), []) if is_open && is_text(text) => (None, text),
        (None, name, [text]) if is_open && is_text(text) => (name, text.as_str()),
        (_, _, []) => return Ok(None),
        (_, _, [first, ..]) => {
            let first = printable(first);
            return Err(Diagnostic::usage(format!("unexpected argument `{first}`")).hint(
                "put the command of a local server after `--`: `agent mcp add NAME -- COMMAND \
                 ARGS...`",
            ));
        }
    };
    let is_alone = args.env.is_empty()
        && [&args.cwd, &args.trust, &args.protocol].iter().all(|flag| flag.is_none())
        && args.timeout.is_none();
    if is_alone {
        return Ok(Some(paste));
    }
    Err(Diagnostic::usage("options cannot change a pasted server")
        .hint("put the settings into the pasted text"))
}

fn typed(args: &Args) -> Result<Found> {
    let Some(name) = args.name.clone() else {
        return Err(Diagnostic::usage("missing server name").hint("see `agent mcp add --help`"));
    };
    let mut entry = Map::new();
    let mut set = |key: &str, value: Option<Json>| {
        if let Some(value) = value {
            entry.insert(key.to_owned(), value);
        }
    };
    match (args.command.split_first(), &args.url) {
        (Some((command, rest)), None) => {
            set("command", Some(command.as_str().into()));
            set("args", (!rest.is_empty()).then(|| rest.into()));
        }
        (None, Some(url)) => set("url", Some(url.as_str().into())),
        _ => {
            let message = format!("server `{}` has neither a command nor a URL", printable(&name));
            return Err(Diagnostic::usage(message)
                .hint(format!("add a local server with `agent mcp add {name} -- COMMAND ARGS...`"))
                .hint(format!("add a remote server with `agent mcp add {name} --url URL`")));
        }
    }
    let is_remote_only =
        !args.headers.is_empty() || args.transport.is_some() || args.auth.is_some();
    if args.url.is_none() && is_remote_only {
        return Err(Diagnostic::usage(
            "--header, --transport and --auth apply only to remote servers",
        )
        .hint("pass secrets to a local server with --env"));
    }
    let some = |pairs: Map<String, Json>| (!pairs.is_empty()).then_some(Json::Object(pairs));
    set("env", some(pairs("env", &args.env, &['='])?));
    set("headers", some(pairs("header", &args.headers, &[':', '='])?));
    let text = |text: &Option<String>| text.clone().map(Json::from);
    set("transport", text(&args.transport).filter(|name| name == "sse"));
    set("auth", text(&args.auth));
    set("cwd", text(&args.cwd));
    set("timeout", args.timeout.clone().map(Json::Number));
    set("trust", text(&args.trust));
    set("protocol", text(&args.protocol));
    Ok(Found { name, scope: None, entry: Json::Object(entry), notes: Vec::new(), unusable: None })
}

/// Names and values around the first separator. Errors never show the value.
fn pairs(flag: &str, texts: &[String], separators: &[char]) -> Result<Map<String, Json>> {
    let mut values = Map::new();
    for text in texts {
        let form = if flag == "env" { "NAME=VALUE" } else { "Name: value" };
        let wrong =
            |message: String| Diagnostic::usage(message).hint(format!("use the form `{form}`"));
        let Some((name, value)) = text.split_once(separators) else {
            return Err(wrong(format!("--{flag} needs a name and a value")));
        };
        let (name, value) = (name.trim(), if flag == "env" { value } else { value.trim() });
        let is_name =
            |c: char| c.is_ascii_alphanumeric() || c == '_' || (flag != "env" && c == '-');
        let begins_well = !(flag == "env" && name.starts_with(|c: char| c.is_ascii_digit()));
        if name.is_empty() || !name.chars().all(is_name) || !begins_well {
            return Err(wrong(format!("invalid name `{}` for --{flag}", printable(name))));
        }
        if values.insert(name.to_owned(), value.into()).is_some() {
            return Err(Diagnostic::usage(format!("--{flag} sets `{name}` twice")));
        }
    }
    Ok(values)
}

fn seconds(text: &str) -> Result<serde_json::Number, &'static str> {
    let number: Option<serde_json::Number> = serde_json::from_str(text).ok();
    let is_some_time = |number: &serde_json::Number| number.as_f64().is_some_and(|n| n > 0.0);
    number.filter(is_some_time).ok_or("must be a positive number of seconds")
}

fn pasted(name: Option<&str>, text: &str) -> Result<Vec<Found>> {
    let from_input = (text == "-").then(|| standard_input(MAX_PASTED_BYTES)).transpose();
    let from_input = from_input.map_err(|error| Diagnostic { exit: Exit::Failed, ..error })?;
    let text = from_input.as_deref().unwrap_or(text);
    let wrong = Diagnostic::configuration("invalid pasted text").hint(
        "paste JSON such as {\"mcpServers\": {\"name\": {\"command\": \"...\", \"args\": []}}}",
    );
    let mut found = foreign::read(Kind::Pasted, text).or_diagnostic(wrong)?;
    match (name, found.as_mut_slice()) {
        (Some(name), [only]) => name.clone_into(&mut only.name),
        (Some(_), several) => {
            let message = format!("one name cannot apply to {} servers", several.len());
            return Err(
                Diagnostic::usage(message).hint("omit the name to use the names in the text")
            );
        }
        (None, [only]) if only.name.is_empty() => {
            return Err(Diagnostic::usage("the pasted server has no name")
                .hint("name it: `agent mcp add NAME --paste ...`"));
        }
        (None, []) => return Err(Diagnostic::configuration("the pasted text contains no servers")),
        (None, _) => {}
    }
    let mut names: Vec<&str> = found.iter().map(|server| server.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let message = format!("the pasted text defines `{}` twice", printable(pair[0]));
        return Err(Diagnostic::configuration(message));
    }
    Ok(found)
}

fn all(checked: impl Iterator<Item = Result<Candidate>>) -> Result<Vec<Candidate>> {
    let (mut candidates, mut wrong): (_, Option<Diagnostic>) = (Vec::new(), None);
    for result in checked {
        match (result, wrong.as_mut()) {
            (Ok(candidate), _) => candidates.push(candidate),
            (Err(diagnostic), None) => wrong = Some(diagnostic),
            (Err(diagnostic), Some(first)) => {
                first.causes.extend(diagnostic.message);
                first.causes.extend(diagnostic.causes);
                first.hints.extend(diagnostic.hints);
                first.hints.dedup();
            }
        }
    }
    wrong.map_or(Ok(candidates), Err)
}

fn refuse_taken<'n>(
    file: &ServersFile,
    mut names: impl Iterator<Item = &'n str>,
    taken: OnConflict,
) -> Result {
    match names.find(|name| file.entry(name).is_some()) {
        Some(name) if taken == OnConflict::Keep => Err(name_is_taken(name)),
        _ => Ok(()),
    }
}

fn confirmed(session: &Session, candidates: &[Candidate]) -> Result<bool> {
    let running: Vec<&Candidate> = candidates.iter().filter(|server| server.runs()).collect();
    if running.is_empty() {
        return Ok(true);
    }
    let lines = running.iter().map(|server| format!("  {}: {}", server.name, server.shown()));
    let lines = lines.collect::<Vec<_>>().join("\n");
    let Some(prompt) = Prompt::find(&session.output) else {
        let message = "a pasted command runs on this machine with your permissions; it needs \
                       confirmation, but no terminal is attached";
        return Err(Diagnostic::failed(message)
            .hint("review it, then confirm with `--yes`")
            .causes(lines.lines().map(|line| line.trim().to_owned())));
    };
    session.output.note(format!("This will run on this machine with your permissions:\n{lines}"));
    prompt.confirm("Add it?")
}

fn report(session: &Session, candidates: &[Candidate], saved: &SavedServers) -> Result {
    if session.output.is_json() {
        let added = candidates.iter().map(|server| {
            json!({
                "name": server.name,
                "kind": server.kind(),
                "replaced": saved.replaced.contains(&server.name),
                "notes": server.notes,
            })
        });
        return session.output.json(&saved.json("added", &added.collect::<Json>()));
    }
    report_moved(session, saved);
    for server in candidates {
        let done = if saved.replaced.contains(&server.name) { "Replaced" } else { "Added" };
        let name = &server.name;
        session.output.text(format!("{GOOD}{done}{GOOD:#} {name}: {}\n", server.shown()))?;
    }
    let test = match candidates {
        [only] => advice::test(&only.name),
        _ => "agent mcp doctor".to_owned(),
    };
    session.output.note(format!("Saved to {}. Test it with `{test}`.", saved.file.display()));
    Ok(())
}

pub(super) fn report_moved(session: &Session, saved: &SavedServers) {
    for moved in &saved.moved {
        session.output.note(format!(
            "The secret of {} ({}) is stored as {} in {}.",
            moved.server, moved.key, moved.variable, saved.secrets
        ));
    }
    report_notes(session, &saved.notes);
}

/// Prints notes for a person; programs get them in the JSON.
fn report_notes<'n>(session: &Session, notes: impl IntoIterator<Item = &'n String>) {
    if !session.output.is_json() {
        for note in notes {
            session.output.note(format!("{WARNING}note:{WARNING:#} {}", printable(note)));
        }
    }
}
