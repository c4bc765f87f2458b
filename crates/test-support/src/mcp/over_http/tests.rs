//! Tests of `over_http`.

use std::process::Command;

use super::*;

fn answers(url: &str) -> bool {
    let address = url.trim_start_matches("http://").split('/').next().unwrap();
    TcpStream::connect(address).is_ok()
}

/// A free port would not prove it: another process may have taken the port.
fn runs(id: u32) -> bool {
    Command::new("kill").args(["-0", &id.to_string()]).status().unwrap().success()
}

#[test]
fn every_peer_answers_until_dropped() {
    for start in [everything_streamable, everything_sse, python_streamable, python_sse] {
        let peer = start();
        let (url, id) = (peer.url.clone(), peer.process_id());
        assert!(answers(&url) && runs(id), "{url}");
        drop(peer);
        assert!(!runs(id), "{url}");
    }
}

#[test]
fn server_that_exits_at_once_fails_to_start() {
    let launch = ServerCommand { command: "false".into(), args: Vec::new(), env: Vec::new() };
    let mut peer = HttpPeer { url: String::new(), process: spawn(&launch) };
    assert!(!peer.answers(port::free().port()));
}
