//! `agent`: the client for a person and the members-only AI service for an operator.
//!
//! This file only starts: [`cli`] parses arguments, [`commands`] runs them, [`diagnostic`]
//! reports errors, and [`output`] is the only other place that writes to the terminal.

mod attachments;
mod attended_person;
mod cli;
mod commands;
mod config;
mod diagnostic;
mod documents;
mod download;
mod duration;
mod environment;
mod file_name;
mod finding;
mod home;
mod host;
mod key_value;
mod keychain;
mod log;
mod markdown;
mod mcp;
mod member;
mod metrics_recorder;
#[cfg(feature = "local-model")]
mod model_files;
mod output;
mod prompt;
mod runtime;
mod session;
mod skills;
mod table;
mod task_printer;
mod task_setup;
mod terminal_person;
mod view;
mod wrap;

use std::process::ExitCode;

use clap::CommandFactory;

// Replaces the C library's allocator, for SQLite as well: a request of the service allocates
// memory some eighty times.
use libmimalloc_sys as _;

fn main() -> ExitCode {
    output::report_panics();
    let outcome = std::panic::catch_unwind(|| match cli::parse() {
        Ok((command, session)) => {
            let result = commands::run(command, &session, cli::Cli::command);
            session.output.finish(result)
        }
        Err(exit) => exit,
    });
    outcome.unwrap_or(diagnostic::Exit::Bug).into()
}
