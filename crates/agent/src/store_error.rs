//! What is wrong with the metrics store, in words, and what to do about it.

use usage_metrics::store::{Error, ErrorKind, StoreFolder};

use crate::diagnostic::Diagnostic;

/// Says what is wrong with the store in a folder.
pub(crate) fn store_trouble(folder: &StoreFolder, error: &Error) -> Diagnostic {
    let root = folder.root().display();
    let diagnostic = Diagnostic::failed(format!("cannot use the store in {root}")).because(error);
    match error.kind() {
        ErrorKind::Busy => diagnostic.hint("another process is using it; try again in a moment"),
        ErrorKind::Full => diagnostic.hint("free up disk space; no counts are lost meanwhile"),
        ErrorKind::ReadOnly => diagnostic.hint("make the folder writable"),
        ErrorKind::Corrupt => diagnostic.hint(
            "the next count moves it aside and starts a new one; remove it with `agent metrics off \
             --purge`",
        ),
        ErrorKind::Newer => diagnostic.hint("use the newer version that wrote it"),
        ErrorKind::Gone | ErrorKind::Stopped => diagnostic
            .hint("nothing is recorded here now; turn recording on with `agent metrics on`"),
        ErrorKind::Other => diagnostic,
    }
}
