//! `agent man`: manual pages, for packages.

use std::path::PathBuf;

use crate::diagnostic::{ErrorContext, Result};
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

pub(crate) fn run(args: &Args, session: &Session, program: clap::Command) -> Result {
    let program = program.mut_args(|arg| arg.hide(false));
    if let Some(folder) = &args.out {
        let written = std::fs::create_dir_all(folder);
        return written
            .and_then(|()| clap_mangen::generate_to(program, folder))
            .or_cannot("write manual pages to", folder);
    }
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(program).render(&mut page);
    rendered.or_failed("cannot generate the manual page")?;
    session.output.bytes(&page)
}
