//! `agent metrics view`: the metrics as a page in the browser.

use super::{folder, needed_store};
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::view;

/// Look at the metrics in the browser: a page served on this machine alone
#[derive(Debug, clap::Args)]
#[command(after_help = "Ends with Ctrl-C.\n\nExamples:\n  agent metrics view\n  \
                        agent metrics view --port 8800 --no-open")]
pub(crate) struct Args {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Print the address and open no browser
    #[arg(long)]
    no_open: bool,
}

/// Serves the page until it is interrupted.
pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    // Without a store there is nothing to look at; the error says what to do.
    drop(needed_store(session)?);
    let opening =
        if args.no_open { view::BrowserLaunch::Print } else { view::BrowserLaunch::Browser };
    view::run(folder(session)?, args.port, opening, session)
}
