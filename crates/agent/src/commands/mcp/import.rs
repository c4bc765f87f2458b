//! `agent mcp import`: imports servers of other clients on this machine, one by one.

mod files;

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use mcp_client::config::foreign::{self, ForeignError, Found, Kind, MAX_FOREIGN_BYTES};
use mcp_client::config::{Scope, valid_name};
use serde_json::{Value as Json, json};
use task_loop::untrusted::printable;

use self::files::File;
use super::add::report_moved;
use super::candidate::{Candidate, SecretHandling, save};
use super::secrets::move_secrets;
use crate::config::secrets::SecretsFile;
use crate::config::servers::ServersFile;
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::download::OnConflict;
use crate::output::{DIM, GOOD, WARNING};
use crate::prompt::Prompt;
use crate::session::Session;

const MAX_RENAMES: usize = 5;

/// Import servers from other MCP clients
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Finds the configuration files of other clients in your home and in the working directory, shows \
their servers, and asks before importing each one.

Examples:
  agent mcp import --dry-run
  agent mcp import --from cursor
  agent mcp import --file ~/backup/mcp.json --yes")]
pub(crate) struct Args {
    /// Import from this client only
    #[arg(long, value_name = "CLIENT", value_parser = client_parser())]
    from: Option<Kind>,
    /// Import from this file
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Import everything without asking
    #[arg(long, short, conflicts_with = "dry_run")]
    yes: bool,
    /// Show what would be imported
    #[arg(long)]
    dry_run: bool,
}

const CLIENTS: [(&str, Kind); 9] = [
    ("claude-desktop", Kind::ClaudeDesktop),
    ("claude-code", Kind::ClaudeCode),
    ("cursor", Kind::Cursor),
    ("vscode", Kind::VsCode),
    ("codex", Kind::Codex),
    ("hermes", Kind::Hermes),
    ("goose", Kind::Goose),
    ("zed", Kind::Zed),
    ("windsurf", Kind::Windsurf),
];

fn client_parser() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(CLIENTS.map(|(name, _)| name)).map(|typed| {
        let known = CLIENTS.iter().find(|(name, _)| *name == typed);
        known.map_or(Kind::Pasted, |(_, kind)| *kind)
    })
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let files = match &args.file {
        Some(path) => {
            let is_toml = path.extension().is_some_and(|ending| ending == "toml");
            let kind = args.from.unwrap_or(if is_toml { Kind::Codex } else { Kind::Pasted });
            vec![File { path: path.clone(), kind }]
        }
        None => files::existing(session, args.from),
    };
    let (mut all, mut report) = (Vec::new(), Vec::new());
    for file in &files {
        match servers_of(file) {
            Ok(None) if args.file.is_some() => {
                let message = format!("no servers found in {}", file.path.display());
                return Err(Diagnostic::failed(message)
                    .hint("name the client with `--from` if the file name does not"));
            }
            Ok(found) => all.extend(found.into_iter().flatten().map(|found| (&file.path, found))),
            Err(diagnostic) if args.file.is_none() => {
                report.push(unreadable(file, diagnostic, session));
            }
            Err(diagnostic) => return Err(diagnostic),
        }
    }
    let mut import = Import::new(args, session)?;
    let mut chosen = Vec::new();
    for (path, found) in all {
        let (shown, candidate) = import.decide(path, found)?;
        report.push(shown);
        import.taken.extend(candidate.iter().map(|candidate| candidate.name.clone()));
        chosen.extend(candidate);
    }
    finish(args, session, &chosen, &report, &files)
}

struct Import<'a> {
    args: &'a Args,
    session: &'a Session,
    prompt: Option<Prompt>,
    file: ServersFile,
    secrets: SecretsFile,
    scope: Scope,
    /// The names of configured and chosen servers.
    taken: Vec<String>,
    /// Names and entries of new servers so far, chosen or not.
    offered: Vec<(String, Json)>,
}

impl<'a> Import<'a> {
    fn new(args: &'a Args, session: &'a Session) -> Result<Self> {
        let home = session.home()?;
        let file = ServersFile::load(&home.config())?;
        Ok(Self {
            args,
            session,
            prompt: Prompt::find(&session.output).filter(|_| !args.dry_run && !args.yes),
            taken: file.names().map(str::to_owned).collect(),
            file,
            secrets: SecretsFile::load(session)?,
            scope: crate::mcp::scope(session, &home)?,
            offered: Vec::new(),
        })
    }

    /// Shows a server and asks about it; returns what happened, and the server to import.
    fn decide(&mut self, path: &Path, found: Found) -> Result<(Json, Option<Candidate>)> {
        let name = found.name.clone();
        let mut report =
            json!({ "name": name, "file": path.to_string_lossy(), "scope": found.scope });
        let place = match &found.scope {
            Some(scope) => format!("{} ({})", path.display(), printable(scope)),
            None => path.display().to_string(),
        };
        let output = &self.session.output;
        let mut say = |action: &str, words: &str| {
            report["action"] = action.into();
            if !output.is_json() {
                let name = printable(&name);
                output.note(format!("{name}: {words}\n  {DIM}{place}{DIM:#}"));
            }
        };
        let candidate = match self.checked(found) {
            Ok(candidate) => candidate,
            Err(diagnostic) => {
                let reason = printable(&diagnostic.line());
                say("refused", &format!("{WARNING}not imported:{WARNING:#} {reason}"));
                report["reason"] = reason.into();
                return Ok((report, None));
            }
        };
        if let Some(why) = self.same(&candidate) {
            say("same", why);
            return Ok((report, None));
        }
        // The earlier of two new ones may be declined.
        let is_only_shown = self.prompt.is_none() && !self.args.yes;
        let is_conflict = self.taken.contains(&candidate.name)
            || is_only_shown && self.offered.iter().any(|(name, _)| *name == candidate.name);
        self.offered.push((candidate.name.clone(), candidate.entry.clone()));
        let mut words = candidate.shown();
        if is_conflict {
            words.push_str(&format!("\n  {WARNING}another server has this name{WARNING:#}"));
        }
        say("found", &words);
        for note in &candidate.notes {
            if !output.is_json() {
                output.note(format!("  {DIM}note: {}{DIM:#}", printable(note)));
            }
        }
        report["server"] = candidate.shown().into();
        report["kind"] = candidate.kind().into();
        report["notes"] = candidate.notes.clone().into();
        let candidate = match &self.prompt {
            Some(prompt) => ask_about(prompt, candidate, is_conflict, &self.taken)?,
            None => Some(candidate).filter(|_| self.args.yes && !is_conflict),
        };
        report["action"] = match &candidate {
            Some(candidate) => {
                report["as"] = candidate.name.clone().into();
                "imported"
            }
            None if is_conflict => "conflict",
            None if self.prompt.is_some() => "declined",
            None => "found",
        }
        .into();
        Ok((report, candidate))
    }

    fn checked(&self, found: Found) -> Result<Candidate> {
        let Found { name, entry, mut notes, unusable, .. } = found;
        let name_here = usable_name(&name);
        if name_here != name {
            notes.push(format!("`{}` is renamed to `{name_here}`", printable(&name)));
        }
        match unusable {
            Some(why) => Err(Diagnostic::failed(why)),
            None => Candidate::check(&name_here, entry, notes, &self.scope),
        }
    }

    /// Why the server needs no import: the configuration has exactly this one, with its secrets
    /// in `.env`, or it was offered before.
    fn same(&self, candidate: &Candidate) -> Option<&'static str> {
        let Candidate { name, entry, .. } = candidate;
        if let Some(known) = self.file.entry(name) {
            let (mut ours, mut secrets) = (entry.clone(), self.secrets.clone());
            let moved = move_secrets(name, &mut ours, &mut secrets);
            if known == *entry || (moved.is_ok() && known == ours) {
                return Some("exists already and is identical");
            }
        }
        let is_offered = self.offered.iter().any(|(other, it)| other == name && it == entry);
        is_offered.then_some("identical to the one above")
    }
}

/// The servers of a file; `None` if it has other content only.
fn servers_of(file: &File) -> Result<Option<Vec<Found>>> {
    let size = std::fs::metadata(&file.path).or_cannot("read", &file.path)?.len();
    let found = if usize::try_from(size).is_ok_and(|size| size > MAX_FOREIGN_BYTES) {
        Err(ForeignError::TooLarge)
    } else {
        let text = std::fs::read_to_string(&file.path).or_cannot("read", &file.path)?;
        foreign::read(file.kind, &text)
    };
    match found {
        Err(ForeignError::NoServers { .. }) => Ok(None),
        result => result.map(Some).or_cannot("read", &file.path),
    }
}

/// Reports an unreadable file; the others are still imported.
fn unreadable(file: &File, diagnostic: Diagnostic, session: &Session) -> Json {
    let reason = diagnostic.causes.join(": ");
    if !session.output.is_json() {
        let message = diagnostic.message.unwrap_or_default();
        session.output.note(format!("{WARNING}note:{WARNING:#} {message}: {reason}"));
    }
    json!({ "file": file.path.to_string_lossy(), "action": "unreadable", "reason": reason })
}

fn usable_name(name: &str) -> String {
    if valid_name(name) {
        return name.to_owned();
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = name.trim().chars().map(plain).take(64).collect();
    if name.is_empty() { "server".to_owned() } else { name }
}

/// Asks about one server; if its name is taken, for another name.
fn ask_about(
    prompt: &Prompt,
    mut candidate: Candidate,
    is_conflict: bool,
    taken: &[String],
) -> Result<Option<Candidate>> {
    if !is_conflict {
        return Ok(prompt.confirm("  Import it?")?.then_some(candidate));
    }
    for _ in 0..MAX_RENAMES {
        let name = prompt.ask("  Import it under another name (empty to skip):")?;
        let Some(name) = name.filter(|name| !name.is_empty()) else { break };
        if valid_name(&name) && !taken.contains(&name) {
            candidate.name = name;
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

fn finish(
    args: &Args,
    session: &Session,
    chosen: &[Candidate],
    report: &[Json],
    files: &[File],
) -> Result {
    let saved = match chosen {
        [] => None,
        chosen => Some(save(session, chosen, SecretHandling::Move, OnConflict::Keep)?),
    };
    if session.output.is_json() {
        return session.output.json(&json!({
            "imported": chosen.iter().map(|server| &server.name).collect::<Vec<_>>(),
            "servers": report,
            "looked_at": files.iter().map(|file| &file.path).collect::<Vec<_>>(),
            "file": session.home()?.config().to_string_lossy(),
            "moved_secrets": saved.as_ref().map_or(&[][..], |saved| &saved.moved),
            "notes": saved.as_ref().map_or(&[][..], |saved| &saved.notes),
        }));
    }
    if let Some(saved) = &saved {
        report_moved(session, saved);
        for server in chosen {
            session.output.text(format!("{GOOD}Imported{GOOD:#} {}.\n", server.name))?;
        }
        return Ok(());
    }
    let is_waiting = report.iter().any(|row| row["action"] == "found");
    session.output.text(match (report, is_waiting) {
        ([], _) => "No servers of other clients found.\n",
        (_, true) if args.dry_run => "Nothing was imported (dry run).\n",
        (_, true) => {
            "Nothing was imported. Use `--yes` to import the listed servers without asking.\n"
        }
        (_, false) => "Nothing was imported.\n",
    })
}
