//! The servers that are example programs of the client: `rmcp_server` and `hostile`.
//!
//! They are built with the tests of that crate, so only its tests can start them.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::hostile::Behaviour;
use super::{HttpPeer, Launch};

/// Where an example program of the crate under test lies: beside the folder of the test itself.
///
/// # Panics
/// If the test does not know where it is itself.
#[expect(clippy::expect_used, reason = "a test without its peer cannot go on")]
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its program");
    let profile = test.ancestors().nth(2).expect("a test lies in a folder of the profile");
    profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// The server on the official Rust SDK, in both eras.
pub fn rmcp_stdio() -> Launch {
    launch("rmcp_server", &["stdio"])
}

/// The server on the official Rust SDK over Streamable HTTP, in both eras. Flags: `--json` for plain
/// answers without sessions, `--nodelay` to send packets at once.
///
/// # Panics
/// If it does not start.
pub fn rmcp_http(flags: &[&str]) -> HttpPeer {
    announced(&launch("rmcp_server", &[&["http", "0"], flags].concat()))
}

/// A hostile server over standard input and output.
pub fn hostile_stdio(behaviour: Behaviour) -> Launch {
    launch("hostile", &["stdio", behaviour.name()])
}

/// A hostile server over HTTP in a process of its own, for those that end it;
/// [`HostileHttp`](super::hostile::HostileHttp) is cheaper for all others.
///
/// # Panics
/// If it does not start.
pub fn hostile_http(behaviour: Behaviour) -> HttpPeer {
    announced(&launch("hostile", &["http", behaviour.name()]))
}

fn launch(program: &str, args: &[&str]) -> Launch {
    let args = args.iter().map(|&word| word.to_owned()).collect();
    Launch { command: example(program), args, env: Vec::new() }
}

/// Starts a server that says its address on the first line.
#[expect(clippy::expect_used, reason = "a test without its peer cannot go on")]
fn announced(launch: &Launch) -> HttpPeer {
    let mut process = Command::new(&launch.command)
        .args(&launch.args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the examples of the crate are built with its tests");
    let mut url = String::new();
    if let Some(output) = process.stdout.as_mut() {
        // What cannot be read is no address, and said so below.
        let _ = BufReader::new(output).read_line(&mut url);
    }
    let peer = HttpPeer { url: url.trim_end().to_owned(), process };
    assert!(peer.url.starts_with("http://"), "`{}` does not serve", launch.command.display());
    peer
}
