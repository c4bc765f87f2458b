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

/// Runs the program `hostile` with these arguments and returns its exit code.
///
/// - `list`: the behaviours, one per line.
/// - `stdio BEHAVIOUR`: serves standard input and output.
/// - `http BEHAVIOUR`: serves a free loopback port and prints the URL to connect to on the first
///   line. `GET /__log` at that port returns all requests so far as JSON: `[{"server", "method",
///   "path", "headers", "body"}]`, where `server` is `main`, or `other` for the second origin that
///   some behaviours point to.
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
        ["stdio", name] => match Behaviour::named(name) {
            Some(behaviour) if behaviour.transport() != TransportScope::Http => {
                stdio::serve(behaviour)
            }
            _ => refuse(name),
        },
        ["http", name] => match Behaviour::named(name) {
            Some(behaviour) if behaviour.transport() != TransportScope::Stdio => {
                http::serve(behaviour)
            }
            _ => refuse(name),
        },
        _ => refuse("hostile list | hostile stdio BEHAVIOUR | hostile http BEHAVIOUR"),
    }
}

fn refuse(what: &str) -> u8 {
    // Nothing is left to report this to.
    let _ = writeln!(std::io::stderr(), "hostile: not understood: {what}");
    2
}

#[cfg(test)]
mod tests;
