//! Servers named on the command line, held against those of the configuration.

use task_loop::untrusted::printable;

use crate::config::servers::ServersFile;
use crate::diagnostic::Diagnostic;

const MAX_LISTED: usize = 20;

/// The names, each once; an error if there is no such server.
pub(super) fn known(file: &ServersFile, names: &[String]) -> Result<Vec<String>, Diagnostic> {
    let mut known: Vec<String> = Vec::new();
    for name in names {
        if file.entry(name).is_none() {
            return Err(unknown(file, name));
        }
        if !known.contains(name) {
            known.push(name.clone());
        }
    }
    Ok(known)
}

fn unknown(file: &ServersFile, name: &str) -> Diagnostic {
    let error = Diagnostic::failed(format!("unknown server `{}`", printable(name)));
    let error = match settings::nearest(name, file.names()) {
        Some((_, nearest)) => error.hint(format!("did you mean `{}`?", printable(nearest))),
        None => error,
    };
    let all: Vec<String> = file.names().map(printable).collect();
    error.hint(match all.as_slice() {
        [] => "no servers are configured; add one with `agent mcp add`".to_owned(),
        all if all.len() > MAX_LISTED => {
            format!("list the {} servers with `agent mcp list`", all.len())
        }
        all => format!("configured servers: {}", all.join(", ")),
    })
}
