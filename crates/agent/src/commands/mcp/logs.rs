//! `agent mcp logs`: the standard error of a server, and the log messages it sent.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use mcp_client::server_log;
use task_loop::untrusted::{escaped_lines, printable};

use crate::diagnostic::{ErrorContext, Result};
use crate::mcp::Servers;
use crate::session::Session;

/// Maximum size read from the end of the file for its last lines.
const MAX_TAIL_BYTES: u64 = 1024 * 1024;
const POLL: Duration = Duration::from_millis(200);

/// Show the log of a server
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The log has the standard error of a local server, and the log messages that a server sends; \
`log_level` in its entry selects their level. Secrets are redacted.

Examples:
  agent mcp logs files
  agent mcp logs files --follow")]
pub(crate) struct Args {
    /// Server name
    server: String,
    /// Print new lines until interrupted
    #[arg(long, short)]
    follow: bool,
    /// Number of last lines to print first
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    lines: usize,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let servers = Servers::load(session)?;
    servers.find(&args.server)?;
    let path = server_log::path(&session.home()?.logs(), &args.server);
    let mut read = match tail(&path, args.lines) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = printable(&args.server);
            session.output.note(format!("The server `{name}` has logged nothing yet."));
            0
        }
        found => {
            let (text, read) = found.or_cannot("read", &path)?;
            session.output.verbatim(escaped_lines(&text))?;
            read
        }
    };
    if !args.follow {
        return Ok(());
    }
    loop {
        match added(&path, &mut read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            text => session.output.verbatim(escaped_lines(&text.or_cannot("read", &path)?))?,
        }
        std::thread::sleep(POLL);
    }
}

/// The last lines of the file, and their end offset.
fn tail(path: &Path, lines: usize) -> io::Result<(String, u64)> {
    let size = fs::metadata(path)?.len();
    let bytes = read_from(path, size.saturating_sub(MAX_TAIL_BYTES))?;
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    Ok((all[all.len().saturating_sub(lines)..].concat(), size))
}

/// Complete lines added since; a shorter file was replaced and is read anew.
fn added(path: &Path, read: &mut u64) -> io::Result<String> {
    if fs::metadata(path)?.len() < *read {
        *read = 0;
    }
    let mut bytes = read_from(path, *read)?;
    let is_full = bytes.len() as u64 == MAX_TAIL_BYTES;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if !(is_full && whole == 0) {
        bytes.truncate(whole);
    }
    *read += bytes.len() as u64;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn read_from(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(MAX_TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
