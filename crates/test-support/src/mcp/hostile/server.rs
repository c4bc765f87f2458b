//! The reaction of the server to each message, over any transport.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::bad_messages::{self, bytes};
use super::behaviour::Behaviour;
use super::correct_server::{self, Era};
use super::tasks;

use crate::wait::lock;

const LATE: Duration = Duration::from_secs(2);
const TOOLS_COME: Duration = Duration::from_millis(500);
const DISTURBABLE: Duration = Duration::from_secs(2);
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
const PROGRESS_STEPS: u32 = 10;
const NOTIFICATION_FLOOD: usize = 100_000;
const LIST_CHANGED_FLOOD: usize = 5_000;
const ASK_FLOOD: usize = 5_000;
/// Timeout for the client's answer to a request of the server.
const MAX_ASK_WAIT: Duration = Duration::from_mins(2);

pub(super) trait MessageSink {
    /// Sends the bytes of one message, valid JSON or not.
    fn message(&mut self, message: &[u8]);

    /// Flushes what was sent, before a pause.
    fn settle(&mut self) {}

    /// Whether the client is known to have disconnected.
    fn is_gone(&self) -> bool;
}

/// Sends messages with a function, until it fails.
pub(super) struct Sink<F> {
    send: F,
    is_gone: bool,
}

impl<F> Sink<F> {
    pub(super) fn new(send: F) -> Self {
        Self { send, is_gone: false }
    }
}

impl<F: FnMut(&[u8]) -> io::Result<()>> MessageSink for Sink<F> {
    fn message(&mut self, message: &[u8]) {
        self.is_gone = self.is_gone || (self.send)(message).is_err();
    }

    fn is_gone(&self) -> bool {
        self.is_gone
    }
}

/// Whether a message is a call of `good`, which the faults affect.
pub(super) fn is_affected(message: &Value) -> bool {
    message["method"] == "tools/call" && message["params"]["name"] == "good"
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageResult {
    Answered,
    /// A request that is never answered.
    Silent,
    /// The process exits with this code.
    Exit(u8),
}

#[derive(Debug)]
pub(super) struct Server {
    pub(super) behaviour: Behaviour,
    memory: Mutex<ServerMemory>,
    replied: Condvar,
}

#[derive(Debug, Default)]
struct ServerMemory {
    /// The number of calls of each method, by the name in its parameters.
    turns: HashMap<String, usize>,
    /// Answers of the client, by the id of our request.
    replies: HashMap<String, Value>,
    /// Calls of `good` that wait for a call of `other`.
    held: Vec<Value>,
    asked: usize,
}

impl Server {
    pub(super) fn new(behaviour: Behaviour) -> Self {
        Server { behaviour, memory: Mutex::default(), replied: Condvar::new() }
    }

    pub(super) fn era(&self) -> Era {
        self.behaviour.era()
    }

    pub(super) fn receive(&self, message: &Value, out: &mut dyn MessageSink) -> MessageResult {
        let Some(method) = message["method"].as_str() else {
            self.keep_reply(message);
            return MessageResult::Answered;
        };
        if message["id"].is_null() {
            if method == "notifications/initialized" {
                self.flood(out);
            }
            return MessageResult::Answered;
        }
        let turn = self.take_turn(method, &message["params"]["name"]);
        match method {
            "initialize" | "server/discover" => self.open(message, out),
            "tools/list" => {
                let odd = bad_messages::of_list(self.behaviour, self.era(), message, turn);
                say(out, &odd.unwrap_or_else(|| correct_server::answer(self.era(), message)))
            }
            "tools/call" => self.call(message, turn, out),
            "tasks/get" | "tasks/result" | "tasks/update" | "tasks/cancel" => {
                let has_other = self.turns("initialize") > 1;
                say(out, &tasks::answer(self.behaviour, self.era(), message, turn, has_other))
            }
            "ping" if self.behaviour == Behaviour::PingSilent => MessageResult::Silent,
            "ping" if self.behaviour == Behaviour::PingUnknown => {
                refuse(out, message, -32601, "there is no method ping")
            }
            _ => {
                let mut right = correct_server::answer(self.era(), message);
                bad_messages::of_library(self.behaviour, method, &mut right);
                say(out, &right)
            }
        }
    }

    /// Sends the unsolicited messages of the behaviour once a client is connected.
    pub(super) fn flood(&self, out: &mut dyn MessageSink) {
        let list_changed =
            || correct_server::notification("notifications/tools/list_changed", &json!({}));
        let (count, message) = match self.behaviour {
            Behaviour::NotificationFlood => {
                let note = json!({"level": "info", "data": "a line of the flood ".repeat(5)});
                (NOTIFICATION_FLOOD, correct_server::notification("notifications/message", &note))
            }
            Behaviour::ToolsLater => {
                out.settle();
                thread::sleep(TOOLS_COME);
                (1, list_changed())
            }
            Behaviour::ListChangedFlood => (LIST_CHANGED_FLOOD, list_changed()),
            _ => return,
        };
        for _ in 0..count {
            out.message(&bytes(&message));
        }
        out.settle();
    }

    /// The handshake, or the request that replaces it.
    fn open(&self, request: &Value, out: &mut dyn MessageSink) -> MessageResult {
        let initialize = request["method"] == "initialize";
        let mut right = correct_server::answer(self.era(), request);
        match self.behaviour {
            Behaviour::InitializeSilent if initialize => return MessageResult::Silent,
            Behaviour::DiscoverSilent if !initialize => return MessageResult::Silent,
            Behaviour::InitializeLate => {
                out.settle();
                thread::sleep(LATE);
            }
            Behaviour::InitializeError => {
                right = correct_server::error(request, -32603, "the server is not in the mood");
            }
            Behaviour::FutureVersion if initialize => {
                right["result"]["protocolVersion"] = json!("2099-01-01");
            }
            Behaviour::NoServerVersion if initialize => {
                right["result"]["serverInfo"] = json!({"name": "hostile"});
            }
            Behaviour::NoServerInfo if initialize => {
                right["result"] = json!({"protocolVersion": correct_server::LEGACY_VERSION});
            }
            Behaviour::Modern32602 if initialize => {
                right = correct_server::error(request, -32602, "_meta has no protocolVersion");
            }
            Behaviour::Modern32022 if initialize => {
                right = correct_server::unsupported(request, &[correct_server::STATELESS_VERSION]);
            }
            Behaviour::UnsupportedThenLegacy if !initialize => {
                right = correct_server::unsupported(request, &[correct_server::LEGACY_VERSION]);
            }
            Behaviour::UnsupportedAlways => {
                right = correct_server::unsupported(request, &["2099-01-01"]);
            }
            _ => tasks::declare(self.behaviour, &mut right),
        }
        say(out, &right)
    }

    fn call(&self, request: &Value, turn: usize, out: &mut dyn MessageSink) -> MessageResult {
        let era = self.era();
        let right = correct_server::call(era, request);
        if self.behaviour == Behaviour::Reversed {
            return self.reverse(request, &right, out);
        }
        // A stateless request without its metadata is rejected before anything else.
        let refused = correct_server::answer(era, request).get("error").is_some();
        if request["params"]["name"] != "good" || refused {
            return say(out, &correct_server::answer(era, request));
        }
        if let Some(messages) = bad_messages::of_call(self.behaviour, era, request) {
            for message in messages {
                out.message(&message);
            }
            return MessageResult::Answered;
        }
        match self.behaviour {
            Behaviour::CallSilent => MessageResult::Silent,
            Behaviour::PingDisturbs => {
                out.settle();
                let before = self.turns("ping");
                thread::sleep(DISTURBABLE);
                if self.turns("ping") == before {
                    return say(out, &right);
                }
                refuse(out, request, -32000, "the call was disturbed by a ping")
            }
            Behaviour::Report => say(out, &correct_server::call_with_text(era, request, report())),
            Behaviour::DieAfterCall => {
                say(out, &right);
                MessageResult::Exit(0)
            }
            Behaviour::DieMidCall => {
                print_error("fatal: the disk is on fire");
                MessageResult::Exit(3)
            }
            Behaviour::ProgressForever
            | Behaviour::ProgressThenResult
            | Behaviour::ProgressWrongToken => self.progress(request, &right, out),
            Behaviour::HeaderMismatchOnce if turn == 0 => {
                refuse(out, request, -32020, "header mismatch")
            }
            Behaviour::HeaderMismatchAlways => refuse(out, request, -32020, "header mismatch"),
            Behaviour::MissingCapability => {
                let mut refusal =
                    correct_server::error(request, -32021, "missing client capability");
                refusal["error"]["data"] = json!({"requiredCapabilities": {"sampling": {}}});
                say(out, &refusal)
            }
            Behaviour::InputRequired
            | Behaviour::InputRequiredForever
            | Behaviour::InputRequiredEmpty
            | Behaviour::InputRequiredNothing => say(out, &self.input_required(request, turn)),
            _ => match tasks::started(self.behaviour, era, request) {
                Some(messages) => {
                    for message in &messages {
                        out.message(&bytes(message));
                    }
                    MessageResult::Answered
                }
                None => self.ask_and_answer(request, &right, out),
            },
        }
    }

    /// Holds calls of `good` back until `other` was answered.
    fn reverse(&self, request: &Value, right: &Value, out: &mut dyn MessageSink) -> MessageResult {
        if request["params"]["name"] == "good" {
            lock(&self.memory).held.push(right.clone());
            return MessageResult::Answered;
        }
        say(out, right);
        let held = std::mem::take(&mut lock(&self.memory).held);
        for message in held {
            say(out, &message);
        }
        MessageResult::Answered
    }

    fn progress(&self, request: &Value, right: &Value, out: &mut dyn MessageSink) -> MessageResult {
        let mut token = request["params"]["_meta"]["progressToken"].clone();
        if self.behaviour == Behaviour::ProgressWrongToken {
            token = json!("a token of nobody");
        }
        let forever = self.behaviour == Behaviour::ProgressForever;
        let mut step = 0;
        while (forever || step < PROGRESS_STEPS) && !out.is_gone() {
            let progress = json!({"progressToken": token, "progress": step});
            let message = correct_server::notification("notifications/progress", &progress);
            out.message(&bytes(&message));
            out.settle();
            thread::sleep(PROGRESS_EVERY);
            step += 1;
        }
        say(out, right)
    }

    fn input_required(&self, request: &Value, turn: usize) -> Value {
        let params = &request["params"];
        let state = json!("opaque \"state\" / é");
        let ask = correct_server::question();
        let required = |requests: Value, state: Value| {
            let mut value = json!({"resultType": "input_required"});
            if !requests.is_null() {
                value["inputRequests"] = requests;
            }
            if !state.is_null() {
                value["requestState"] = state;
            }
            correct_server::result(request, &value)
        };
        let answers = &params["inputResponses"];
        match self.behaviour {
            Behaviour::InputRequiredForever => {
                required(json!({"who": ask}), json!(turn.to_string()))
            }
            Behaviour::InputRequiredNothing => required(Value::Null, Value::Null),
            Behaviour::InputRequiredEmpty if params["requestState"].is_null() => {
                required(Value::Null, state)
            }
            Behaviour::InputRequired if answers.is_null() => required(json!({"who": ask}), state),
            _ if params["requestState"] != state => {
                correct_server::error(request, -32602, "the state came back changed")
            }
            _ => correct_server::call_with_text(
                Era::Stateless,
                request,
                format!("answered: {answers}"),
            ),
        }
    }

    fn ask_and_answer(
        &self,
        request: &Value,
        right: &Value,
        out: &mut dyn MessageSink,
    ) -> MessageResult {
        let form = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "default": "nobody"},
                "count": {"type": "integer", "minimum": 1}
            },
            "required": ["name"]
        });
        let (method, params) = match self.behaviour {
            Behaviour::AskRoots => ("roots/list", json!({})),
            Behaviour::AskSampling => {
                let content = json!({"type": "text", "text": "What is the capital of France?"});
                let messages = json!([{"role": "user", "content": content}]);
                ("sampling/createMessage", json!({"messages": messages, "maxTokens": 50}))
            }
            Behaviour::AskElicitation => {
                let message = "Who are you?";
                ("elicitation/create", json!({"message": message, "requestedSchema": form}))
            }
            Behaviour::AskElicitationUrl => {
                let address = "https://sign-in.example/start";
                let params = json!({"mode": "url", "message": "Sign in", "url": address,
                    "elicitationId": "e-1"});
                ("elicitation/create", params)
            }
            Behaviour::AskUnknown => ("hostile/unknown", json!({})),
            Behaviour::AskFlood => {
                ask_flood(out);
                return say(out, right);
            }
            Behaviour::AskOddIds => {
                for id in [Value::Null, json!(1.5), json!({"id": 1}), request["id"].clone()] {
                    let ask = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
                    out.message(&bytes(&ask));
                }
                return say(out, right);
            }
            _ => return say(out, right),
        };
        let reply = self.ask(method, &params, out);
        let text = format!("{method} was answered: {reply}");
        say(out, &correct_server::call_with_text(self.era(), request, text))
    }

    fn ask(&self, method: &str, params: &Value, out: &mut dyn MessageSink) -> Value {
        let id = {
            let mut memory = lock(&self.memory);
            memory.asked += 1;
            format!("ask-{}", memory.asked)
        };
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        out.message(&bytes(&request));
        out.settle();
        let waiting = self.replied.wait_timeout_while(lock(&self.memory), MAX_ASK_WAIT, |memory| {
            !memory.replies.contains_key(&id)
        });
        let (mut memory, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        memory.replies.remove(&id).unwrap_or(Value::Null)
    }

    fn keep_reply(&self, message: &Value) {
        if let Some(id) = message["id"].as_str() {
            lock(&self.memory).replies.insert(id.to_owned(), message.clone());
            self.replied.notify_all();
        }
    }

    fn take_turn(&self, method: &str, name: &Value) -> usize {
        let mut memory = lock(&self.memory);
        let turn = memory.turns.entry(format!("{method} {name}")).or_default();
        *turn += 1;
        *turn - 1
    }

    fn turns(&self, method: &str) -> usize {
        let turn = format!("{method} {}", Value::Null);
        lock(&self.memory).turns.get(&turn).copied().unwrap_or_default()
    }
}

fn say(out: &mut dyn MessageSink, message: &Value) -> MessageResult {
    out.message(&bytes(message));
    MessageResult::Answered
}

fn refuse(out: &mut dyn MessageSink, request: &Value, code: i64, message: &str) -> MessageResult {
    say(out, &correct_server::error(request, code, message))
}

fn report() -> String {
    let variables: HashMap<String, String> = std::env::vars_os()
        .map(|(name, value)| {
            (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
        })
        .collect();
    let arguments: Vec<String> = std::env::args().collect();
    let folder = std::env::current_dir().unwrap_or_default();
    json!({"environment": variables, "arguments": arguments, "folder": folder}).to_string()
}

fn ask_flood(out: &mut dyn MessageSink) {
    for turn in 0..ASK_FLOOD {
        let method = ["roots/list", "ping", "hostile/unknown"][turn % 3];
        let id = format!("flood-{turn}");
        out.message(&bytes(&json!({"jsonrpc": "2.0", "id": id, "method": method})));
    }
}

/// A secret that a client must not repeat.
pub(super) fn secret() -> String {
    std::env::var("HOSTILE_SECRET").unwrap_or_default()
}

pub(super) fn print_error(line: &str) {
    // Nothing is left to report this to.
    let _ = writeln!(std::io::stderr(), "{line}");
}
