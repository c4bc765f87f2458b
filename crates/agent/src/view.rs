//! The page of `agent metrics view`.

use usage_metrics::store::Folder;

use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Whether a browser is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Open it.
    Browser,
    /// Only print the address.
    Print,
}

/// Serves the page.
pub(crate) fn run(_: Folder, _: u16, _: Opening, _: &Session) -> Result<(), Diagnostic> {
    Err(Diagnostic::failed("not built"))
}
