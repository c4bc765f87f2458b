//! A whole service on a free loopback port, in a separate thread, and a client of it.
//!
//! Tests may be blocking or asynchronous: nothing here needs a runtime of the caller's.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, mpsc};
use std::time::Duration;

use agent_test_support::json_schema::JsonSchema;
use agent_test_support::mcp::example;
use agent_test_support::upstream::Upstream;
use document_parser::WorkerProgram;
use gateway::config::{self, Config};
use gateway::{KeyHasher, Service};
use gateway_store::{Actor, NewKey, Scope as KeyScope, Store};
use http::{HeaderMap, Method, Request};
use ledger::{Account, Limits, MemberId, Micros, PostingKind, Transfer};
use serde_json::Value;
use settings::Scope;
use tempfile::TempDir;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use wire::key::{ApiKey, RANDOM_BYTES};

/// What the configurations of [`plain`] ask of an operator.
pub(crate) const ADMIN_TOKEN: &str = "an-admin-token-of-at-least-32-characters";
/// What a request costs in the configurations of [`plain`].
pub(crate) const PRICE: i64 = 1000;
/// How long a service may take to end when its test is over; then it is left to the process.
const MAX_END: Duration = Duration::from_secs(3);

/// A service that runs until it is dropped or stopped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    /// A second handle on the same database.
    pub(crate) store: Arc<Store>,
    pub(crate) folder: Arc<TempDir>,
    hasher: KeyHasher,
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    /// In a lock, so that threads can ask the service at the same time.
    ended: Mutex<mpsc::Receiver<()>>,
    client: ureq::Agent,
}

/// The program that parses documents for the services of tests.
fn parse_worker() -> WorkerProgram {
    WorkerProgram { path: example("parse_worker"), arguments: Vec::new(), environment: Vec::new() }
}

/// A member with a key.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    pub(crate) member: MemberId,
    pub(crate) key: ApiKey,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A configuration with SQLite, an admin token and one provider `up` that has these models, and
/// what is added to it: whole sections of `gateway.yaml`, as text.
pub(crate) fn plain(upstream: &Upstream, models: &[&str], added: &str) -> String {
    format!(
        "listen: 127.0.0.1:0\n\
         database: {{url: \"sqlite:gateway.sqlite3\", durability: process}}\n\
         admin_token: ${{ADMIN_TOKEN}}\n\
         providers:\n  up:\n    kind: openai\n    base_url: {}\n    api_key: {}\n    models: [{}]\n\
         prices: {{default_micros: {{chat: {PRICE}, responses: {PRICE}}}}}\n{added}",
        upstream.base_url(),
        upstream.key(),
        models.join(", "),
    )
}

impl Running {
    /// Starts a service with the configuration of [`plain`].
    pub(crate) fn plain(upstream: &Upstream) -> Self {
        Self::start(&plain(upstream, &["echo", "drip-3-1"], ""))
    }

    /// Starts a service with this `gateway.yaml`, in a new folder, on an empty database.
    pub(crate) fn start(text: &str) -> Self {
        Self::start_in(Arc::new(tempfile::tempdir().unwrap()), text)
    }

    /// Starts a service in a folder that perhaps has the files of an earlier one.
    pub(crate) fn start_in(folder: Arc<TempDir>, text: &str) -> Self {
        Self::start_after(folder, text, |_| {})
    }

    /// Starts a service after something was done to it.
    pub(crate) fn start_after(
        folder: Arc<TempDir>,
        text: &str,
        prepare: impl FnOnce(&Service) + Send + 'static,
    ) -> Self {
        let config = read(text, folder.path());
        let hasher = gateway::key_secret::load(&config.key_secret).unwrap();
        let (stop, stopped) = oneshot::channel();
        let (ending, ended) = mpsc::channel();
        let (beginning, begun) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let store = open(&config).await;
                let ready =
                    gateway::prepare(config, parse_worker()).await.unwrap_or_else(|problems| {
                        panic!("the service does not start: {problems:?}");
                    });
                prepare(&ready.service);
                let address = ready.listener.local_addr().unwrap();
                beginning.send((address, store, Handle::current())).unwrap();
                let shutdown = async {
                    let _ = stopped.await;
                };
                gateway::serve(ready, shutdown).await.unwrap();
            });
            let _ = ending.send(());
        });
        let (address, store, handle) = begun.recv().unwrap();
        let client = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(Duration::from_mins(1)))
            .build()
            .new_agent();
        Self {
            address,
            store,
            folder,
            hasher,
            handle,
            stop: Some(stop),
            ended: Mutex::new(ended),
            client,
        }
    }

    /// Tells it to stop, and does not wait for it.
    pub(crate) fn begin_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Lets what runs come to its end, and waits for it.
    pub(crate) fn stop(mut self) {
        drop(self.stop.take());
        self.ended.lock().unwrap().recv().unwrap();
    }

    /// Where it is, without a path.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Runs something on the service's own runtime and waits for it.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let (done, result) = mpsc::channel();
        self.handle.spawn(async move { done.send(work.await) });
        result.recv().unwrap()
    }

    /// Makes a member without money.
    pub(crate) fn member(&self, name: &str) -> MemberId {
        let (store, name) = (self.store.clone(), name.to_owned());
        self.wait(async move { store.create_member(&name, &actor()).await.unwrap().id })
    }

    /// Pays in.
    pub(crate) fn credit(&self, member: MemberId, micros: i64) {
        let store = self.store.clone();
        let transfer = Transfer {
            member,
            kind: PostingKind::TopUp,
            amount: Micros::new(micros),
            reason: "for a test".to_owned(),
            reference: None,
        };
        self.wait(async move { store.post(transfer, &actor()).await.unwrap().unwrap() });
    }

    /// Makes a key of all scopes with these limits.
    pub(crate) fn key(&self, member: MemberId, limits: Limits) -> ApiKey {
        self.key_with(member, |new| new.limits = limits)
    }

    /// Makes a key of all scopes and without limits, but for what is changed.
    pub(crate) fn key_with(&self, member: MemberId, change: impl FnOnce(&mut NewKey)) -> ApiKey {
        let key = random_key();
        let mut new = NewKey {
            id: key.public_id().to_owned(),
            hash: self.hasher.hash(&key),
            member,
            name: "a key".to_owned(),
            scopes: KeyScope::ALL.to_vec(),
            models: None,
            expires_at: None,
            limits: Limits::default(),
        };
        change(&mut new);
        let store = self.store.clone();
        self.wait(async move { store.create_key(&new, &actor()).await.unwrap() });
        key
    }

    /// Makes a member with so much money and a key without limits.
    pub(crate) fn holder(&self, name: &str, micros: i64) -> Holder {
        let member = self.member(name);
        if micros > 0 {
            self.credit(member, micros);
        }
        Holder { member, key: self.key(member, Limits::default()) }
    }

    /// What a member has.
    pub(crate) fn account(&self, member: MemberId) -> Account {
        let store = self.store.clone();
        self.wait(async move { store.account(member).await.unwrap().unwrap() })
    }

    /// Fails unless everything adds up.
    pub(crate) fn check_ledger(&self) {
        let store = self.store.clone();
        let check = self.wait(async move { store.check_ledger().await.unwrap() });
        assert_eq!((check.sum, check.wrong), (Micros::ZERO, 0), "{check:?}");
    }

    /// Sends a request, with a bearer credential and a JSON body where there are some.
    pub(crate) fn send(
        &self,
        method: Method,
        path: &str,
        bearer: Option<&str>,
        body: Option<&Value>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(bearer) = bearer {
            request = request.header("authorization", format!("Bearer {bearer}"));
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map_or(String::new(), Value::to_string);
        self.send_raw(request.body(body.into_bytes()).unwrap())
    }

    /// Sends a request whose address is a path, as it is.
    pub(crate) fn send_raw(&self, mut request: Request<Vec<u8>>) -> Answer {
        let address = format!("{}{}", self.origin(), request.uri());
        *request.uri_mut() = address.parse().unwrap();
        let answer = self.client.run(request).unwrap();
        let (head, mut body) = answer.into_parts();
        let body = body.with_config().limit(u64::MAX).read_to_vec().unwrap();
        Answer { status: head.status.as_u16(), headers: head.headers, body }
    }

    /// `GET` with a key.
    pub(crate) fn get(&self, path: &str, bearer: &str) -> Answer {
        self.send(Method::GET, path, Some(bearer), None)
    }

    /// `POST` with a key.
    pub(crate) fn post(&self, path: &str, bearer: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, Some(bearer), Some(body))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.ended.lock().unwrap().recv_timeout(MAX_END);
    }
}

impl Answer {
    /// The body as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The body as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.text()))
    }

    /// The value of a header; empty if there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The body of a success.
    #[track_caller]
    pub(crate) fn good(&self) -> Value {
        assert!((200..300).contains(&self.status), "{} {}", self.status, self.text());
        self.json()
    }

    /// The status and the code of a failure.
    #[track_caller]
    pub(crate) fn failure(&self) -> (u16, String) {
        (self.status, self.json()["error"]["code"].as_str().unwrap_or_default().to_owned())
    }
}

/// Built once: property tests read a configuration for every case.
static SCHEMA: LazyLock<JsonSchema> =
    LazyLock::new(|| JsonSchema::of(&config::schema().published("gateway.yaml")));

/// The configuration of a text, which the published schema accepts too.
#[track_caller]
pub(crate) fn read(text: &str, folder: &Path) -> Config {
    let reading = reading(text, folder);
    let file = settings::Node::from_yaml(text).unwrap().to_json();
    assert_eq!(SCHEMA.faults(&file), Vec::<String>::new(), "{text}");
    reading.config.unwrap_or_else(|| panic!("{:?}\n{text}", reading.problems))
}

/// What a text says, right or wrong.
pub(crate) fn reading(text: &str, folder: &Path) -> config::Reading {
    let token = ("ADMIN_TOKEN".to_owned(), ADMIN_TOKEN.to_owned());
    let scope = Scope { secrets: [token].into(), ..Scope::default() };
    config::read(text, &scope, folder)
}

/// The database of a configuration, made if need be.
async fn open(config: &Config) -> Arc<Store> {
    let (place, options) = gateway::database_location(config);
    Store::migrate(&place, &options).await.unwrap();
    Arc::new(Store::open(&place, &options).await.unwrap())
}

fn actor() -> Actor {
    Actor { name: "test".to_owned(), request: None }
}

fn random_key() -> ApiKey {
    let bytes: [u8; RANDOM_BYTES] = std::array::from_fn(|_| fastrand::u8(..));
    ApiKey::from_random(&bytes).unwrap_or_else(random_key)
}
