//! Random endings, against the ledger and the delivered bytes.
//!
//! Whatever ends a request, and whenever: no ending that the client brings about yields content at a
//! charge of zero, no upstream failure is charged, and what was charged is delivered again by its
//! `Idempotency-Key`, also after the process that charged it is gone.

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

/// The number of endings; each starts a new service.
const CASES: u32 = 3;
const CREDIT: i64 = 1000 * PRICE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Chat,
    Responses,
    Background,
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
    Leaves(usize),
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
    plays: Plays,
    client: Client,
    fault: Fault,
    has_key: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let form = prop_oneof![Just(Form::Chat), Just(Form::Responses), Just(Form::Background)];
    let well = prop::sample::select(vec!["echo", "chunks-60", "drip-400-2", "shatter", "endless"]);
    let fails = prop::sample::select(vec![
        "status-500",
        "cut-before-first",
        "cut-after-head",
        "cut-after-2",
        "cut-mid-event",
        "reset-mid",
        "error-event",
        "no-done",
        "hang-mid",
    ]);
    let plays = prop_oneof![3 => well.prop_map(Plays::Well), 2 => fails.prop_map(Plays::Fails)];
    let bytes = 0..4000_usize;
    let client = prop_oneof![
        2 => Just(Client::ReadsAll),
        3 => bytes.clone().prop_map(Client::Leaves),
        2 => bytes.clone().prop_map(Client::Cancels),
        1 => bytes.prop_map(Client::Deletes),
    ];
    let fault =
        prop_oneof![4 => Just(Fault::None), 1 => Just(Fault::BooksAway), 1 => Just(Fault::Restart)];
    (form, plays, client, fault, any::<bool>())
        .prop_map(|(form, plays, client, fault, has_key)| Case {
            form,
            plays,
            client,
            fault,
            // With a key the service reads on after the client left: an endless answer up to its
            // size limit, which takes as long as the machine is slow.
            has_key: has_key && plays != Plays::Well("endless"),
        })
        .prop_filter("only a background response is cancelled", |case| {
            let is_asked = matches!(case.client, Client::Cancels(_) | Client::Deletes(_));
            !is_asked || case.form == Form::Background
        })
        .prop_filter("somebody must end an endless answer", |case| {
            let ends = case.client != Client::ReadsAll;
            case.plays != Plays::Well("endless") || (ends && case.form != Form::Background)
        })
}

/// What a client saw.
#[derive(Debug, Default)]
struct Saw {
    text: String,
    is_over: bool,
}

impl Saw {
    fn has_content(&self) -> bool {
        let mut said = self.text.split("\"content\":\"").skip(1);
        self.text.contains("response.output_text.delta") || said.any(|rest| !rest.starts_with('"'))
    }

    fn is_complete(&self) -> bool {
        self.text.contains("data: [DONE]") || self.text.contains("event: response.completed")
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
struct World {
    text: String,
    folder: Arc<TempDir>,
}

impl Case {
    fn body(&self) -> (&'static str, Value) {
        let (Plays::Well(step) | Plays::Fails(step)) = self.plays;
        let text = format!("[[{step}]] one two three");
        match self.form {
            Form::Chat => (
                "/v1/chat/completions",
                json!({"model": "up/echo", "stream": true,
                "messages": [{"role": "user", "content": text}]}),
            ),
            Form::Responses => {
                ("/v1/responses", json!({"model": "up/echo", "stream": true, "input": text}))
            }
            Form::Background => (
                "/v1/responses",
                json!({"model": "up/echo", "stream": true,
                "background": true, "input": text}),
            ),
        }
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
        let provider = "kind: openai, models: [echo], health: false, timeout: {idle: 0.3}";
        let text = with_one(&upstream, provider, "limits: {drain_seconds: 0}\n");
        let world = World { text, folder: Arc::new(tempfile::tempdir().unwrap()) };
        let mut service = Running::start_in(world.folder.clone(), &world.text);
        let ada = service.holder("ada", CREDIT);

        let mut raw = self.ask(&service, &ada);
        let head = raw.head();
        let id = head.header("x-receipt-id").to_owned();
        let mut saw = Saw { is_over: head.status != 200, ..Saw::default() };
        let (Client::Leaves(bytes) | Client::Cancels(bytes) | Client::Deletes(bytes)) = self.client
        else {
            return self.read_all(service, &world, &ada, (raw, saw, id));
        };
        saw.read(&mut raw, bytes);
        let books = (self.fault == Fault::BooksAway).then(|| lock(&world.folder));
        if self.fault == Fault::Restart {
            service = restart(service, &world);
        }
        std::thread::scope(|scope| {
            scope.spawn(move || drop((raw, books)));
            self.act(&service, &ada, &saw);
        });
        self.check(&service, &ada, (&saw, &id));
    }

    fn read_all(&self, service: Running, world: &World, ada: &Holder, what: (Raw, Saw, String)) {
        let (mut raw, mut saw, id) = what;
        let mut service = service;
        let books = (self.fault == Fault::BooksAway).then(|| lock(&world.folder));
        if self.fault == Fault::Restart {
            service = restart(service, world);
        }
        drop(books);
        saw.read(&mut raw, usize::MAX);
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
        let (rule, charge) = receipt(service, ada, id);
        eventually("nothing is held", || service.account(ada.member).held.get() == 0);
        service.check_ledger();
        let spent = CREDIT - service.account(ada.member).balance.get();
        assert_eq!(spent, charge, "{self:?} {rule}");
        assert!(charge == 0 || charge == PRICE, "{self:?} {rule} {charge}");
        if saw.is_complete() {
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
            assert_eq!(head.header("idempotent-replayed"), "true", "{self:?} {rule}");
            assert_eq!(head.header("x-receipt-id"), id, "{self:?}");
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

fn restart(service: Running, world: &World) -> Running {
    service.stop();
    Running::start_in(world.folder.clone(), &world.text)
}

#[test]
fn no_ending_gives_content_away_or_charges_for_a_failure() {
    // A failing case may wait for a minute: shrinking it would exceed the limit of a test.
    let config = Config {
        cases: CASES,
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
