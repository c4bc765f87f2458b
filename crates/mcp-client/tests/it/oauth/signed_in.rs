//! A machine that is signed in to one server, and an ear for secrets: whatever was said on it is
//! searched for every secret when it ends.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agent_test_support::oauth::{FaultyAuthServer, Oidc, PythonOauth, RecordedRequest, Script};
use mcp_client::config::ServerEntry;
use mcp_client::host::{Browser, ClientEvent, Host};
use mcp_client::oauth::{Account, LoginOptions};
use mcp_client::session::{CallOptions, Session};
use mcp_client::supervisor::ServerState;
use mcp_client::{Client, Error};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{PATIENCE, Person, entry};
use crate::support::{RecordedEvents, host};

/// How often a state is looked at.
const POLL: Duration = Duration::from_millis(10);

/// A server to sign in to, and what it heard.
pub(crate) trait Peer: Sync {
    fn address(&self) -> String;
    fn heard(&self) -> Vec<RecordedRequest>;
}

impl Peer for FaultyAuthServer {
    fn address(&self) -> String {
        self.mcp_url()
    }

    fn heard(&self) -> Vec<RecordedRequest> {
        self.requests()
    }
}

impl Peer for PythonOauth {
    fn address(&self) -> String {
        self.mcp_url().to_owned()
    }

    fn heard(&self) -> Vec<RecordedRequest> {
        self.requests()
    }
}

impl Peer for Oidc {
    fn address(&self) -> String {
        self.mcp_url().to_owned()
    }

    fn heard(&self) -> Vec<RecordedRequest> {
        self.requests()
    }
}

/// A machine with one server that wants a sign-in.
pub(crate) struct SignedIn<S: Peer> {
    pub(crate) server: S,
    pub(crate) entry: ServerEntry,
    pub(crate) folder: PathBuf,
    pub(crate) document: Option<String>,
    notebook: Arc<RecordedEvents>,
    said: Mutex<Vec<String>>,
    _home: TempDir,
}

impl SignedIn<FaultyAuthServer> {
    /// At a server that is correct but for this.
    pub(crate) async fn to_faulty(change: impl FnOnce(&mut Script)) -> Self {
        let mut script = Script::default();
        change(&mut script);
        let machine = Self::not_yet(FaultyAuthServer::start(script).unwrap());
        machine.sign_in().await;
        machine
    }

    /// Waits until a program that has connected has also asked for a stream of messages, which it
    /// does by itself: a token that ends before would be renewed for that.
    pub(crate) async fn at_rest(&self, client: &Client) {
        while !self.server.requests_to("/mcp").iter().any(|seen| seen.method == "GET") {
            // sleep: how often it is looked.
            tokio::time::sleep(POLL).await;
        }
        self.echo(client).await;
    }

    /// How many requests there were to the token endpoint.
    pub(crate) fn asked(&self) -> usize {
        self.server.requests_to("/token").len()
    }
}

impl<S: Peer> SignedIn<S> {
    /// Not signed in yet.
    pub(crate) fn not_yet(server: S) -> Self {
        let home = tempfile::tempdir().unwrap();
        Self {
            entry: entry("shared", &server.address()),
            server,
            folder: home.path().join("mcp-tokens"),
            document: None,
            notebook: Arc::default(),
            said: Mutex::default(),
            _home: home,
        }
    }

    /// Signs in, as another process would.
    pub(crate) async fn sign_in(&self) {
        let account = self.account();
        let person = Person::signing_in();
        let done = account.login(&person, LoginOptions::default()).await;
        done.unwrap_or_else(|error| panic!("{error}"));
    }

    pub(crate) fn host(&self) -> Host {
        let observer = Arc::clone(&self.notebook);
        let (token_dir, client_document) = (Some(self.folder.clone()), self.document.clone());
        Host { token_dir, client_document, observer, ..host().0 }
    }

    /// The sign-in, as a program that was just started sees it.
    pub(crate) fn account(&self) -> Account {
        let account = Account::of(&self.entry, &Arc::new(self.host())).unwrap().unwrap();
        self.note(&account);
        account
    }

    /// A program in the background, with nobody to sign in.
    pub(crate) async fn client(&self) -> Client {
        self.client_with(None).await
    }

    /// A program, perhaps with somebody in front of it; it is known how its server is.
    pub(crate) async fn client_with(&self, person: Option<&Arc<Person>>) -> Client {
        let browser = person.map(|person| Arc::clone(person) as Arc<dyn Browser>);
        let client = Client::start([self.entry.clone()], Host { browser, ..self.host() });
        client.wait_until_settled(PATIENCE).await;
        client
    }

    /// One try to connect, by a program that was just started.
    pub(crate) async fn connect_unsupervised(&self) -> Result<Session, Error> {
        let client = Client::start([], self.host());
        let dialed = client.connect_unsupervised(&self.entry, &|stage| self.note(&stage)).await;
        dialed.inspect_err(|error| self.heard(error))
    }

    /// One try that must fail.
    pub(crate) async fn failed(&self) -> Error {
        match self.connect_unsupervised().await {
            Err(error) => error,
            Ok(_) => panic!("it connected"),
        }
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, client: &Client, tool: &str) -> Result<(), Error> {
        let name = format!("mcp__shared__{tool}");
        let called = client.call(&name, json!({ "text": "hi" }), CallOptions::default()).await;
        match called {
            Ok(outcome) => {
                assert!(!outcome.is_error, "{outcome:?}");
                Ok(())
            }
            Err(error) => {
                self.heard(&error);
                Err(error)
            }
        }
    }

    /// Calls a tool, which must work.
    pub(crate) async fn echo(&self, client: &Client) {
        self.call(client, "echo").await.unwrap_or_else(|error| panic!("{error}"));
    }

    /// The tokens on disk.
    pub(crate) fn tokens(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.file()).unwrap()).unwrap()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join("shared.json")
    }

    /// Changes the tokens on disk, as another version of this program might have written them.
    pub(crate) fn change_tokens(&self, change: impl FnOnce(&mut Value)) {
        let mut tokens = self.tokens();
        change(&mut tokens);
        std::fs::write(self.file(), tokens.to_string()).unwrap();
    }

    /// The access token looks as if it had ended; the server would still take it.
    pub(crate) fn expire_access_token(&self) {
        self.change_tokens(|tokens| tokens["expires_at"] = json!(now() - 5));
    }

    /// The access token is about to end.
    pub(crate) fn make_access_token_expire_soon(&self) {
        self.change_tokens(|tokens| {
            tokens["obtained_at"] = json!(now() - 1000);
            tokens["expires_at"] = json!(now() + 30);
        });
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        let texts = self.notebook.events().into_iter().filter_map(|event| match event {
            ClientEvent::Warning { text, .. } => Some(text),
            _ => None,
        });
        texts.collect()
    }

    /// Remembers what an error says to people and to programmers.
    pub(crate) fn heard(&self, error: &Error) {
        self.said.lock().unwrap().push(error.to_string());
        self.note(error);
    }

    pub(crate) fn note(&self, anything: &impl Debug) {
        self.said.lock().unwrap().push(format!("{anything:?}"));
    }

    /// Every secret that was sent by us, or is kept.
    fn secrets(&self) -> Vec<String> {
        let mut secrets = Vec::new();
        for seen in self.server.heard() {
            let fields = ["refresh_token", "code", "code_verifier", "client_secret", "assertion"];
            secrets.extend(fields.iter().filter_map(|name| seen.field(name)));
            let header = seen.header("authorization").unwrap_or_default();
            secrets.extend(header.split_once(' ').map(|(_, token)| token.to_owned()));
        }
        for file in files(&self.folder) {
            let kept = std::fs::read(&file).unwrap_or_default();
            let kept: Value = serde_json::from_slice(&kept).unwrap_or_default();
            let names = ["access_token", "refresh_token", "key"];
            secrets.extend(names.iter().filter_map(|name| Some(kept[name].as_str()?.to_owned())));
        }
        secrets.retain(|secret| secret.len() >= 8);
        secrets
    }
}

impl<S: Peer> Drop for SignedIn<S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let mut said = self.said.lock().unwrap().clone();
        said.extend(self.notebook.events().iter().map(|event| format!("{event:?}")));
        let secrets = self.secrets();
        for text in said {
            let found = secrets.iter().find(|secret| text.contains(secret.as_str()));
            assert!(found.is_none(), "the secret {found:?} was told: {text}");
        }
    }
}

/// Waits until a server is in such a state.
pub(crate) async fn until(
    client: &Client,
    what: &str,
    holds: impl Fn(&ServerState) -> bool,
) -> ServerState {
    let waited = tokio::time::timeout(PATIENCE, async {
        loop {
            let state = client.status()[0].state.clone();
            if holds(&state) {
                return state;
            }
            // sleep: how often a state is looked at.
            tokio::time::sleep(POLL).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("never {what}: {}", client.status()[0].state))
}

pub(crate) fn needs_sign_in(state: &ServerState) -> bool {
    matches!(state, ServerState::NeedsSignIn { .. })
}

pub(crate) fn is_ready(state: &ServerState) -> bool {
    *state == ServerState::Ready
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(folder).into_iter().flatten();
    found.map(|file| file.unwrap().path()).collect()
}
