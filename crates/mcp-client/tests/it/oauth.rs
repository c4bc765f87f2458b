//! Signing in, against real authorization servers and against one that fails; and what these tests
//! share: a [`Place`] where tokens are kept, and a [`Person`] with a browser.

mod browser;
mod client_credentials;
mod concurrent;
mod device;
mod faults;
mod identity;
mod logins;
mod lost_sign_ins;
mod options;
mod races;
mod redirect_ports;
mod redirects;
mod signed_in;
mod token_files;
mod transport_security;
mod transports;

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_test_support::oauth::{SignInResult, visit, visit_and_refuse};
use mcp_client::config::{Auth, Endpoint, OauthOptions, ServerEntry, Text};
use mcp_client::host::{BoxFuture, Browser, ClientEvent, Host, SignInPage, SignInReply};
use mcp_client::oauth::{Account, Error, LoginOptions};
use mcp_client::{Client, Error as ClientError};
use tempfile::TempDir;
use tokio::sync::watch;

use crate::support::{RecordedEvents, host, http};

/// How long a server may take to be ready.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A document that nobody can fetch; [`FaultyAuthServer`](agent_test_support::oauth::FaultyAuthServer) does not try.
pub(crate) const DOCUMENT: &str = "https://agent.test/client.json";

/// A machine: its folder of tokens, and what was told on it.
pub(crate) struct Place {
    folder: TempDir,
    pub(crate) document: Option<String>,
    notebook: Arc<RecordedEvents>,
}

impl Place {
    /// With the client document [`DOCUMENT`].
    pub(crate) fn new() -> Self {
        Self::with_document(Some(DOCUMENT))
    }

    pub(crate) fn with_document(document: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let document = document.map(str::to_owned);
        Self { folder, document, notebook: Arc::default() }
    }

    /// A program that runs here; each knows of the others only by the folder.
    pub(crate) fn host(&self) -> Host {
        let (bare, _) = host();
        let observer = Arc::clone(&self.notebook);
        let client_document = self.document.clone();
        Host { token_dir: Some(self.tokens()), client_document, observer, ..bare }
    }

    /// The folder of tokens.
    pub(crate) fn tokens(&self) -> PathBuf {
        self.folder.path().join("mcp-tokens")
    }

    /// What is kept in a file of that folder; nothing if it is not there.
    pub(crate) fn kept(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.tokens().join(file)).ok()
    }

    /// The sign-in of a server, as a program that was just started sees it.
    pub(crate) fn account(&self, entry: &ServerEntry) -> Account {
        Account::of(entry, &Arc::new(self.host())).unwrap().unwrap()
    }

    /// Signs in anew.
    pub(crate) async fn login(
        &self,
        entry: &ServerEntry,
        person: &Person,
    ) -> Result<(), ClientError> {
        self.account(entry).login(person, LoginOptions::default()).await
    }

    /// Signs in anew, which must fail for a reason that has to do with signing in.
    pub(crate) async fn failed_login(&self, entry: &ServerEntry, person: &Person) -> Error {
        match self.login(entry, person).await {
            Err(ClientError::OAuth(error)) => *error,
            other => panic!("not a failed sign-in: {other:?}"),
        }
    }

    /// A client with one server; perhaps somebody is there to sign in.
    pub(crate) fn client(&self, entry: ServerEntry, person: Option<&Arc<Person>>) -> Client {
        let browser = person.map(|person| Arc::clone(person) as Arc<dyn Browser>);
        Client::start([entry], Host { browser, ..self.host() })
    }

    /// Every warning so far.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let texts = self.notebook.events().into_iter().filter_map(|event| match event {
            ClientEvent::Warning { text, .. } => Some(text),
            _ => None,
        });
        texts.collect()
    }
}

/// An entry with `auth: oauth`.
pub(crate) fn entry(name: &str, url: &str) -> ServerEntry {
    entry_with(name, url, |_| {})
}

/// An entry with `auth: oauth` and the given options.
pub(crate) fn entry_with(
    name: &str,
    url: &str,
    change: impl FnOnce(&mut OauthOptions),
) -> ServerEntry {
    let mut options = OauthOptions::default();
    change(&mut options);
    let mut entry = http(name, url);
    if let Endpoint::Http(endpoint) = &mut entry.endpoint {
        endpoint.auth = Auth::OAuth(Box::new(options));
    }
    entry
}

/// A value of an option.
#[expect(clippy::unnecessary_wraps, reason = "it is what an option is set to")]
pub(crate) fn text(value: &str) -> Option<Text> {
    Some(Text::literal(value))
}

/// The actions of a user on a page, run on a separate thread; returns the final page.
type Way = Arc<dyn Fn(&SignInPage) -> SignInResult + Send + Sync>;

/// What somebody pastes, by the visit and how many there were before.
type Words = Arc<dyn Fn(&SignInPage, usize) -> String + Send + Sync>;

#[derive(Clone)]
enum UserBehavior {
    Goes(Way),
    Pastes(Words),
    Leaves,
    Cancels,
}

/// Somebody who is brought to pages, and remembers which and how it ended.
pub(crate) struct Person {
    mind: UserBehavior,
    visits: Mutex<Vec<SignInPage>>,
    landed: watch::Sender<Vec<SignInResult>>,
    document: Option<String>,
}

impl Person {
    /// Whose program knows this client document.
    pub(crate) fn with_document(self, address: &str) -> Self {
        Self { document: Some(address.to_owned()), ..self }
    }

    /// Signs in and consents.
    pub(crate) fn signing_in() -> Self {
        Self::who(|page| visit(&page.address))
    }

    /// Cancels at the first page of the server.
    pub(crate) fn refusing() -> Self {
        Self::who(|page| visit_and_refuse(&page.address))
    }

    /// Does this, and the browser comes back by itself.
    pub(crate) fn who(goes: impl Fn(&SignInPage) -> SignInResult + Send + Sync + 'static) -> Self {
        Self::of(UserBehavior::Goes(Arc::new(goes)))
    }

    /// Pastes these words, by the visit and how many there were before.
    pub(crate) fn pasting(
        words: impl Fn(&SignInPage, usize) -> String + Send + Sync + 'static,
    ) -> Self {
        Self::of(UserBehavior::Pastes(Arc::new(words)))
    }

    /// Never comes back.
    pub(crate) fn leaving() -> Self {
        Self::of(UserBehavior::Leaves)
    }

    /// Gives up.
    pub(crate) fn cancelling() -> Self {
        Self::of(UserBehavior::Cancels)
    }

    fn of(mind: UserBehavior) -> Self {
        let (visits, landed) = (Mutex::default(), watch::Sender::default());
        Self { mind, visits, landed, document: None }
    }

    /// Every page so far.
    pub(crate) fn visits(&self) -> Vec<SignInPage> {
        self.visits.lock().unwrap().clone()
    }

    /// The only page so far.
    pub(crate) fn visit(&self) -> SignInPage {
        let visits = self.visits();
        let [visit] = visits.as_slice() else { panic!("not one visit: {visits:?}") };
        visit.clone()
    }

    /// Where they landed first, as soon as they did.
    pub(crate) async fn landed(&self) -> SignInResult {
        let mut landed = self.landed.subscribe();
        landed.wait_for(|landed| !landed.is_empty()).await.unwrap()[0].clone()
    }
}

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Person").finish_non_exhaustive()
    }
}

impl Browser for Person {
    fn open_sign_in(&self, visit: SignInPage) -> BoxFuture<SignInReply> {
        let before = self.visits().len();
        self.visits.lock().unwrap().push(visit.clone());
        match self.mind.clone() {
            UserBehavior::Goes(goes) => {
                let landed = self.landed.clone();
                tokio::task::spawn_blocking(move || {
                    let end = goes(&visit);
                    landed.send_modify(|landed| landed.push(end));
                });
                Box::pin(std::future::pending())
            }
            UserBehavior::Pastes(words) => Box::pin(async move {
                let pasted = tokio::task::spawn_blocking(move || words(&visit, before)).await;
                SignInReply::Pasted(pasted.unwrap())
            }),
            UserBehavior::Leaves => Box::pin(std::future::pending()),
            UserBehavior::Cancels => Box::pin(std::future::ready(SignInReply::Cancelled)),
        }
    }

    fn default_document(&self) -> BoxFuture<Option<String>> {
        Box::pin(std::future::ready(self.document.clone()))
    }
}

/// Where an authorization server that asks nobody sends a browser back to; nobody goes there.
pub(crate) fn redirect_of(address: &str) -> String {
    let rest = address.strip_prefix("http://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(authority).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {authority}\r\n\r\n").unwrap();
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let location = head.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    });
    location.unwrap_or_else(|| panic!("no redirect: {head:?}"))
}
