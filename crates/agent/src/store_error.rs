//! What is wrong with the metrics store, in words, and what to do about it.

use usage_metrics::store::{Error, ErrorKind, StoreFolder};

use crate::diagnostic::Diagnostic;

/// Says what is wrong with the store in a folder.
pub(crate) fn store_trouble(folder: &StoreFolder, error: &Error) -> Diagnostic {
    let root = folder.root().display();
    let diagnostic = Diagnostic::failed(format!("cannot use the store in {root}")).because(error);
    match error.kind() {
        ErrorKind::Busy => diagnostic.hint("another process holds it; try again in a moment"),
        ErrorKind::Full => {
            diagnostic.hint("make room on the disk; nothing counted is lost meanwhile")
        }
        ErrorKind::ReadOnly => diagnostic.hint("make the folder writable"),
        ErrorKind::Corrupt => diagnostic.hint(
            "the next thing that is counted sets it aside and starts anew; `agent metrics off \
             --purge` removes it",
        ),
        ErrorKind::Newer => diagnostic.hint("use the newer program that wrote it"),
        ErrorKind::Gone | ErrorKind::Stopped => diagnostic
            .hint("nothing is recorded here any more; `agent metrics on` turns recording on"),
        ErrorKind::Other => diagnostic,
    }
}
