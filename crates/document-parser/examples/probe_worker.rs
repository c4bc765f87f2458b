//! A worker that runs the command in its input: tries forbidden operations, or parses.

use std::fs::File;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, ExitCode};
use std::{env, io, thread};

use document_parser::{Document, Job, Parsed, Rejection, worker};

fn main() -> ExitCode {
    let numbers: Vec<u64> = env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let [memory_bytes, cpu_seconds] = numbers[..] else { return ExitCode::FAILURE };
    match worker::run_with(worker::limits(memory_bytes, cpu_seconds), run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run(job: &Job, bytes: &[u8]) -> Result<Parsed, Rejection> {
    let content = match bytes {
        b"attempts" => attempts(),
        b"environment" => format!("{:?}", env::vars_os().collect::<Vec<_>>()),
        b"panic" => fail(),
        b"spin" => loop {
            std::hint::spin_loop();
        },
        b"wait" => loop {
            thread::park();
        },
        b"allocate" => allocate(),
        _ => return document_parser::parse(job, bytes),
    };
    Ok(Parsed::Page(Document { content, ..Document::default() }))
}

#[expect(clippy::panic, reason = "the test wants a panic")]
fn fail() -> String {
    panic!("on purpose")
}

fn allocate() -> String {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    loop {
        kept.push(vec![1; 1024 * 1024]);
        if kept.len() > 1024 * 1024 {
            return "a terabyte".to_owned();
        }
    }
}

/// The result of each forbidden operation, one per line.
fn attempts() -> String {
    let mut lines = Vec::new();
    let mut note = |name: &str, result: io::Result<()>| {
        let outcome =
            result.map_or_else(|error| format!("denied: {error}"), |()| "done".to_owned());
        lines.push(format!("{name} {outcome}"));
    };
    note("read", File::open("/etc/passwd").map(drop));
    note("list", std::fs::read_dir("/").map(drop));
    note("create", File::create("/tmp/probe-worker").map(drop));
    note("remove", std::fs::remove_file("/tmp/nothing-of-this-name").or_else(absent));
    note("program", Command::new("/bin/true").status().map(drop));
    note("thread", thread::Builder::new().spawn(|| {}).map(drop));
    note("connect", TcpStream::connect("127.0.0.1:9").map(drop).or_else(refused));
    note("listen", TcpListener::bind("127.0.0.1:0").map(drop));
    note("datagram", UdpSocket::bind("127.0.0.1:0").map(drop));
    note("unix", UnixStream::pair().map(drop));
    note("unix name", UnixListener::bind("/tmp/probe-worker.socket").map(drop));
    lines.join("\n")
}

/// A missing file shows that the operation was not denied.
fn absent(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// A refused connection shows that the operation was not denied.
fn refused(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::ConnectionRefused { Ok(()) } else { Err(error) }
}
