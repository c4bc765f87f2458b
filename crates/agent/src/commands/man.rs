//! `agent man`: manual pages, for packages.

use std::path::PathBuf;

use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Write manual pages
#[derive(Debug, clap::Args)]
#[command(
    hide = true,
    after_help = "\
Examples:
  agent man | man -l -
  agent man --out /usr/local/share/man/man1"
)]
pub(crate) struct Args {
    /// Write one page per command to this folder [default: print `agent.1`]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(
    args: &Args,
    session: &Session,
    program: clap::Command,
) -> Result<(), Diagnostic> {
    let program = program.mut_args(|arg| arg.hide(false));
    if let Some(folder) = &args.out {
        let written = std::fs::create_dir_all(folder);
        return written.and_then(|()| clap_mangen::generate_to(program, folder)).map_err(|error| {
            let message = format!("cannot write manual pages to {}", folder.display());
            Diagnostic::failed(message).because(&error)
        });
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(program)
        .render(&mut page)
        .map_err(|error| Diagnostic::failed("cannot generate the manual page").because(&error))?;
    session.output.bytes(&page)
}
