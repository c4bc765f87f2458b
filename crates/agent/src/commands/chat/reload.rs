//! `/reload-mcp`: reloads the servers from config.yaml. Only changed servers are affected, and
//! a new program is started only after the person confirmed it.

use std::time::Duration;

use mcp_client::ReloadReport;
use mcp_client::config::{Endpoint, Problem, ServerEntry, StdioEndpoint};
use task_loop::untrusted::printable;

use super::session::ChatSession;
use super::show;
use crate::commands::mcp::install::dialog;
use crate::commands::mcp::list::{reload_json, reloaded_line};
use crate::diagnostic::{Diagnostic, Result};
use crate::mcp::{Servers, problem_line};
use crate::output::WARNING;
use crate::prompt::{Prompt, ask_meanwhile};

const MAX_WAIT: Duration = Duration::from_secs(10);

/// Reloads; the person confirmed the programs of some servers already.
pub(super) async fn run(chat: &mut ChatSession<'_>, confirmed: &[String]) -> Result {
    let mut servers = read(chat)?;
    let entries = chat.setup.entries_of(&servers);
    let plan = chat.client.plan_reload(&entries);
    if !chat.output().is_json() {
        chat.output().note(plan_text(&plan));
    }
    let mut refused = Vec::new();
    let before = chat.setup.entries();
    for entry in &entries {
        let old = before.iter().find(|old| old.name == entry.name);
        let Some(program) = new_program(old, entry) else { continue };
        let word = if old.is_some() { "changed" } else { "new" };
        if !confirmed.contains(&entry.name) && !is_allowed(chat, entry, word, program).await {
            refused.push(entry.name.clone());
        }
    }
    for name in &refused {
        leave_as_it_was(name, &mut servers, &chat.setup.fleet.servers);
    }
    chat.setup.fleet.adopt(servers);
    let done = chat.client.reload(chat.setup.entries());
    chat.renew_toolbox()?;
    chat.setup.fleet.reporter.waiting_for("starting servers …");
    chat.client.wait_until_settled(MAX_WAIT).await;
    chat.setup.fleet.reporter.done_waiting();
    if chat.output().is_json() {
        let mut event = reload_json(&done);
        event["type"] = "reloaded".into();
        event["refused"] = refused.into();
        return chat.print_json(event, &reloaded_line(&done));
    }
    if done.is_empty() {
        return Ok(());
    }
    chat.output().note(reloaded_line(&done));
    show::servers(chat)
}

/// Reads the configuration again; an error changes nothing.
fn read(chat: &ChatSession<'_>) -> Result<Servers> {
    let servers = Servers::load(chat.session)?;
    let is_of_file = |problem: &&Problem| problem.is_error() && problem.section.is_none();
    if let Some(problem) = servers.parsed.problems.iter().find(is_of_file) {
        return Err(Diagnostic::configuration("the servers were not reloaded")
            .cause(problem_line(&servers.path, problem)));
    }
    servers.report_problems(chat.session);
    Ok(servers)
}

fn plan_text(plan: &ReloadReport) -> String {
    if plan.is_empty() {
        return "nothing changed".to_owned();
    }
    let lines = [
        ("added", &plan.added),
        ("removed", &plan.removed),
        ("restarted", &plan.restarted),
        ("updated", &plan.updated),
        ("unchanged", &plan.unchanged),
    ];
    let lines = lines.into_iter().filter(|(_, names)| !names.is_empty());
    let line = |(word, names): (&str, &Vec<String>)| {
        let names: Vec<String> = names.iter().map(|name| printable(name)).collect();
        format!("  {word:<9}  {}", names.join(", "))
    };
    let lines: Vec<String> = lines.map(line).collect();
    format!("config.yaml changes these servers:\n{}", lines.join("\n"))
}

/// The program of an entry, if the old entry did not start it.
fn new_program<'e>(old: Option<&ServerEntry>, new: &'e ServerEntry) -> Option<&'e StdioEndpoint> {
    let Endpoint::Stdio(program) = &new.endpoint else { return None };
    let is_same = match old.map(|old| &old.endpoint) {
        Some(Endpoint::Stdio(old)) => {
            old.command == program.command
                && old.args == program.args
                && old.env == program.env
                && old.cwd == program.cwd
        }
        _ => false,
    };
    (!is_same).then_some(program)
}

/// Asks the person at the terminal; without one the answer is no.
async fn is_allowed(
    chat: &ChatSession<'_>,
    entry: &ServerEntry,
    word: &str,
    program: &StdioEndpoint,
) -> bool {
    let name = dialog::line(&entry.name);
    if Prompt::find(chat.output()).is_none() {
        chat.output().warn(format!(
            "`{name}` is {word} and starts a program; approving it needs a terminal, so it was not \
             reloaded"
        ));
        return false;
    }
    let mut text = format!(
        "{WARNING}Caution:{WARNING:#} `{name}` is {word} and starts a program on this machine with \
         your permissions:\n  command  {}\n",
        dialog::command_line(program)
    );
    if !program.env.is_empty() {
        let names: Vec<String> = program.env.iter().map(|(name, _)| dialog::line(name)).collect();
        text.push_str(&format!("  env      {}\n", names.join(", ")));
    }
    if let Some(folder) = &program.cwd {
        text.push_str(&format!("  folder   {}\n", dialog::line(folder.written())));
    }
    let answer = ask_meanwhile(format!("{text}Start it? [y/N]")).await.unwrap_or_default();
    let is_yes = matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes");
    if !is_yes {
        chat.output().note(format!("`{name}` was not reloaded"));
    }
    is_yes
}

/// Restores the entry of the old configuration, or removes it if there was none.
fn leave_as_it_was(name: &str, servers: &mut Servers, old: &Servers) {
    let of =
        |servers: &Servers| servers.parsed.servers.iter().position(|one| one.entry.name == name);
    let before = of(old).map(|at| old.parsed.servers[at].clone());
    servers.projects.remove(name);
    servers.projects.extend(old.projects.get_key_value(name).map(|(k, v)| (k.clone(), v.clone())));
    match (of(servers), before) {
        (Some(at), Some(before)) => servers.parsed.servers[at] = before,
        (Some(at), None) => {
            servers.parsed.servers.remove(at);
        }
        (None, _) => {}
    }
}
