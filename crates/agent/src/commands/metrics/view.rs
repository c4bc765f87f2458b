//! `agent metrics view`: the metrics as a page in the browser.

use super::{folder, needed_store};
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::view;

/// Show metrics in the browser
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The page is served on this machine only. Stop it with Ctrl-C.

Examples:
  agent metrics view
  agent metrics view --port 8800 --no-open")]
pub(crate) struct Args {
    /// Port on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Print the URL instead of opening a browser
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
