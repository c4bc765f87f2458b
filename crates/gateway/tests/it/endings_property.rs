//! Random endings, against the ledger and the delivered bytes.
//!
//! Whatever ends a request, and whenever: no ending that the client brings about yields content at a
//! charge of zero, no upstream failure is charged, and what was charged is delivered again by its
//! `Idempotency-Key`, also after the process that charged it is gone.
//!
//! `ENDINGS=500 cargo nextest run -p gateway -E 'test(/endings_property/)'` plays more of them.

use std::sync::Arc;

use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use http::Method;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::{paid, receipt, with_one};
use crate::raw::Raw;
use crate::support::{Holder, PRICE, Running};

/// The number of endings, unless `ENDINGS` has another; each starts a new service.
const DEFAULT_CASES: u32 = 12;
/// A word of an endless answer, which repeats it until an answer is too large to be stored.
const LONG_WORD_BYTES: usize = 8000;
const CREDIT: i64 = 1000 * PRICE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Chat,
    Messages,
    Responses,
    Background,
    Speech,
}

/// How an answer is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    Whole,
    Stream,
}

/// What the upstream does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plays {
    /// It answers, at this pace.
    Well(&'static str),
    /// It fails, before or after its first byte.
    Fails(&'static str),
}

/// What the client does, once it has read so many bytes of the body or reached its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    ReadsAll,
    /// It leaves before the answer begins for it, though perhaps not for the service.
    LeavesEarly,
    Leaves(usize),
    /// It reads no more, until the service closes the connection.
    Stalls(usize),
    Cancels(usize),
    Deletes(usize),
}

/// What happens to the service and its store when the client has read what it wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// The books are locked while the client acts, and free again after it.
    BooksAway,
    /// The process ends without waiting for anything, and another one starts.
    Restart,
}

#[derive(Debug, Clone)]
struct Case {
    form: Form,
    delivery: Delivery,
    /// The kind of the provider.
    kind: &'static str,
    plays: Plays,
    client: Client,
    fault: Fault,
    has_key: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    use Form::{Background, Chat, Messages, Responses, Speech};
    let form = prop::sample::select(vec![Chat, Messages, Responses, Background, Speech]);
    let delivery = prop::sample::select(vec![Delivery::Whole, Delivery::Stream]);
    let kind = prop::sample::select(vec!["openai", "anthropic"]);
    let well = prop::sample::select(vec!["echo", "chunks-60", "drip-400-2", "shatter", "endless"]);
    let fails = prop::sample::select(vec![
        "status-500", "cut-before-first", "cut-after-head", "cut-after-2", "cut-mid-event",
        "reset-mid", "error-event", "no-done", "hang-mid",
    ]);
    let plays = prop_oneof![3 => well.prop_map(Plays::Well), 2 => fails.prop_map(Plays::Fails)];
    let bytes = 0..4000_usize;
    let client = prop_oneof![
        2 => Just(Client::ReadsAll),
        2 => Just(Client::LeavesEarly),
        2 => bytes.clone().prop_map(Client::Stalls),
        3 => bytes.clone().prop_map(Client::Leaves),
        2 => bytes.clone().prop_map(Client::Cancels),
        1 => bytes.prop_map(Client::Deletes),
    ];
    let fault =
        prop_oneof![4 => Just(Fault::None), 1 => Just(Fault::BooksAway), 1 => Just(Fault::Restart)];
    (form, delivery, kind, plays, client, fault, any::<bool>())
        .prop_map(|(form, delivery, kind, plays, client, fault, has_key)| Case {
            form,
            delivery,
            kind,
            plays,
            client,
            fault,
            has_key,
        })
        .prop_filter("it cannot happen", Case::is_possible)
}

/// What a client saw.
#[derive(Debug, Default)]
struct Saw {
    text: String,
    is_over: bool,
    /// Whether any byte of an answer is content.
    is_plain: bool,
}

impl Saw {
    fn has_content(&self) -> bool {
        let mut said = self.text.split("\"content\":\"").skip(1);
        let deltas = ["response.output_text.delta", "\"text_delta\""];
        (self.is_plain && !self.text.is_empty())
            || deltas.iter().any(|delta| self.text.contains(delta))
            || said.any(|rest| !rest.starts_with('"'))
    }

    fn is_complete(&self) -> bool {
        let ends = ["data: [DONE]", "event: response.completed", "event: message_stop"];
        ends.iter().any(|end| self.text.contains(end))
    }

    fn read(&mut self, raw: &mut Raw, bytes: usize) {
        while self.text.len() < bytes && !self.is_over {
            match raw.try_piece() {
                Some(piece) => self.text += &String::from_utf8_lossy(&piece),
                None => self.is_over = true,
            }
        }
    }
}

/// What outlives a service.
struct Setup {
    text: String,
    folder: Arc<TempDir>,
}

impl Case {
    fn is_endless(&self) -> bool {
        self.plays == Plays::Well("endless")
    }

    fn is_possible(&self) -> bool {
        let is_streamed = self.delivery == Delivery::Stream;
        let form = match self.form {
            Form::Chat | Form::Messages | Form::Responses => true,
            Form::Background => is_streamed,
            Form::Speech => is_streamed && self.kind == "openai",
        };
        let client = match self.client {
            Client::ReadsAll => !self.is_endless(),
            Client::LeavesEarly | Client::Leaves(_) => true,
            // The buffers between both take any other answer.
            Client::Stalls(_) => self.is_endless(),
            Client::Cancels(_) | Client::Deletes(_) => self.form == Form::Background,
        };
        let plays = match self.plays {
            // Nobody ends it but a client that is being sent something. Its long word is more than
            // speech takes.
            Plays::Well("endless") => {
                is_streamed && !matches!(self.form, Form::Background | Form::Speech)
            }
            // Only events have an end marker.
            Plays::Fails("no-done") => is_streamed && self.form != Form::Speech,
            // Bytes may be of any kind.
            Plays::Fails("error-event") => self.form != Form::Speech,
            Plays::Well(_) | Plays::Fails(_) => true,
        };
        form && client && plays
    }

    fn body(&self) -> (&'static str, Value) {
        let (Plays::Well(step) | Plays::Fails(step)) = self.plays;
        let word = if self.is_endless() { "x".repeat(LONG_WORD_BYTES) } else { "one".to_owned() };
        let text = format!("[[{step}]]{word} two three");
        let stream = self.delivery == Delivery::Stream;
        let messages = json!([{"role": "user", "content": text}]);
        let (path, mut body) = match self.form {
            Form::Chat => ("/v1/chat/completions", json!({"messages": messages})),
            Form::Messages => ("/v1/messages", json!({"messages": messages, "max_tokens": 100})),
            Form::Responses => ("/v1/responses", json!({"input": text})),
            Form::Background => ("/v1/responses", json!({"input": text, "background": true})),
            Form::Speech => {
                let body = json!({"model": "up/speak", "input": text, "voice": "a"});
                return ("/v1/audio/speech", body);
            }
        };
        (body["model"], body["stream"]) = ("up/echo".into(), stream.into());
        (path, body)
    }

    fn configuration(&self, upstream: &Upstream) -> String {
        let speech = match self.kind {
            "openai" => ", speak: {capabilities: [speech], price_micros: 1000}",
            _ => "",
        };
        let provider = format!(
            "kind: {}, models: {{echo: {{}}{speech}}}, health: false, timeout: {{idle: 0.3}}",
            self.kind
        );
        // Otherwise a slow machine could pass for a slow client.
        let stalls = matches!(self.client, Client::Stalls(_));
        let limit = if stalls { ", write_timeout: 0.5" } else { "" };
        with_one(upstream, &provider, &format!("limits: {{drain_seconds: 0{limit}}}\n"))
    }

    fn ask(&self, service: &Running, ada: &Holder) -> Raw {
        let (path, body) = self.body();
        let bearer = format!("Bearer {}", ada.key.as_str());
        let mut headers = vec![("authorization", bearer.as_str())];
        if self.has_key {
            headers.push(("idempotency-key", "word"));
        }
        Raw::post_with(service.address, path, &headers, &body)
    }

    /// Plays the case, and checks what it came to.
    fn play(&self) {
        let upstream = Upstream::start();
        let text = self.configuration(&upstream);
        let setup = Setup { text, folder: Arc::new(tempfile::tempdir().unwrap()) };
        let mut service = Running::start_in(setup.folder.clone(), &setup.text);
        let ada = service.holder("ada", CREDIT);

        let mut raw = self.ask(&service, &ada);
        let is_plain = self.delivery == Delivery::Whole || self.form == Form::Speech;
        let mut saw = Saw { is_plain, ..Saw::default() };
        let mut id = String::new();
        if self.client == Client::LeavesEarly {
            eventually("the upstream is asked", || !upstream.completions().is_empty());
        } else if let Some(head) = raw.try_head() {
            head.header("x-receipt-id").clone_into(&mut id);
            saw.is_over = head.status != 200;
        } else {
            assert_eq!(self.form, Form::Speech, "{self:?}: only bytes break off without a head");
            saw.is_over = true;
        }
        let (Client::Leaves(bytes)
        | Client::Stalls(bytes)
        | Client::Cancels(bytes)
        | Client::Deletes(bytes)) = self.client
        else {
            return self.end(service, &setup, &ada, (raw, saw, id));
        };
        saw.read(&mut raw, bytes);
        if matches!(self.client, Client::Stalls(_)) {
            eventually("the client is left", || !upstream.cancelled().is_empty());
        }
        let books = (self.fault == Fault::BooksAway).then(|| lock(&setup.folder));
        if self.fault == Fault::Restart {
            service = restart(service, &setup);
        }
        std::thread::scope(|scope| {
            scope.spawn(move || drop((raw, books)));
            self.act(&service, &ada, &saw);
        });
        self.check(&service, &ada, (&saw, &id));
    }

    /// Reads all of the answer, or nothing.
    fn end(&self, service: Running, setup: &Setup, ada: &Holder, what: (Raw, Saw, String)) {
        let (mut raw, mut saw, id) = what;
        let mut service = service;
        let books = (self.fault == Fault::BooksAway).then(|| lock(&setup.folder));
        if self.fault == Fault::Restart {
            service = restart(service, setup);
        }
        if self.client == Client::LeavesEarly {
            drop(raw);
            drop(books);
        } else {
            drop(books);
            saw.read(&mut raw, usize::MAX);
        }
        self.check(&service, ada, (&saw, &id));
    }

    /// Cancels or deletes the response that was followed, if its id was seen.
    fn act(&self, service: &Running, ada: &Holder, saw: &Saw) {
        let method = match self.client {
            Client::Cancels(_) => Method::POST,
            Client::Deletes(_) => Method::DELETE,
            _ => return,
        };
        let Some((_, after)) = saw.text.split_once("\"id\":\"resp_") else { return };
        let id = after.split('"').next().unwrap();
        let end = if method == Method::POST { "/cancel" } else { "" };
        let path = format!("/v1/responses/resp_{id}{end}");
        // While the books are away it may fail; then the response continues to its end.
        service.send(method, &path, Some(ada.key.as_str()), None);
    }

    fn check(&self, service: &Running, ada: &Holder, (saw, id): (&Saw, &str)) {
        eventually("nothing is held", || service.account(ada.member).held.get() == 0);
        service.check_ledger();
        let spent = CREDIT - service.account(ada.member).balance.get();
        // Who left early knows no receipt.
        let found = (!id.is_empty()).then(|| receipt(service, ada, id));
        let (rule, charge) = found.unwrap_or_else(|| ("client_left_late".to_owned(), spent));
        assert_eq!(spent, charge, "{self:?} {rule}");
        assert!(charge == 0 || charge == PRICE, "{self:?} {rule} {charge}");
        let is_whole = self.delivery == Delivery::Whole && saw.has_content();
        if self.form != Form::Speech && (is_whole || saw.is_complete()) {
            assert_eq!((rule.as_str(), charge), ("answered", PRICE), "{self:?}");
        }
        let is_clients = matches!(self.plays, Plays::Well(_)) && self.fault != Fault::Restart;
        if is_clients && saw.has_content() {
            assert_eq!(charge, PRICE, "{self:?} {rule}: content was free\n{}", saw.text);
        }
        // An upstream that fails is paid only if its client left before that.
        if matches!(self.plays, Plays::Fails(_)) && charge > 0 {
            let is_left = matches!(rule.as_str(), "client_left_late" | "cancelled_late");
            assert!(is_left && self.client != Client::ReadsAll, "{self:?} {rule}");
        }
        let is_deleted = matches!(self.client, Client::Deletes(_));
        if self.has_key && charge > 0 && !is_deleted {
            let mut again = self.ask(service, ada);
            let head = again.head();
            if self.is_endless() {
                assert_eq!(head.status, 409, "{self:?} {rule}: too large to be stored");
            } else {
                assert_eq!(head.header("idempotent-replayed"), "true", "{self:?} {rule}");
            }
            if !id.is_empty() && !self.is_endless() {
                assert_eq!(head.header("x-receipt-id"), id, "{self:?}");
            }
            assert_eq!(paid(service, ada), PRICE, "{self:?}");
        }
    }
}

/// Keeps everyone else from writing to the books.
fn lock(folder: &TempDir) -> rusqlite::Connection {
    let books = rusqlite::Connection::open(folder.path().join("gateway.sqlite3")).unwrap();
    books.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
    books.execute_batch("BEGIN IMMEDIATE").unwrap();
    books
}

fn restart(service: Running, setup: &Setup) -> Running {
    service.stop();
    Running::start_in(setup.folder.clone(), &setup.text)
}

#[test]
fn content_is_always_charged_and_failures_never() {
    // A failing case may wait for a minute: shrinking it would exceed the limit of a test.
    let count = std::env::var("ENDINGS").map(|number| number.parse().unwrap());
    let config = Config {
        cases: count.unwrap_or(DEFAULT_CASES),
        max_shrink_iters: 0,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&cases(), |case| {
            case.play();
            Ok(())
        })
        .unwrap();
}
