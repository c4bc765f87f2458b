//! Every behaviour of the hostile server: nothing hangs, nothing good is lost, siblings live, and
//! what went wrong is said.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_test_support::mcp::hostile::{Behaviour, TransportScope};
use agent_test_support::mcp::{HttpPeer, hostile_http, hostile_stdio};
use mcp_client::Client;
use mcp_client::config::ServerEntry;
use mcp_client::content::render;
use mcp_client::redact::Redactor;
use mcp_client::session::{CallOptions, MAX_CALL_FACTOR};
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::{host, http, sse, stdio};

const TIMEOUT: Duration = Duration::from_millis(1500);
/// The same for servers that show activity all the time.
const TIMEOUT_OF_ACTIVE: Duration = Duration::from_secs(3);
/// The limit where none is expected to be reached.
const LONG: Duration = Duration::from_secs(40);
const CONNECT: Duration = Duration::from_secs(4);
/// What a busy machine may add.
const SLACK: Duration = Duration::from_secs(30);
const AT_ONCE: usize = 6;
const SECRET: &str = "open-sesame-4711";

/// These wait for ever and end by a limit; a busy machine may be slow in everything else.
const SILENT: [Behaviour; 14] = [
    Behaviour::CallSilent,
    Behaviour::ContentLengthFrames,
    Behaviour::Deaf,
    Behaviour::EndlessLine,
    Behaviour::InitializeSilent,
    Behaviour::MissingId,
    Behaviour::OnlyUnknownId,
    Behaviour::PingDisturbs,
    Behaviour::ResultNullId,
    Behaviour::Reversed,
    Behaviour::SlowDrip,
    Behaviour::SlowHeaders,
    Behaviour::SseForever,
    Behaviour::SseNoEndpoint,
];
/// These end by the time limit of the whole call.
const ACTIVE: [Behaviour; 4] = [
    Behaviour::ProgressForever,
    Behaviour::TaskForever,
    Behaviour::TaskForeverStateless,
    Behaviour::TaskOutlives,
];

/// What became of one behaviour, without anything that differs from run to run.
struct Observation {
    name: String,
    text: String,
    trouble: Vec<String>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_hostile_stdio_behaviour_hangs_or_is_hidden() {
    // Another test checks which environment variables a server gets.
    let all = Behaviour::ALL
        .iter()
        .filter(|one| one.transport() != TransportScope::Http && **one != Behaviour::Report);
    let stories = tell(all.map(|one| {
        let mut launch = hostile_stdio(*one);
        launch.env.push(("HOSTILE_SECRET".to_owned(), SECRET.to_owned()));
        (*one, stdio("h", &launch), None)
    }))
    .await;
    insta::assert_snapshot!("stdio", stories);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_hostile_http_behaviour_hangs_or_is_hidden() {
    let all = Behaviour::ALL.iter().filter(|one| one.transport() != TransportScope::Stdio);
    let stories = tell(all.map(|one| {
        if matches!(one, Behaviour::DieAtOnce | Behaviour::DieWithSecret) {
            return (*one, http("h", &nobody()), None);
        }
        let peer = hostile_http(*one);
        let entry = if one.is_old_sse() && *one != Behaviour::SseOnly {
            sse("h", &peer.url)
        } else {
            http("h", &peer.url)
        };
        (*one, entry, Some(peer))
    }))
    .await;
    insta::assert_snapshot!("http", stories);
}

/// An address where nobody listens.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/mcp", listener.local_addr().unwrap())
}

async fn tell(cases: impl Iterator<Item = (Behaviour, ServerEntry, Option<HttpPeer>)>) -> String {
    let mut cases = cases;
    let mut running = JoinSet::new();
    let mut stories = Vec::new();
    loop {
        while running.len() < AT_ONCE {
            let Some((behaviour, entry, peer)) = cases.next() else { break };
            running.spawn(async move {
                let story = run(behaviour, entry).await;
                drop(peer);
                story
            });
        }
        match running.join_next().await {
            Some(story) => stories.push(story.unwrap()),
            None => break,
        }
    }
    let trouble: Vec<String> = stories.iter().flat_map(|story| story.trouble.clone()).collect();
    assert!(trouble.is_empty(), "{}", trouble.join("\n"));
    stories.sort_by(|one, other| one.name.cmp(&other.name));
    stories.into_iter().map(|story| story.text).collect::<Vec<_>>().join("\n")
}

async fn run(behaviour: Behaviour, mut entry: ServerEntry) -> Observation {
    let is_silent = SILENT.contains(&behaviour);
    let is_active = ACTIVE.contains(&behaviour);
    entry.timeout = match (is_silent, is_active) {
        (true, _) => TIMEOUT,
        (_, true) => TIMEOUT_OF_ACTIVE,
        _ => LONG,
    };
    entry.connect_timeout = if is_silent { CONNECT } else { LONG };
    let (mut host, _) = host();
    let secret = ("HOSTILE_SECRET".to_owned(), SECRET.to_owned());
    host.redactor = Arc::new(Redactor::new([secret]));
    let mut story =
        Observation { name: behaviour.name().to_owned(), text: String::new(), trouble: Vec::new() };
    story.say(&format!("{}: {}", behaviour.name(), behaviour.about()));
    let client = Client::start([entry], host);
    let began = Instant::now();
    let status = client.wait_until_server_settled("h", LONG).await.unwrap();
    story.say(&format!("  state: {}", words(&status.state.to_string())));
    for bad in &status.quarantined {
        story.say(&format!("  quarantined: {} ({})", words(&bad.name), words(&bad.reason)));
    }
    for note in &status.notes {
        story.say(&format!("  note: {}", words(note)));
    }
    story.within("connect", began, 3 * CONNECT + Duration::from_secs(8));
    if behaviour == Behaviour::ToolsLater {
        appears(&client).await;
    }
    for tool in ["good", "other"] {
        let name = format!("mcp__h__{tool}");
        if client.registry().lookup(&name).is_none() {
            continue;
        }
        let began = Instant::now();
        // After all other behaviours the second tool answers, however slow the machine is.
        let answers = tool == "other" && behaviour != Behaviour::EndlessLine;
        let options = CallOptions { timeout: answers.then_some(LONG), ..CallOptions::default() };
        let outcome = client.call(&name, json!({ "text": "hi" }), options).await;
        // What stays lively may take its absolute cap.
        story.within(tool, began, MAX_CALL_FACTOR * TIMEOUT_OF_ACTIVE);
        let took = began.elapsed();
        let said = match outcome {
            Ok(outcome) => {
                let mark = if outcome.is_error { "tool error" } else { "ok" };
                format!("{mark} {:?}", words(&render(&outcome).text))
            }
            Err(error) => format!("error {}", words(&error.to_string())),
        };
        if depends_on_timing(behaviour, tool) {
            let honest = said == format!("ok \"{tool}: hi\"")
                || said.contains("may or may not have run")
                || said.contains("cannot reach");
            assert!(honest, "{}: {said}", behaviour.name());
            continue;
        }
        // Activity extended the idle timeout before a slow machine let it expire.
        let said = if is_active && took > TIMEOUT_OF_ACTIVE {
            let idle = "no response or progress from `tools/call` for 3 s";
            said.replace(idle, "`tools/call` exceeded the time limit of 36 s")
        } else {
            said
        };
        story.say(&format!("  {tool}: {said}"));
    }
    let began = Instant::now();
    client.close().await;
    story.within("close", began, Duration::from_secs(4));
    story
}

/// Whether the process or the connection is on its way out: if the call still gets through is a
/// matter of luck, and both outcomes are the truth.
fn depends_on_timing(behaviour: Behaviour, tool: &str) -> bool {
    match behaviour {
        Behaviour::CloseAfter => true,
        Behaviour::DieMidCall
        | Behaviour::DieAfterCall
        | Behaviour::HalfLineThenExit
        | Behaviour::NoFinalNewline => tool == "other",
        _ => false,
    }
}

async fn appears(client: &Client) {
    let mut changes = client.registry_changes();
    let later = async {
        while client.registry().lookup("mcp__h__other").is_none() {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(LONG, later).await.unwrap();
}

impl Observation {
    fn say(&mut self, line: &str) {
        if line.contains(SECRET) {
            self.trouble.push(format!("{}: a secret in {line}", self.name));
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn within(&mut self, what: &str, began: Instant, limit: Duration) {
        let took = began.elapsed();
        if took > limit + SLACK {
            self.trouble.push(format!("{}: {what} took {took:?}", self.name));
        }
    }
}

/// One line, bounded, without ports and seconds.
fn words(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("127.0.0.1:") {
        plain.push_str(&rest[..at]);
        plain.push_str("HOST");
        rest = rest[at + 10..].trim_start_matches(|c: char| c.is_ascii_digit());
    }
    plain.push_str(rest);
    let plain = match plain.find(" (next attempt in") {
        Some(at) => plain[..at].to_owned(),
        None => plain,
    };
    if plain.chars().count() > 300 {
        return format!(
            "{}… ({} characters)",
            plain.chars().take(200).collect::<String>(),
            plain.chars().count()
        );
    }
    plain
}
