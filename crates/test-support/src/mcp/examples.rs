//! The servers that are example programs of the client: `rmcp_server` and `hostile`.
//!
//! They are built with that crate's tests, so only those can start them.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use super::hostile::Behaviour;
use super::{HttpPeer, ServerCommand};

/// Path of an example program of the crate under test: next to the directory of the test binary.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its program");
    let profile = test.ancestors().nth(2).expect("a test lies in a folder of the profile");
    profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// The server on the official Rust SDK, with both protocol generations.
pub fn rmcp_stdio() -> ServerCommand {
    launch("rmcp_server", &["stdio"])
}

/// The same over Streamable HTTP. Flags: `--json` for plain responses without sessions, `--nodelay`
/// to send packets at once.
pub fn rmcp_http(flags: &[&str]) -> HttpPeer {
    announced(&launch("rmcp_server", &[&["http", "0"], flags].concat()))
}

pub fn hostile_stdio(behaviour: Behaviour) -> ServerCommand {
    launch("hostile", &["stdio", behaviour.name()])
}

/// A hostile server over HTTP in a separate process, for tests that kill it;
/// [`HostileHttp`](super::hostile::HostileHttp) is cheaper for all others.
pub fn hostile_http(behaviour: Behaviour) -> HttpPeer {
    announced(&launch("hostile", &["http", behaviour.name()]))
}

fn launch(program: &str, args: &[&str]) -> ServerCommand {
    ServerCommand::new(example(program), args)
}

/// Starts a server that prints its URL on the first line.
fn announced(launch: &ServerCommand) -> HttpPeer {
    let mut process = launch
        .command()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the examples of the crate are built with its tests");
    let mut url = String::new();
    if let Some(output) = process.stdout.as_mut() {
        // An unreadable line is no URL, which is reported below.
        let _ = BufReader::new(output).read_line(&mut url);
    }
    let peer = HttpPeer { url: url.trim_end().to_owned(), process };
    assert!(peer.url.starts_with("http://"), "`{}` does not serve", launch.command.display());
    peer
}
