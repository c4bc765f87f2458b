//! `agent mcp add NAME@registry`: a server of the registry, with its inputs, after confirmation.

use mcp_client::config::server_json::{EntryTemplate, Preference, Question};
use mcp_client::config::{Scope, valid_name};
use task_loop::untrusted::printable;

use super::super::candidate::{NewSecret, SecretHandling, save};
use super::super::install::dialog::{self, Offer, short};
use super::super::secrets::{MovedSecret, variable_name};
use super::super::server_registry::ServerRegistry;
use super::{Args, pairs, refuse_taken, report};
use crate::config::secrets::SecretsFile;
use crate::config::servers::ServersFile;
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::download::OnConflict;
use crate::prompt::Prompt;
use crate::runtime::block_on;
use crate::session::Session;

/// Suffix of the name of a registry server.
const MARK: &str = "@registry";
const MAX_TRIES: usize = 3;

const OFFER: Offer<'_> = Offer {
    heading: "A server of the registry, written by its publisher:",
    advice: "",
    question: "Add it?",
    declined: "Nothing was added.",
};

/// The name and version, if the argument is a registry server.
pub(super) fn registry_name(args: &Args) -> Option<(&str, Option<&str>)> {
    let name = args.name.as_deref()?.strip_suffix(MARK)?;
    Some(name.split_once('@').map_or((name, None), |(name, version)| (name, Some(version))))
}

pub(super) fn add((name, version): (&str, Option<&str>), args: &Args, session: &Session) -> Result {
    let home = session.home()?;
    let own_name = own_name(name, args)?;
    let taken = if args.replace { OnConflict::Replace } else { OnConflict::Keep };
    let file = ServersFile::load(&home.config())?;
    refuse_taken(&file, std::iter::once(&*own_name), taken)?;
    let registry = ServerRegistry::find(session)?;
    let listed = block_on(registry.server(name, version))?;
    let preference =
        if args.transport.is_some() { Preference::Remote } else { Preference::Package };
    let template = listed.template(name, version, preference);
    // The text is partly from the publisher.
    let template = template.map_err(|error| std::io::Error::other(printable(&error.to_string())));
    let template = template.or_failed(format!("`{}` was not added", printable(name)))?;
    let prompt = Prompt::find(&session.output).filter(|_| !args.yes);
    let mut answers = answers(&template, args, prompt.as_ref())?;
    let mut scope = crate::mcp::scope(session, &home)?;
    let secrets = hide(&own_name, &template, &mut answers, session, &mut scope)?;
    let mut entry = template.entry(&answers);
    if let Some(entry) = entry.as_object_mut() {
        if args.disabled {
            entry.insert("enabled".to_owned(), false.into());
        }
        if let Some(trust) = &args.trust {
            entry.insert("trust".to_owned(), trust.as_str().into());
        }
    }
    let mut notes: Vec<String> =
        template.notes.iter().map(|note| format!("{own_name}: {note}")).collect();
    if listed.is_deprecated() {
        notes.push(format!("{own_name}: its publisher marked it as deprecated"));
    }
    let mut candidate = dialog::checked(&own_name, entry, notes, &scope, &file)?;
    candidate.secrets = secrets;
    if !OFFER.is_accepted(&candidate, &scope, args.yes, session)? {
        return Ok(());
    }
    let candidates = [candidate];
    let saved = save(session, &candidates, SecretHandling::Move, taken)?;
    report(session, &candidates, &saved)
}

/// The local name of the server: `--as`, or the last part of its registry name.
fn own_name(name: &str, args: &Args) -> Result<String> {
    let others = [&args.url, &args.auth, &args.cwd, &args.protocol, &args.paste];
    let is_mixed = others.iter().any(|other| other.is_some())
        || args.timeout.is_some()
        || !args.command.is_empty()
        || !args.texts.is_empty();
    if is_mixed {
        return Err(Diagnostic::usage("this option cannot be used with a server of the registry")
            .hint("add the server, then edit its entry in config.yaml"));
    }
    let name = args.own_name.as_deref().or_else(|| name.rsplit('/').next()).unwrap_or_default();
    if !valid_name(name) {
        return Err(Diagnostic::usage(format!("`{}` cannot be a name here", printable(name)))
            .hint("choose another name with `--as NAME`"));
    }
    Ok(name.to_owned())
}

/// The answers: from options, then from the person, then the defaults.
fn answers(
    template: &EntryTemplate,
    args: &Args,
    prompt: Option<&Prompt>,
) -> Result<Vec<Option<String>>> {
    let mut given = pairs("env", &args.env, &['='])?;
    given.extend(pairs("header", &args.headers, &[':', '='])?);
    let (mut answers, mut missing) = (Vec::new(), Vec::new());
    for question in &template.questions {
        let answer = match (given.remove(&question.name), prompt) {
            (Some(answer), _) => answer.as_str().map(str::to_owned),
            (None, Some(prompt)) if question.is_required => ask(question, prompt)?,
            _ => question.default.clone(),
        };
        if let Some(answer) = &answer
            && !is_choice(question, answer)
        {
            let message = format!("`{}` must be {}", short(&question.name), choices(question));
            return Err(Diagnostic::usage(message));
        }
        if answer.is_none() && question.is_required {
            missing.push(short(&question.name));
        }
        answers.push(answer);
    }
    if let Some(name) = given.keys().next() {
        let message = format!("the server has no input `{}`", printable(name));
        return Err(Diagnostic::usage(message));
    }
    if missing.is_empty() {
        return Ok(answers);
    }
    Err(Diagnostic::usage(format!("missing inputs: {}", missing.join(", ")))
        .hint("pass them with `--env NAME=VALUE` or `--header 'Name: value'`, or use a terminal"))
}

fn ask(question: &Question, prompt: &Prompt) -> Result<Option<String>> {
    let mut text = short(&question.name);
    if !question.description.is_empty() {
        text.push_str(&format!(" ({})", short(&question.description)));
    }
    if !question.choices.is_empty() {
        text.push_str(&format!(", {}", choices(question)));
    }
    if let Some(default) = &question.default {
        text.push_str(&format!(" [{}]", short(default)));
    }
    for _ in 0..MAX_TRIES {
        let text = format!("{text}:");
        let typed =
            if question.is_secret { prompt.ask_secret(&text)? } else { prompt.ask(&text)? };
        let Some(answer) = typed else { break };
        match (answer.is_empty(), &question.default) {
            (true, Some(default)) => return Ok(Some(default.clone())),
            (false, _) if is_choice(question, &answer) => return Ok(Some(answer)),
            _ => {}
        }
    }
    Ok(None)
}

fn is_choice(question: &Question, answer: &str) -> bool {
    question.choices.is_empty() || question.choices.iter().any(|choice| choice == answer)
}

fn choices(question: &Question) -> String {
    let all: Vec<String> = question.choices.iter().map(|choice| short(choice)).collect();
    format!("one of {}", all.join(", "))
}

/// Replaces secrets by references, so that the dialog does not show them.
fn hide(
    server: &str,
    template: &EntryTemplate,
    answers: &mut [Option<String>],
    session: &Session,
    scope: &mut Scope,
) -> Result<Vec<NewSecret>> {
    // A copy: nothing is stored before the confirmation.
    let mut names = SecretsFile::load(session)?;
    let mut secrets = Vec::new();
    for (question, answer) in template.questions.iter().zip(answers) {
        let Some(value) = answer.take_if(|value| question.is_secret && !value.contains("${"))
        else {
            continue;
        };
        let (server, key) = (server.to_owned(), question.name.clone());
        let variable = names.add(&variable_name(&server, &key), &value)?;
        scope.secrets.insert(variable.clone(), value.clone());
        *answer = Some(format!("${{{variable}}}"));
        secrets.push(NewSecret { place: MovedSecret { server, key, variable }, value });
    }
    Ok(secrets)
}
