//! An MCP server that misbehaves on purpose, one way at a time.
//!
//! Every [`Behaviour`] is a correct small server except for one fault. Its tools are `good` and
//! `other`: the faults of calls affect `good`, and `other` keeps working, so that a test can see
//! whether the client survived. No SDK is used, so that the faults are exact to the byte.

mod bad_messages;
mod behaviour;
mod correct_server;
mod http;
mod server;
mod stdio;
mod tasks;

use std::io::Write;

pub use behaviour::{Behaviour, TransportScope};
pub use http::HostileHttp;
use server::{print_error, secret};

/// Runs the program `hostile` with these arguments and returns its exit code.
///
/// - `list`: the behaviours, one per line.
/// - `stdio BEHAVIOUR`: serves standard input and output.
/// - `http BEHAVIOUR`: serves a free loopback port and prints the URL to connect to on the first
///   line.
pub fn run(arguments: &[String]) -> u8 {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["list"] => {
            let mut output = std::io::stdout();
            for behaviour in Behaviour::ALL {
                let (name, about) = (behaviour.name(), behaviour.about());
                let transport = format!("{:?}", behaviour.transport()).to_lowercase();
                // The reader may have closed the pipe.
                let _ = writeln!(output, "{name:<28} {transport:<6} {about}");
            }
            0
        }
        ["stdio", name] => serve(name, TransportScope::Http, stdio::serve),
        ["http", name] => serve(name, TransportScope::Stdio, http::serve),
        _ => refuse("hostile list | hostile stdio BEHAVIOUR | hostile http BEHAVIOUR"),
    }
}

/// Serves a behaviour, unless it applies only to the other transport.
fn serve(name: &str, other: TransportScope, serve: fn(Behaviour) -> u8) -> u8 {
    match Behaviour::named(name) {
        Some(Behaviour::DieAtOnce) => 0,
        Some(Behaviour::DieWithSecret) => {
            print_error(&format!("fatal: the key {} was refused", secret()));
            1
        }
        Some(behaviour) if behaviour.transport() != other => serve(behaviour),
        _ => refuse(name),
    }
}

fn refuse(what: &str) -> u8 {
    print_error(&format!("hostile: not understood: {what}"));
    2
}

#[cfg(test)]
mod tests;
