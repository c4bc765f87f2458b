//! A server that misbehaves on purpose, one way at a time.
//!
//! Every [`Behaviour`] is a correct little server except for one thing. Its tools are `good` and
//! `other`: what goes wrong with calls goes wrong with `good`, and `other` goes on working, so that a
//! test can see whether the client survived. Nothing here uses an SDK: what is wrong is wrong down to
//! the byte.

mod behaviour;
mod correct;
mod http;
mod pipe;
mod server;
mod shapes;

use std::io::Write;

pub use behaviour::{Behaviour, Realm};
pub use http::HostileHttp;

/// Runs the program `hostile` with these arguments and gives back its exit code.
///
/// - `list`: the behaviours, one to a line.
/// - `stdio BEHAVIOUR`: serves standard input and output.
/// - `http BEHAVIOUR`: serves a free port of the loopback interface, and says the address to connect
///   to on the first line of standard output. `GET /__log` at that port gives all requests so far as
///   JSON: `[{"server", "method", "path", "headers", "body"}]`, where `server` is `main`, or `other`
///   for the second origin that some behaviours point to.
pub fn run(arguments: &[String]) -> u8 {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["list"] => {
            let mut output = std::io::stdout();
            for behaviour in Behaviour::ALL {
                let (name, realm, about) = (behaviour.name(), behaviour.realm(), behaviour.about());
                // A reader that has read enough may go.
                let _ = writeln!(output, "{name:<28} {realm:<6} {about}");
            }
            0
        }
        ["stdio", name] => match Behaviour::named(name) {
            Some(behaviour) if behaviour.realm() != Realm::Http => pipe::serve(behaviour),
            _ => refuse(name),
        },
        ["http", name] => match Behaviour::named(name) {
            Some(behaviour) if behaviour.realm() != Realm::Stdio => http::serve(behaviour),
            _ => refuse(name),
        },
        _ => refuse("hostile list | hostile stdio BEHAVIOUR | hostile http BEHAVIOUR"),
    }
}

fn refuse(what: &str) -> u8 {
    // There is nobody else to tell.
    let _ = writeln!(std::io::stderr(), "hostile: not understood: {what}");
    2
}

#[cfg(test)]
mod tests;
