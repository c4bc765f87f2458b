//! A server that misbehaves on purpose: `hostile list` says in which ways.
//!
//! `hostile stdio BEHAVIOUR` and `hostile http BEHAVIOUR`; all of it is in
//! [`agent_test_support::mcp::hostile`].

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    ExitCode::from(agent_test_support::mcp::hostile::run(&arguments))
}
