//! Transcriptions of large files, which reach the upstream while they arrive.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use serde_json::Value;

use crate::fixture::{paid, provider, receipt, with_providers};
use crate::raw::{Head, Raw};
use crate::request_limits::peak_bytes;
use crate::support::{Holder, PRICE, Running};

const PATH: &str = "/v1/audio/transcriptions";
const MODELS: &str = "kind: openai, health: false, \
    models: {hear: {capabilities: [transcription], price_micros: 500}}";
const LIMITS: &str = "limits: {max_body_bytes: 100000000}\n";
const MIB: usize = 1024 * 1024;
const PIECE: usize = 64 * 1024;
const PATIENCE: Duration = Duration::from_mins(1);
const MODEL: &str = "--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nup/hear\r\n";
const FILE: &str = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\
    Content-Type: audio/wav\r\n\r\n";
const END: &str = "\r\n--x--\r\n";

/// What an upstream does with an upload.
#[derive(Clone, Copy)]
enum Act {
    /// Reads it, and answers with its size.
    Count,
    /// Answers with this status after the first bytes, and reads the rest.
    Early(u16),
    /// Closes the connection after the first bytes.
    Die,
}

/// What an upstream has seen.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    FirstBytes,
    Whole(usize),
    Broken,
}

struct Setup {
    service: Running,
    ada: Holder,
    seen: Receiver<Seen>,
}

/// A service with an upstream that keeps no upload.
fn setup(act: Act, rest: &str) -> Setup {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let entry =
        format!("  up: {{base_url: \"http://{}/v1\", {MODELS}}}\n", listener.local_addr().unwrap());
    let (tell, seen) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let _ = serve(&stream, act, &tell);
        }
    });
    let service = Running::start(&with_providers(&[entry], rest));
    let ada = service.holder("ada", 1000 * PRICE);
    Setup { service, ada, seen }
}

fn serve(stream: &TcpStream, act: Act, tell: &Sender<Seen>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut lines = reader.by_ref().lines().map_while(Result::ok);
    let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let length: Option<usize> =
        head.iter().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let answer = |status: u16, bytes: usize| {
        let body = format!("{{\"text\": \"{bytes}\", \"error\": null}}");
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n");
        (&mut &*stream)
            .write_all(format!("{head}content-length: {length}\r\n\r\n{body}").as_bytes())
    };
    let (mut count, mut piece) = (0, vec![0; PIECE]);
    loop {
        let left = if let Some(length) = length {
            length - count
        } else {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            usize::from_str_radix(line.trim(), 16).unwrap_or_default()
        };
        // A chunk of length 0 ends the body; an empty line is a connection that ended.
        if left == 0 {
            let mut last = String::new();
            let is_whole = length.is_some() || reader.read_line(&mut last)? > 0;
            let _ = tell.send(if is_whole { Seen::Whole(count) } else { Seen::Broken });
            return if matches!(act, Act::Count) { answer(200, count) } else { Ok(()) };
        }
        let mut chunk = if length.is_some() { left.min(PIECE) } else { left };
        while chunk > 0 {
            let read = reader.read(&mut piece[..chunk.min(PIECE)])?;
            if read == 0 {
                let _ = tell.send(Seen::Broken);
                return Ok(());
            }
            chunk -= read;
            if count == 0 {
                let _ = tell.send(Seen::FirstBytes);
            }
            let before = count;
            count += read;
            match act {
                Act::Early(status) if before < MIB && count >= MIB => answer(status, count)?,
                Act::Die if count >= MIB => return Ok(()),
                _ => {}
            }
        }
        if length.is_none() {
            reader.read_line(&mut String::new())?;
        }
    }
}

/// A client that uploads piece by piece.
struct Client(Raw);

impl Client {
    /// Announces a form; without a size it is sent in chunks.
    fn open(setup: &Setup, bytes: Option<usize>, more: &str) -> Self {
        let mut raw = Raw::open(setup.service.address);
        let size = bytes.map_or("transfer-encoding: chunked".to_owned(), |bytes| {
            format!("content-length: {bytes}")
        });
        raw.send(&format!(
            "POST {PATH} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
             content-type: multipart/form-data; boundary=x\r\n{more}{size}\r\n\r\n",
            setup.ada.key.as_str()
        ));
        Self(raw)
    }

    /// Sends zeros; the service may have closed the connection.
    fn zeros(&mut self, bytes: usize) {
        let piece = vec![0; PIECE];
        for _ in 0..bytes / PIECE {
            if self.0.stream().write_all(&piece).is_err() {
                return;
            }
        }
    }

    fn answer(&mut self) -> (Head, Value) {
        let head = self.0.head();
        let body = self.0.body();
        (head, serde_json::from_str(&body).unwrap_or_else(|_| body.into()))
    }
}

impl Setup {
    fn next(&self) -> Seen {
        self.seen.recv_timeout(PATIENCE).unwrap()
    }

    fn is_free(&self, head: &Head) {
        assert_eq!(head.header("x-charge-micros"), "0");
        assert_eq!(receipt(&self.service, &self.ada, head.header("x-receipt-id")).1, 0);
        assert_eq!(paid(&self.service, &self.ada), 0);
    }
}

#[test]
fn a_large_upload_is_streamed_with_little_memory() {
    let setup = setup(Act::Count, LIMITS);
    let file = 64 * MIB;
    let size = MODEL.len() + FILE.len() + file + END.len();
    let before = peak_bytes();
    let mut client = Client::open(&setup, Some(size), "");
    client.0.send(&format!("{MODEL}{FILE}"));
    client.zeros(file / 2);
    // Half of the file has not been sent yet.
    assert_eq!(setup.next(), Seen::FirstBytes);
    client.zeros(file / 2);
    client.0.send(END);
    let (head, answer) = client.answer();
    assert_eq!((head.status, head.header("x-charge-micros")), (200, "500"), "{answer}");
    let Seen::Whole(sent) = setup.next() else { panic!("cut off") };
    assert!(sent > file && sent < file + 2000, "{sent}");
    assert_eq!(answer["text"], sent.to_string());

    // The model after the file: a temporary file, not memory.
    let mut client = Client::open(&setup, Some(size), "");
    client.0.send(FILE);
    client.zeros(file);
    client.0.send(&format!("\r\n{MODEL}--x--\r\n"));
    let (head, answer) = client.answer();
    assert_eq!((head.status, head.header("x-charge-micros")), (200, "500"), "{answer}");
    assert_eq!([setup.next(), setup.next()], [Seen::FirstBytes, Seen::Whole(sent)]);
    let grown = peak_bytes() - before;
    assert!(grown < 16 * MIB, "{} MiB", grown / MIB);
    assert_eq!(paid(&setup.service, &setup.ada), 1000);
}

#[test]
fn an_upload_beyond_the_limit_is_aborted_and_free() {
    let setup = setup(Act::Count, "limits: {max_body_bytes: 3000000}\n");
    let mut client = Client::open(&setup, None, "");
    let start = format!("{MODEL}{FILE}");
    client.0.send(&format!("{:x}\r\n{start}\r\n{:x}\r\n", start.len(), 4 * MIB));
    client.zeros(4 * MIB);
    let (head, answer) = client.answer();
    assert_eq!((head.status, &answer["error"]["code"]), (413, &"body_too_large".into()));
    assert_eq!([setup.next(), setup.next()], [Seen::FirstBytes, Seen::Broken]);
    setup.is_free(&head);
}

#[test]
fn an_upstream_may_answer_before_the_upload_ends() {
    for (status, charge) in [(200, "500"), (400, "0")] {
        let setup = setup(Act::Early(status), LIMITS);
        let size = MODEL.len() + FILE.len() + 32 * MIB + END.len();
        let mut client = Client::open(&setup, Some(size), "");
        client.0.send(&format!("{MODEL}{FILE}"));
        client.zeros(32 * MIB);
        let (head, answer) = client.answer();
        assert_eq!((head.status, head.header("x-charge-micros")), (status, charge), "{answer}");
        assert_eq!(paid(&setup.service, &setup.ada).to_string(), charge);
    }
}

#[test]
fn an_upstream_failure_during_an_upload_is_free() {
    let setup = setup(Act::Die, LIMITS);
    let size = MODEL.len() + FILE.len() + 32 * MIB + END.len();
    let mut client = Client::open(&setup, Some(size), "");
    client.0.send(&format!("{MODEL}{FILE}"));
    client.zeros(32 * MIB);
    let (head, answer) = client.answer();
    assert_eq!((head.status, &answer["error"]["code"]), (503, &"upstream_unavailable".into()));
    setup.is_free(&head);
}

#[test]
fn a_client_disconnect_during_an_upload_is_free() {
    let setup = setup(Act::Count, LIMITS);
    let mut client = Client::open(&setup, Some(32 * MIB), "");
    client.0.send(&format!("{MODEL}{FILE}"));
    client.zeros(2 * MIB);
    assert_eq!(setup.next(), Seen::FirstBytes);
    let account = || setup.service.account(setup.ada.member);
    eventually("the price is held", || account().held.get() == 500);
    drop(client);
    assert_eq!(setup.next(), Seen::Broken);
    assert_eq!(paid(&setup.service, &setup.ada), 0);
}

#[test]
fn balance_and_parameters_are_checked_before_the_upload() {
    let setup = setup(Act::Count, LIMITS);
    let poor = setup.service.holder("eve", 0);
    for (key, form, expected) in [
        (poor.key.as_str(), "", (402, "insufficient_balance")),
        (setup.ada.key.as_str(), &*MODEL.replace("up/hear", "up/deaf"), (400, "model_not_found")),
        ("none", "", (401, "invalid_key")),
    ] {
        let mut raw = Raw::open(setup.service.address);
        let size = 32 * MIB;
        raw.send(&format!(
            "POST {PATH} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
             content-type: multipart/form-data; boundary=x\r\ncontent-length: {size}\r\n\r\n{form}"
        ));
        if !form.is_empty() {
            raw.send(FILE);
        }
        let head = raw.head();
        let answer: Value = serde_json::from_str(&raw.body()).unwrap();
        assert_eq!((head.status, answer["error"]["code"].as_str().unwrap()), expected);
    }
    let field = "--x\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\n";
    let mut client = Client::open(&setup, Some(MIB), "");
    client.0.send(field);
    client.zeros(2 * PIECE);
    let (head, answer) = client.answer();
    assert_eq!((head.status, &answer["error"]["param"]), (400, &"prompt".into()));
    assert_eq!(paid(&setup.service, &setup.ada), 0);
}

#[test]
fn fields_after_the_file_and_idempotency_keys_are_supported() {
    let upstream = Upstream::start();
    let text = with_providers(&[provider("up", &upstream, MODELS)], LIMITS);
    let service = Running::start(&text);
    let ada = service.holder("ada", 1000 * PRICE);
    let (_, seen) = channel();
    let setup = Setup { service, ada, seen };
    let format = "--x\r\nContent-Disposition: form-data; name=\"response_format\"\r\n\r\ntext\r\n";
    let tail = format!("\r\n{format}--x--\r\n");
    let size = MODEL.len() + FILE.len() + MIB + tail.len();
    let send = |more: &str| {
        let mut client = Client::open(&setup, Some(size), more);
        client.0.send(&format!("{MODEL}{FILE}"));
        client.zeros(MIB);
        client.0.send(&tail);
        client.answer()
    };
    let heard = "heard a.wav of 1048576 characters";
    for _ in 0..2 {
        assert_eq!(send("").1, heard);
    }
    assert_eq!(upstream.requests().len(), 2);
    let key = "idempotency-key: once\r\n";
    assert_eq!(send(key).1, heard);
    let (response, answer) = send(key);
    assert_eq!((response.header("idempotent-replayed"), answer), ("true", heard.into()));
    assert_eq!(upstream.requests().len(), 3);
    assert_eq!(paid(&setup.service, &setup.ada), 1500);
}
