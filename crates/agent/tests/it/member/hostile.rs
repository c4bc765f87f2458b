//! A service that misbehaves: nothing hangs, nothing is believed, nothing drives the terminal.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use agent_test_support::command::{ProgramOutput, TestHome};

/// A server that gives each path one answer.
fn serve(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let mut reader = BufReader::new(stream);
            let (mut first, mut line) = (String::new(), String::new());
            while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
                if first.is_empty() {
                    first.clone_from(&line);
                }
                line.clear();
            }
            let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
            let _ = reader.get_mut().write_all(&answer(&path));
        }
    });
    address
}

fn http(status: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn run(address: &str, arguments: &[&str]) -> ProgramOutput {
    let agent = TestHome::new(env!("CARGO_BIN_EXE_agent"));
    let mut command = agent.command(arguments);
    command.env("AGENT_API_KEY", "agk_x").env("AGENT_BASE_URL", format!("http://{address}/v1"));
    ProgramOutput::of(&mut command, b"")
}

/// Every command that asks.
const ALL: &[&[&str]] = &[
    &["me"],
    &["models"],
    &["search", "x"],
    &["fetch", "https://example.com/"],
    &["research", "start", "x"],
    &["research", "list"],
    &["research", "show", "job_1"],
    &["research", "watch", "job_1"],
    &["research", "cancel", "job_1"],
    &["media", "list"],
    &["media", "run", "a/b", "x"],
];

#[test]
fn invalid_responses_are_reported() {
    let evil = "{\"error\": {\"message\": \"\\u001b[2Jgone\\nerror: fake\", \"type\": \"t\"}}";
    for (answer, code) in [
        (http("200 OK", "application/json", b"{\"object\": 7}"), 5),
        (http("200 OK", "text/html", b"<html>hello</html>"), 5),
        (http("200 OK", "application/json", b""), 5),
        (http("500 Oops", "text/plain", b"\x1b[2J"), 5),
        (http("400 Bad", "application/json", evil.as_bytes()), 1),
        (http("302 Found", "text/plain", b""), 1),
    ] {
        let address = serve(move |_| answer.clone());
        for arguments in ALL {
            let run = run(&address, arguments);
            assert_eq!((run.code, &*run.stdout), (code, ""), "{arguments:?} {run:?}");
            assert!(!run.stderr.contains('\u{1b}') && !run.stderr.contains("\nerror: fake"));
            assert!(run.stderr.contains("error: "), "{run:?}");
        }
    }
}

#[test]
fn retries_of_a_non_http_peer_are_limited() {
    let address = serve(|_| b"nonsense\r\n\r\n".to_vec());
    let run = run(&address, &["me"]);
    assert_eq!((run.code, &*run.stdout), (5, ""), "{run:?}");
}

#[test]
fn a_mismatching_artifact_is_not_written() {
    let made = |bytes: usize, sha256: &str| {
        serde_json::json!({"object": "media.run", "id": "run_1", "model": "a/b",
            "capability": "image", "artifacts": [{"id": "art_1", "url": "http://x/y",
            "media_type": "image/png", "bytes": bytes, "sha256": sha256}],
            "charge_micros": 1, "created_at": "", "expires_at": ""})
        .to_string()
    };
    // The digest of "abc".
    let right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    for (bytes, sha256, code, told) in [
        (3, right, 0, "3 bytes"),
        (4, right, 5, "the size of art_1 does not match the one the service announced"),
        (
            3,
            &"0".repeat(64),
            5,
            "the SHA-256 digest of art_1 does not match the one the service announced",
        ),
    ] {
        let document = made(bytes, sha256);
        let address = serve(move |path| match path {
            "/v1/media/run" => http("200 OK", "application/json", document.as_bytes()),
            "/v1/capabilities" => {
                http("200 OK", "application/json", b"{\"object\":\"list\",\"data\":[]}")
            }
            _ => http("200 OK", "image/png", b"abc"),
        });
        let agent = TestHome::new(env!("CARGO_BIN_EXE_agent"));
        let mut command = agent.command(["media", "run", "a/b", "x", "--output", "a.png"]);
        command.env("AGENT_API_KEY", "agk_x").env("AGENT_BASE_URL", format!("http://{address}/v1"));
        let run = ProgramOutput::of(&mut command, b"");
        assert_eq!(run.code, code, "{run:?}");
        assert!(run.stderr.contains(told), "{run:?}");
        let names: Vec<_> = std::fs::read_dir(agent.work()).unwrap().collect();
        assert_eq!(names.len(), usize::from(code == 0), "{names:?}");
    }
}

#[test]
fn watch_pauses_between_retries_of_an_empty_event_stream() {
    // Each connection ends at once; pauses grow, and the command can be interrupted meanwhile.
    let address = serve(|_| http("200 OK", "text/event-stream", b": nothing\n\n"));
    let agent = TestHome::new(env!("CARGO_BIN_EXE_agent"));
    let mut command = agent.command(["research", "watch", "job_1"]);
    command.env("AGENT_API_KEY", "agk_x").env("AGENT_BASE_URL", format!("http://{address}/v1"));
    command.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    let begun = Instant::now();
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    for _ in 0..3 {
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains("retrying in"), "{line}");
    }
    assert!(begun.elapsed() > Duration::from_millis(700), "pauses are made");
    child.kill().unwrap();
    child.wait().unwrap();
}
