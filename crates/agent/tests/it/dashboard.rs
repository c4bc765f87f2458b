//! `agent dashboard`: the pages in a real browser, and their server asked directly.

#![expect(clippy::panic, reason = "what the tests share ends them, too")]

mod access;
mod accessibility;
mod chats;
mod servers;
mod sign_in;
mod stored;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::panic::AssertUnwindSafe;
use std::process::{Child, Command, Stdio};

use agent_test_support::browser::{Browser, ColorScheme};
use agent_test_support::mcp::{everything_stdio, filesystem_stdio};
use agent_test_support::wait::DEADLINE;
use serde_json::Value;

use crate::tasks::{Setup, launched};

/// A dashboard that runs, and the link that it printed.
struct Dashboard {
    program: Child,
    link: String,
}

impl Dashboard {
    fn start(setup: &Setup) -> Self {
        Self::with(&mut setup.command(["--json", "dashboard", "--no-open"]))
    }

    fn with(command: &mut Command) -> Self {
        Self::of(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// One that was started with its output piped.
    fn of(mut program: Child) -> Self {
        let mut said = String::new();
        BufReader::new(program.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let said: Value = serde_json::from_str(&said).unwrap();
        let link = said["address"].as_str().unwrap().to_owned();
        Self { program, link }
    }

    fn origin(&self) -> String {
        self.link.split("/open/").next().unwrap().to_owned()
    }

    fn port(&self) -> u16 {
        self.origin().rsplit(':').next().unwrap().parse().unwrap()
    }

    /// A browser with the first page.
    fn browser(&self) -> Browser {
        let browser = Browser::start(1280, 900, ColorScheme::Light);
        browser.goto(&self.link);
        heading(&browser, "Chats");
        browser
    }

    /// Sends a request, head and all.
    fn ask(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port())).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let text = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    fn get(&self, path: &str, headers: &str) -> Answer {
        let port = self.port();
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}Connection: close\r\n\r\n"
        ))
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

/// A further link to the pages of the running dashboard.
fn link(setup: &Setup, more: &[&str]) -> String {
    let run = setup.agent(&[&["--json", "dashboard", "--no-open"], more].concat());
    let said: Value = serde_json::from_str(&run.stdout).unwrap();
    said["address"].as_str().unwrap().to_owned()
}

/// The entry of a server that is this Python program, which answers `tools/call` with `content`.
fn python_server(setup: &Setup, name: &str, content: &str) -> String {
    let program = format!(
        r#"
import sys, json, base64, io, wave
def sound():
    file = io.BytesIO()
    with wave.open(file, "wb") as it:
        it.setnchannels(1), it.setsampwidth(2), it.setframerate(8000), it.writeframes(bytes(8000))
    return base64.b64encode(file.getvalue()).decode()
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    result = {{
        "initialize": lambda: {{"protocolVersion": "2025-06-18", "capabilities": {{"tools": {{}}}}, "serverInfo": {{"name": "{name}", "version": "1"}}}},
        "tools/list": lambda: {{"tools": [{{"name": "make", "inputSchema": {{"type": "object"}}}}]}},
        "tools/call": lambda: {{"content": [{content}], "structuredContent": {{"seconds": 0.5}}}},
    }}.get(message["method"], dict)()
    print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "result": result}}), flush=True)
"#
    );
    let script = setup.fixture.agent.work().join(format!("{name}.py"));
    fs::write(&script, program).unwrap();
    format!("  {name}:\n    command: python3\n    args: [{}]\n", script.display())
}

/// A world with a folder server, the server with everything, and comments around them.
fn setup() -> Setup {
    let setup = Setup::new();
    let folder = setup.fixture.agent.work().join("notes");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a.txt"), "the notes of a\n").unwrap();
    let files = launched(
        "files",
        &filesystem_stdio(&folder),
        "    trust: untrusted\n    timeout: 60 # seconds\n",
    );
    let all = launched("all", &everything_stdio(), "");
    setup.configure(&format!(
        "# my servers\nmodel: {}\ntask:\n  member_tools: false\nmcp_servers:\n  # my notes\n{files}{all}",
        crate::tasks::MODEL
    ));
    setup
}

fn config(setup: &Setup) -> String {
    fs::read_to_string(setup.fixture.agent.home().join("config.yaml")).unwrap()
}

fn heading(browser: &Browser, text: &str) {
    let text = serde_json::to_string(text).unwrap();
    let is_there = format!("return document.querySelector('h1')?.textContent === {text}");
    browser.eventually(&text, &is_there);
}

/// Waits until a part of the page contains this text.
fn shows(browser: &Browser, css: &str, text: &str) {
    let (css, text) = (Value::from(css), Value::from(text));
    let script = format!(
        "return [...document.querySelectorAll({css})].some((it) => it.textContent.includes({text}))"
    );
    awaits(browser, &format!("{css} shows {text}"), &script);
}

/// Waits for something on the page, and prints the page if it never comes.
fn awaits(browser: &Browser, what: &str, script: &str) {
    let waited = std::panic::catch_unwind(AssertUnwindSafe(|| browser.eventually(what, script)));
    if let Err(panic) = waited {
        let page = browser.eval("return location.pathname + '\\n' + document.body.innerText");
        let why = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        panic!("{why}: {}", page.as_str().unwrap_or_default());
    }
}

/// Puts a text into a field, as typing does.
fn fill(browser: &Browser, css: &str, text: &str) {
    let (css, text) = (Value::from(css), Value::from(text));
    browser.eval(&format!(
        "const field = document.querySelector({css}); field.value = {text}; \
         field.dispatchEvent(new Event('input', {{bubbles: true}}))"
    ));
}

/// Clicks the button or link with this text.
fn press(browser: &Browser, text: &str) {
    let wanted = Value::from(text);
    awaits(
        browser,
        &format!("press {text}"),
        &format!(
            "const one = [...document.querySelectorAll('button, a.button, summary')]\
             .find((it) => it.textContent.trim() === {wanted} && it.offsetParent !== null && !it.disabled); \
             one?.click(); return one !== undefined"
        ),
    );
}
