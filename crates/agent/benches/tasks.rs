//! What the client adds: to starting, to asking, and to every round of a task.
//!
//! All is the real program against the real service, with servers of standard streams. What the
//! service, the servers and the model take by themselves is measured in the same run and taken off.
#![expect(clippy::print_stdout, reason = "its table is its purpose")]
#![expect(clippy::expect_used, reason = "a measurement that cannot begin ends")]

#[expect(dead_code, reason = "shared with other benches")]
#[path = "../../gateway/benches/shared/table.rs"]
mod table;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use agent_test_support::command::{ProgramOutput, TestHome};
use agent_test_support::upstream::{Step, Upstream};
use serde_json::{Value, json};

use crate::table::{Better, Goal, Spread, head, row};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/server.py");
const STARTS: usize = 15;
const SERVERS: usize = 5;
const COLD_STARTS: usize = 5;
const ROUNDS: usize = 100;
const MANY_SERVERS: usize = 20;
const TOOLS_EACH: usize = 25;
/// How long anything may take before the measurement is given up.
const PATIENCE: Duration = Duration::from_mins(2);

fn main() {
    let setup = Setup::start();
    head();
    setup.starting();
    setup.asking();
    setup.cold_task();
    setup.rounds();
    setup.memory();
    setup.dashboard();
}

const fn milliseconds(bar: f64) -> Goal {
    Goal { bar, aim: None, unit: "ms", better: Better::Lower }
}

/// A service with a member, and a model that repeats its prompt.
struct Setup {
    bench: TestHome,
    upstream: Upstream,
    service: Child,
    address: String,
    key: String,
}

impl Drop for Setup {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

impl Setup {
    fn start() -> Self {
        let bench = TestHome::new(env!("CARGO_BIN_EXE_agent"));
        let upstream = Upstream::start();
        upstream.set_models(&["echo"]);
        let folder = bench.home().join("gateway");
        fs::create_dir_all(&folder).expect("a folder");
        let yaml = format!(
            "listen: 127.0.0.1:0\nproviders:\n  test:\n    kind: openai\n    base_url: {}\n    \
             api_key: {}\n    models: [echo]\n",
            upstream.base_url(),
            upstream.key()
        );
        fs::write(folder.join("gateway.yaml"), yaml).expect("a file");
        let run = |arguments: &[&str]| {
            let run = bench.run(["gateway"].iter().chain(arguments));
            assert_eq!(run.code, 0, "{run:?}");
            run.stdout.trim().to_owned()
        };
        run(&["migrate"]);
        run(&["member", "create", "me", "--credit", "1000"]);
        let key = run(&["key", "create", "me", "--name", "bench", "--quiet"]);
        let mut service = bench
            .command(["gateway", "serve", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .stdin(Stdio::null())
            .spawn()
            .expect("the service starts");
        let mut line = String::new();
        let output = service.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let ready: Value = serde_json::from_str(&line).expect("the service prints its address");
        let address = ready["address"].as_str().expect("an address").to_owned();
        Self { bench, upstream, service, address, key }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.bench.command(arguments);
        command
            .env("AGENT_BASE_URL", format!("http://{}/v1", self.address))
            .env("AGENT_API_KEY", &self.key);
        command
    }

    fn configure(&self, servers: usize, extra: usize) {
        let mut yaml = String::from("task: {member_tools: false}\nmcp_servers:\n");
        for number in 0..servers {
            yaml += &format!(
                "  s{number}:\n    command: python3\n    args: [{SERVER}]\n    env: \
                 {{FIXTURE_EXTRA: '{extra}'}}\n"
            );
        }
        fs::write(self.bench.home().join("config.yaml"), yaml).expect("a file");
    }

    /// The program begins and ends.
    fn starting(&self) {
        let ours = times(STARTS, || {
            assert_eq!(self.bench.run(["--version"]).code, 0);
        });
        let least = times(STARTS, || {
            assert_eq!(ProgramOutput::of(&mut Command::new("true"), b"").code, 0);
        });
        let (own, other) = (Spread::new(ours), Spread::new(least));
        let against = format!("`true` {:.1} ms", other.median());
        let shown = format!("{:.1} ms", own.median());
        row("`agent --version`", &shown, &against, &own, Some(milliseconds(10.0)));
    }

    /// The program asks the service one thing.
    fn asking(&self) {
        let ours = times(STARTS, || {
            let run = ProgramOutput::of(&mut self.command(&["me", "--json"]), b"");
            assert_eq!(run.code, 0, "{run:?}");
        });
        let direct = Spread::new(times(STARTS, || {
            assert!(self.ask("GET", "/v1/me", "").contains("available_micros"));
        }));
        let added = Spread::new(ours.into_iter().map(|time| time - direct.median()));
        let against = format!("the call itself {:.1} ms", direct.median());
        let shown = format!("{:.1} ms added", added.median());
        row("`agent me`", &shown, &against, &added, Some(milliseconds(20.0)));
    }

    /// From the start of the program to the first question to the model.
    fn cold_task(&self) {
        self.configure(SERVERS, 0);
        let ours = times(COLD_STARTS, || {
            let before = self.upstream.completions().len();
            self.upstream.script("echo", vec![Step::Turn("Done.", Vec::new())]);
            let mut child = self
                .command(&["run", "Go"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("the program starts");
            let begun = Instant::now();
            while self.upstream.completions().len() == before {
                assert!(begun.elapsed() < PATIENCE, "the model is never asked");
                std::thread::sleep(Duration::from_micros(200));
            }
            // The rest of the task is not measured, but must go well.
            let waiter = std::thread::spawn(move || child.wait());
            drop(waiter);
        });
        let slowest = Spread::new(times(COLD_STARTS, || {
            let mut servers: Vec<Server> = (0..SERVERS).map(|_| Server::spawn()).collect();
            for server in &mut servers {
                server.greet();
            }
        }));
        let added = Spread::new(ours.into_iter().map(|time| time - slowest.median()));
        let against = format!("slowest of {SERVERS} servers {:.0} ms", slowest.median());
        let shown = format!("{:.0} ms added", added.median());
        let name = format!("cold `agent run`, {SERVERS} servers, to the first question");
        row(&name, &shown, &against, &added, Some(milliseconds(50.0)));
    }

    /// What every round of a task adds to the model and the tool.
    fn rounds(&self) {
        self.configure(1, 0);
        let echo = || {
            let arguments = json!({"text": "x"}).to_string();
            Step::Turn("", vec![("mcp__s0__echo".to_owned(), arguments)])
        };
        let task = |rounds: usize| {
            let mut steps: Vec<Step> = (0..rounds).map(|_| echo()).collect();
            steps.push(Step::Turn("Done.", Vec::new()));
            self.upstream.script("echo", steps);
            let mut command = self.command(&["run", "--max-rounds", "1000", "Go"]);
            let begun = Instant::now();
            let run = ProgramOutput::of(&mut command, b"");
            assert_eq!((run.code, run.stdout.as_str()), (0, "Done.\n"), "{run:?}");
            ms(begun.elapsed())
        };
        let count = f64::from(u32::try_from(ROUNDS).expect("a number"));
        let mut added = Vec::new();
        let mut parts = (0.0, 0.0);
        for _ in 0..3 {
            let whole = (task(ROUNDS + 1) - task(1)) / count;
            let bodies = self.questions(ROUNDS);
            self.upstream.script("echo", (0..ROUNDS).map(|_| echo()).collect());
            let begun = Instant::now();
            for body in &bodies {
                assert!(self.ask("POST", "/v1/chat/completions", body).contains("[DONE]"));
            }
            let model = ms(begun.elapsed()) / count;
            let mut server = Server::spawn();
            server.greet();
            let begun = Instant::now();
            for number in 0..ROUNDS {
                server.call(number);
            }
            let tool = ms(begun.elapsed()) / count;
            added.push(whole - model - tool);
            parts = (model, tool);
        }
        let added = Spread::new(added);
        let against = format!("model {:.2} ms, tool {:.2} ms", parts.0, parts.1);
        let shown = format!("{:.2} ms added", added.median());
        row("a round of a task", &shown, &against, &added, Some(milliseconds(2.0)));
    }

    /// The questions of a task that grows by a call and a result with each round.
    fn questions(&self, rounds: usize) -> Vec<String> {
        let last = self.upstream.completions().pop().expect("a task was run").json();
        let messages = last["messages"].as_array().expect("messages").clone();
        (0..rounds)
            .map(|round| {
                let mut body = last.clone();
                let upto = (2 + 2 * round).min(messages.len());
                body["messages"] = Value::Array(messages[..upto].to_vec());
                body["model"] = json!("test/echo");
                body.to_string()
            })
            .collect()
    }

    /// What a conversation with many servers and tools weighs.
    fn memory(&self) {
        self.configure(MANY_SERVERS, TOOLS_EACH - 7);
        self.upstream.script("echo", vec![Step::Turn("Hello.", Vec::new())]);
        let mut child = self
            .command(&["chat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(b"Hi\n").expect("a question");
        let mut answer = [0; 6];
        child.stdout.as_mut().expect("a pipe").read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"Hello.");
        let mib = memory(child.id(), "VmRSS:");
        drop(stdin);
        let _ = child.wait();
        let goal = Goal { bar: 60.0, aim: None, unit: "MiB", better: Better::Lower };
        let name = format!(
            "memory of a chat, {MANY_SERVERS} servers, {} tools",
            MANY_SERVERS * TOOLS_EACH
        );
        row(&name, &format!("{mib:.1} MiB"), "", &Spread::new([mib]), Some(goal));
    }

    /// The start of `agent dashboard`, its first page, and what it weighs then.
    fn dashboard(&self) {
        let (mut pages, mut weights) = (Vec::new(), Vec::new());
        let starts = times(COLD_STARTS, || {
            let mut child = self
                .command(&["--json", "dashboard", "--no-open"])
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .expect("the program starts");
            let mut line = String::new();
            let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
            stdout.read_line(&mut line).expect("an address");
            let said: Value = serde_json::from_str(&line).expect("JSON");
            let address = said["address"].as_str().expect("an address").to_owned();
            let (origin, path) = address.split_at(address.find("/open/").expect("a link"));
            let host = origin.strip_prefix("http://").expect("an address");
            pages.extend(times(1, || {
                let cookie = get(host, path, "");
                let cookie = cookie.lines().find_map(|line| line.strip_prefix("set-cookie: "));
                let cookie = cookie.and_then(|line| line.split(';').next()).expect("a cookie");
                let page = get(host, "/", &format!("cookie: {cookie}\r\n"));
                assert!(page.starts_with("HTTP/1.1 200"), "{page}");
            }));
            weights.push(memory(child.id(), "RssAnon:"));
            let _ = child.kill();
            let _ = child.wait();
        });
        let (own, starts) = (Spread::new(pages), Spread::new(starts));
        let shown = format!("{:.0} ms", own.median());
        let against = format!("with the start of the program {:.0} ms", starts.median());
        row("first page of `agent dashboard`", &shown, &against, &own, Some(milliseconds(100.0)));
        let own = Spread::new(weights);
        let goal = Goal { bar: 40.0, aim: None, unit: "MiB", better: Better::Lower };
        let shown = format!("{:.1} MiB", own.median());
        row("memory of `agent dashboard`", &shown, "", &own, Some(goal));
    }

    /// Asks the service over a separate connection.
    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_nodelay(true).expect("a connection");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.key,
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }
}

/// A server of standard streams, spoken to without a client.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn spawn() -> Self {
        let mut child = Command::new("python3")
            .arg(SERVER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, input, output }
    }

    fn greet(&mut self) {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"}});
        self.ask(&json!({"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": params}));
        self.ask(&json!({"jsonrpc": "2.0", "id": "b", "method": "tools/list", "params": {}}));
    }

    fn call(&mut self, number: usize) {
        let params = json!({"name": "echo", "arguments": {"text": "x"}});
        self.ask(
            &json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}),
        );
    }

    fn ask(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("a request");
        self.input.flush().expect("a request");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("an answer");
        assert!(line.contains("\"result\""), "{line}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn times(count: usize, mut work: impl FnMut()) -> Vec<f64> {
    (0..count)
        .map(|_| {
            let begun = Instant::now();
            work();
            ms(begun.elapsed())
        })
        .collect()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Asks the dashboard.
fn get(host: &str, path: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(host).expect("a connection");
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{headers}connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// What a process has resident, in MiB: all of it, or a part.
fn memory(process: u32, part: &str) -> f64 {
    let path = PathBuf::from(format!("/proc/{process}/status"));
    let text = fs::read_to_string(Path::new(&path)).expect("a running process");
    let line = text.lines().find_map(|line| line.strip_prefix(part)).expect("a line");
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib / 1024.0
}
