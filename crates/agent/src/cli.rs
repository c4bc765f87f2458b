//! The command line: global options, and the session built from them.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Args, CommandFactory, Parser};

use crate::commands::Command;
use crate::diagnostic::{Diagnostic, Exit};
use crate::environment::Environment;
use crate::output::{self, Color, Output, Style, Volume};
use crate::session::Session;

/// The output of `agent -h`: it fits 24 lines.
const TEMPLATE: &str = "{about}
Usage: agent [OPTIONS] <COMMAND>

{subcommands}{after-help}";

#[derive(Debug, Parser)]
#[command(
    name = "agent",
    version,
    about = "Use AI models with tools, and run a members-only AI service",
    help_template = TEMPLATE,
    after_help = "Run `agent help COMMAND` for details, `agent --help` for all options.",
    after_long_help = "\
Options, accepted by every command:
      --json            Print JSON
  -q, --quiet           Print only results and errors
  -v, --verbose         Print more details
      --no-color        Disable colors (also NO_COLOR)
      --profile <NAME>  Use a named profile [env: AGENT_PROFILE]
  -h, --help            Print help
  -V, --version         Print the version

Examples:
  agent up                    Start your own service
  agent chat                  Chat with a model
  agent run \"Say hello\"       Run a task
  agent mcp add files -- CMD  Add an MCP server
  agent doctor                Check your setup

Run `agent help COMMAND` for details.",
    disable_help_subcommand = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command, shown on the page of `agent --help` only.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "switches are what a command line has")]
struct Global {
    /// Print JSON
    #[arg(long, global = true, hide = true)]
    json: bool,
    /// Print only results and errors
    #[arg(long, short, global = true, hide = true)]
    quiet: bool,
    /// Print more details
    #[arg(long, short, global = true, action = ArgAction::SetTrue, conflicts_with = "quiet",
          hide = true)]
    verbose: bool,
    /// Disable colors (also `NO_COLOR`)
    #[arg(long, global = true, hide = true)]
    no_color: bool,
    /// Use a named profile
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = "AGENT_PROFILE",
        hide_env_values = true,
        hide = true
    )]
    profile: Option<String>,
}

pub(crate) fn parse() -> Result<(Command, Session), Exit> {
    let arguments = with_help_option(std::env::args_os().collect());
    let cli = match <Cli as Parser>::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return Err(report(&error, &arguments)),
    };
    let Cli { global, command } = cli;
    let volume = match (global.quiet, global.verbose) {
        (true, _) => Volume::Quiet,
        (false, true) => Volume::Verbose,
        (false, false) => Volume::Normal,
    };
    let color = if global.no_color { Color::Never } else { Color::Auto };
    let style = if global.json { Style::Json } else { Style::Human };
    let output = Output::new(style, volume, color);
    Ok((command, Session::new(output, Environment::of_process(), global.profile)))
}

/// `agent help COMMAND` is `agent COMMAND --help`, and `agent help` is `agent -h`.
fn with_help_option(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if arguments.get(1).is_some_and(|first| first == "help") {
        arguments.remove(1);
        arguments.push(if arguments.len() == 1 { "-h".into() } else { "--help".into() });
    }
    arguments
}

/// Prints help and version to stdout; anything else is a usage error.
fn report(error: &clap::Error, arguments: &[OsString]) -> Exit {
    let asked_for_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if !asked_for_help && arguments.iter().any(|argument| argument == "--json") {
        let output = Output::new(Style::Json, Volume::Normal, Color::Never);
        let text = error.to_string();
        let (message, help) = in_a_line(&text);
        return output.finish(Err(Diagnostic::usage(message).hint(format!("see `{help} --help`"))));
    }
    let text = error.render().ansi().to_string();
    if error.use_stderr() {
        output::prose(text.trim_end());
    } else {
        // A closed pipe is no error.
        let _ = Output::new(Style::Human, Volume::Normal, Color::Auto).text(text);
    }
    if let Some(meant) = nearest_command(error) {
        output::prose(format!("\nDid you mean `{meant}`?"));
    }
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Done,
        _ => Exit::Usage,
    }
}

/// The command nearest to a mistyped one, if clap suggests none: it misses transposed letters
/// of short names.
fn nearest_command(error: &clap::Error) -> Option<String> {
    let is_suggested = error.get(ContextKind::SuggestedSubcommand).is_some();
    let Some(ContextValue::String(typed)) =
        error.get(ContextKind::InvalidSubcommand).filter(|_| !is_suggested)
    else {
        return None;
    };
    let program = Cli::command();
    let names = program.get_subcommands().map(clap::Command::get_name);
    let distance = |name: &&str| strsim::damerau_levenshtein(name, typed);
    let nearest = names.min_by_key(distance)?;
    (distance(&nearest) == 1).then(|| format!("agent {nearest}"))
}

fn in_a_line(text: &str) -> (String, String) {
    let is_end =
        |line: &str| line.starts_with("Usage:") || line.starts_with("For more information");
    let lines = text.lines().take_while(|line| !is_end(line));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let message = words.join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message).to_owned();
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or("agent");
    let is_command =
        |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let command: Vec<&str> = usage
        .split_whitespace()
        .take_while(|word| is_command(word) && !word.starts_with('-'))
        .collect();
    (message, command.join(" "))
}

#[cfg(test)]
mod tests;
