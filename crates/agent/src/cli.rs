//! The command line: global options, and the session they make.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, Parser};

use crate::commands::Command;
use crate::diagnostic::{Diagnostic, Exit};
use crate::environment::Environment;
use crate::output::{Color, Output, Style, Volume};
use crate::session::Session;

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "agent",
    version,
    about = "Run tasks with tools, and the members-only AI service behind them",
    after_help = "Examples:\n  agent up                      The member service on this machine\n  \
                  agent run \"Say hello\"         A task, with tools\n  agent chat                    \
                  A conversation\n  agent mcp add files -- CMD    A server with tools\n  agent doctor                  \
                  What to fix",
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "switches are what a command line has")]
struct Global {
    /// Print machine-readable JSON
    #[arg(long, global = true, help_heading = "Global options")]
    json: bool,
    /// Print nothing but data and errors
    #[arg(long, short, global = true, help_heading = "Global options")]
    quiet: bool,
    /// Print more about what is done
    #[arg(long, short, global = true, action = ArgAction::SetTrue, conflicts_with = "quiet",
          help_heading = "Global options")]
    verbose: bool,
    /// Print without colour; the variable `NO_COLOR` does the same
    #[arg(long, global = true, help_heading = "Global options")]
    no_color: bool,
    /// Use a named profile with its own configuration
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = "AGENT_PROFILE",
        hide_env_values = true,
        help_heading = "Global options"
    )]
    profile: Option<String>,
}

/// Parses the command line; prints help, version and usage errors.
pub(crate) fn parse() -> Result<(Command, Session), Exit> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = match <Cli as Parser>::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return Err(tell(&error, &arguments)),
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

/// Help and version are data; anything else is a usage error.
fn tell(error: &clap::Error, arguments: &[OsString]) -> Exit {
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
    // A closed pipe is no reason to fail.
    let _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Done,
        _ => Exit::Usage,
    }
}

/// The error of clap on one line, and the command whose help explains it.
fn in_a_line(text: &str) -> (String, String) {
    let is_end =
        |line: &str| line.starts_with("Usage:") || line.starts_with("For more information");
    let said = text.lines().take_while(|line| !is_end(line));
    let words: Vec<&str> = said.flat_map(str::split_whitespace).collect();
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
