//! Starts `agent up` and reads a streamed answer.

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::dist::read;
use crate::failure::{Failure, OrFail, Result};
use crate::process::{self, Running};

const START_TIMEOUT: Duration = Duration::from_secs(30);
const ANSWER_SECONDS: &str = "30";
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs `COMMAND up` in a home folder on this machine.
pub(super) fn up(mut command: Command, home: &Path) -> Result<String> {
    command.env("HOME", home);
    stream_from(command, &home.join(".agent"), home, &|| Ok(()))
}

/// Runs `COMMAND up` on a free port until it has streamed an answer. `agent_home` has its key, as
/// seen from this process, and `log_folder` gets its output. `check_running` is called before it stops.
pub(super) fn stream_from(
    mut command: Command,
    agent_home: &Path,
    log_folder: &Path,
    check_running: &dyn Fn() -> Result,
) -> Result<String> {
    process::remove_agent_settings(&mut command);
    let started = Instant::now();
    let port = free_port()?;
    let listen = format!("127.0.0.1:{port}");
    let path = log_folder.join("up.log");
    let failed = "cannot start `agent up`";
    let log = File::create(&path).or_fail(failed)?;
    command.args(["up", "--listen", &listen, "--no-discover", "--no-download"]);
    command.stdout(log.try_clone().or_fail(failed)?).stderr(log).stdin(Stdio::null());
    let mut process = Running(command.spawn().or_fail(failed)?);
    let answer = wait_until_ready(port, &mut process.0).and_then(|()| stream(port, agent_home));
    let answer = answer.and_then(|pieces| check_running().map(|()| pieces));
    let pieces = answer.map_err(|failure| {
        let log = read(&path).unwrap_or_default();
        Failure::work(format!("{failure}\n{}", String::from_utf8_lossy(&log)))
    })?;
    Ok(format!("streamed {pieces} pieces after {:.1} s", started.elapsed().as_secs_f64()))
}

pub(super) fn free_port() -> Result<u16> {
    let bound = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    Ok(bound.or_fail("there is no free port")?.port())
}

pub(super) fn wait_until_ready(port: u16, process: &mut Child) -> Result {
    let deadline = Instant::now() + START_TIMEOUT;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if let Ok(Some(status)) = process.try_wait() {
            return Err(Failure::work(format!("the server stopped ({status})")));
        }
        if Instant::now() > deadline {
            return Err(Failure::work(format!("port {port} was not open in time")));
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Sends a chat and counts the events with content. The key is that of `agent up`.
fn stream(port: u16, agent_home: &Path) -> Result<usize> {
    let settings = String::from_utf8_lossy(&read(&agent_home.join(".env"))?).into_owned();
    let key = settings.lines().find_map(|line| line.strip_prefix("AGENT_API_KEY="));
    let key = key.ok_or_else(|| Failure::work("`agent up` wrote no key"))?;
    let body = json!({
        "model": "local/smollm2-135m",
        "stream": true,
        "max_tokens": 16,
        "messages": [{ "role": "user", "content": "Say hello." }],
    });
    let events = process::capture(
        Command::new("curl")
            .args(["-fsSN", "--noproxy", "*", "--max-time", ANSWER_SECONDS])
            .args(["--json", &body.to_string()])
            .args(["--header", &format!("Authorization: Bearer {key}")])
            .arg(format!("http://127.0.0.1:{port}/v1/chat/completions")),
    )?;
    let has_content =
        |line: &&str| line.contains("\"content\":\"") && !line.contains("\"content\":\"\"");
    let pieces = events.lines().filter(has_content).count();
    if pieces > 1 && events.lines().any(|line| line == "data: [DONE]") {
        return Ok(pieces);
    }
    Err(Failure::work(format!("the answer was not a complete stream: {events}")))
}
