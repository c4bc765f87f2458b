//! From an entry to a session: the link, the order of handshakes, and their fallbacks.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::handshake::{discover, initialize};
use super::{Agreed, Inner, Session, attend, cache, subscription};
use crate::config::{Endpoint, HttpEndpoint, HttpTransport, Protocol, ServerEntry, Verify};
use crate::content;
use crate::error::Error;
use crate::guardian::Guardian;
use crate::host::{Event, Host};
use crate::message::RpcError;
use crate::oauth::credentials::Credentials;
use crate::oauth::person::Person;
use crate::protocol::{Era, LEGACY_VERSIONS};
use crate::router::Router;
use crate::transport::http::HttpLink;
use crate::transport::http_client::{Authorizer, HttpClient};
use crate::transport::sse::SseLink;
use crate::transport::stdio::{StdioLink, Surroundings};
use crate::transport::{Link, preflight};

/// How long the reason why a process has gone may take to be known.
const GONE: Duration = Duration::from_secs(2);

/// A step of connecting, for those who want to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Which.
    pub name: &'static str,
    /// What came of it.
    pub outcome: Result<String, String>,
    /// How long it took.
    pub took: Duration,
}

/// Hears of each step.
pub type Trace<'a> = &'a (dyn Fn(Stage) + Send + Sync);

/// What is remembered of a server from one connection to the next.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// It was connected before: no more preflight, no more guessing of transports.
    connected: AtomicBool,
    /// It only speaks the older transport.
    sse: AtomicBool,
    /// Who is signed in.
    credentials: OnceLock<Option<Arc<Credentials>>>,
}

impl Memory {
    /// Who is signed in to a server that wants that.
    pub(crate) fn credentials(
        &self,
        entry: &ServerEntry,
        host: &Arc<Host>,
    ) -> Result<Option<Arc<Credentials>>, Error> {
        let Endpoint::Http(endpoint) = &entry.endpoint else { return Ok(None) };
        if let Some(known) = self.credentials.get() {
            return Ok(known.clone());
        }
        let made = Credentials::of(entry, endpoint, host)?;
        Ok(self.credentials.get_or_init(|| made).clone())
    }

    /// Waits for what must not be broken off: a token that is being renewed.
    pub(crate) async fn finished(&self) {
        if let Some(Some(credentials)) = self.credentials.get() {
            credentials.finished().await;
        }
    }
}

/// Connects one server.
#[derive(Clone, Copy)]
pub(crate) struct Dialer<'a> {
    pub(crate) entry: &'a Arc<ServerEntry>,
    pub(crate) host: &'a Arc<Host>,
    pub(crate) guardian: &'a Arc<Guardian>,
    pub(crate) tasks: &'a TaskTracker,
    pub(crate) memory: &'a Memory,
    pub(crate) trace: Option<Trace<'a>>,
}

/// Which handshake is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Initialize,
    Discover,
}

impl Dialer<'_> {
    /// A session that has agreed on an era, or the reason there is none.
    pub(crate) async fn connect(&self) -> Result<Session, Error> {
        let connected = match &self.entry.endpoint {
            Endpoint::Stdio(endpoint) => {
                if let Some(suspicion) = crate::config::danger::suspicion(endpoint) {
                    return Err(Error::Suspicious { reason: suspicion.to_string() });
                }
                self.by_protocol(HttpTransport::Streamable).await
            }
            Endpoint::Http(endpoint) => self.remote(endpoint).await,
        };
        let redactor = &self.host.redactor;
        let (inner, mut agreed) = connected.map_err(|error| error.cleaned(redactor))?;
        content::clean_value(&mut agreed.server_info, redactor);
        agreed.instructions =
            agreed.instructions.map(|text| redactor.clean_known(&text).into_owned());
        self.memory.connected.store(true, Ordering::Release);
        let era = agreed.era;
        let _ = inner.agreed.set(agreed);
        if era == Era::Stateless {
            subscription::keep(&inner);
        } else if let Link::Http(link) = &inner.link {
            link.listen();
        }
        Ok(Session { inner })
    }

    async fn remote(&self, endpoint: &HttpEndpoint) -> Result<(Arc<Inner>, Agreed), Error> {
        if endpoint.verify == Verify::Off {
            self.warn("certificate verification is off (`ssl_verify: false`): anyone on the way can read and change what is sent");
        }
        if endpoint.transport == HttpTransport::Sse || self.memory.sse.load(Ordering::Acquire) {
            return self.by_protocol(HttpTransport::Sse).await;
        }
        let first_time = !self.memory.connected.load(Ordering::Acquire);
        if first_time && !endpoint.skip_preflight {
            self.preflight(endpoint).await?;
        }
        let first = match self.by_protocol(HttpTransport::Streamable).await {
            Ok(connected) => return Ok(connected),
            Err(error) => error,
        };
        if !first_time || !is_older(&first) {
            return Err(first);
        }
        match self.by_protocol(HttpTransport::Sse).await {
            Ok(connected) => {
                self.memory.sse.store(true, Ordering::Release);
                self.warn("it only speaks the older SSE transport; set `transport: sse` to connect faster");
                Ok(connected)
            }
            Err(second) => {
                let (first, second) = (Box::new(first), Box::new(second));
                Err(Error::BothFailed { first, attempt: "over the older SSE transport", second })
            }
        }
    }

    async fn preflight(&self, endpoint: &HttpEndpoint) -> Result<(), Error> {
        let began = Instant::now();
        let client = HttpClient::new(endpoint, self.host)?;
        let probed = preflight::probe(&client, self.entry.connect_timeout).await;
        let outcome = probed.as_ref().map(|()| "no other content type".to_owned());
        self.tell("preflight", outcome.map_err(ToString::to_string), began);
        probed
    }

    /// The order of handshakes that the entry wants.
    async fn by_protocol(&self, transport: HttpTransport) -> Result<(Arc<Inner>, Agreed), Error> {
        let within = self.entry.connect_timeout;
        // The older transport has no stateless era.
        let protocol = match transport {
            HttpTransport::Sse => Protocol::Legacy,
            HttpTransport::Streamable => self.entry.protocol,
        };
        match protocol {
            Protocol::Legacy => {
                let inner = self.open(transport).await?;
                let agreed = self.attempt(&inner, Attempt::Initialize, within).await?;
                Ok((inner, agreed))
            }
            Protocol::Auto => {
                let inner = self.open(transport).await?;
                let first = match self.attempt(&inner, Attempt::Initialize, within).await {
                    Ok(agreed) => return Ok((inner, agreed)),
                    Err(error) if is_refusal(&error) => error,
                    Err(error) => return Err(error),
                };
                let inner = self.again(inner, transport).await?;
                match self.attempt(&inner, Attempt::Discover, within).await {
                    Ok(agreed) => Ok((inner, agreed)),
                    Err(_) => Err(first),
                }
            }
            Protocol::Stateless => {
                let inner = self.open(transport).await?;
                let first = match self.attempt(&inner, Attempt::Discover, within / 4).await {
                    Ok(agreed) => return Ok((inner, agreed)),
                    Err(error) if is_final(&error) => return Err(error),
                    Err(error) => error,
                };
                let inner = self.again(inner, transport).await?;
                match self.attempt(&inner, Attempt::Initialize, within).await {
                    Ok(agreed) => Ok((inner, agreed)),
                    Err(second) => {
                        let (first, second) = (Box::new(first), Box::new(second));
                        Err(Error::BothFailed { first, attempt: "with `initialize`", second })
                    }
                }
            }
        }
    }

    async fn attempt(
        &self,
        inner: &Arc<Inner>,
        attempt: Attempt,
        within: Duration,
    ) -> Result<Agreed, Error> {
        let began = Instant::now();
        let (name, agreed) = match attempt {
            Attempt::Initialize => ("initialize", initialize(inner, within).await),
            Attempt::Discover => ("server/discover", discover(inner, within).await),
        };
        // A process that was gone before it could be asked tells why a moment later.
        let agreed = match agreed {
            Err(Error::Unsent) => {
                let over = tokio::time::timeout(GONE, inner.router.closed()).await;
                Err(over.map_or(Error::Unsent, |reason| reason.error()))
            }
            other => other,
        };
        let outcome =
            agreed.as_ref().map(|agreed| format!("{} era, version {}", agreed.era, agreed.version));
        self.tell(name, outcome.map_err(ToString::to_string), began);
        agreed
    }

    /// The link for a second attempt: the same process where it still lives, else a new one.
    async fn again(
        &self,
        inner: Arc<Inner>,
        transport: HttpTransport,
    ) -> Result<Arc<Inner>, Error> {
        if let Link::Stdio(link) = &inner.link {
            // A server that ends itself over an unknown method does so right away.
            let _ = tokio::time::timeout(Duration::from_millis(50), inner.router.closed()).await;
            if inner.router.close_reason().is_none() {
                return Ok(inner);
            }
            link.close();
            link.ended().await;
        }
        drop(inner);
        self.open(transport).await
    }

    /// A link to the server. The stream of the older transport may want a sign-in at once.
    async fn open(&self, transport: HttpTransport) -> Result<Arc<Inner>, Error> {
        let credentials = self.memory.credentials(self.entry, self.host)?;
        let mut person = Person::new(credentials.as_ref(), self.host);
        loop {
            match self.open_as(transport, credentials.clone()).await {
                Ok(inner) => return Ok(inner),
                Err(error) => person.help(error).await?,
            }
        }
    }

    async fn open_as(
        &self,
        transport: HttpTransport,
        credentials: Option<Arc<Credentials>>,
    ) -> Result<Arc<Inner>, Error> {
        let began = Instant::now();
        let (router, events) = Router::new();
        let link = match &self.entry.endpoint {
            Endpoint::Stdio(endpoint) => {
                let around = Surroundings {
                    server: &self.entry.name,
                    host: self.host,
                    guardian: self.guardian,
                    tasks: self.tasks,
                };
                let started = StdioLink::start(endpoint, around, &router);
                let outcome = started.as_ref().map(|link| format!("process {}", link.group_id()));
                self.tell("start", outcome.map_err(ToString::to_string), began);
                Link::Stdio(started?)
            }
            Endpoint::Http(endpoint) => {
                let authorizer = credentials.clone().map(|one| one as Arc<dyn Authorizer>);
                let client = HttpClient::new(endpoint, self.host)?.authorized_by(authorizer);
                match transport {
                    HttpTransport::Streamable => {
                        Link::Http(HttpLink::new(client, Arc::clone(&router), self.tasks.clone()))
                    }
                    HttpTransport::Sse => {
                        let opening = SseLink::open(client, Arc::clone(&router), self.tasks);
                        let within = self.entry.connect_timeout;
                        let opened = tokio::time::timeout(within, opening).await;
                        let opened = opened.unwrap_or_else(|_| {
                            let method = "GET (event stream)".to_owned();
                            let (stderr, noise) = (String::new(), None);
                            Err(Error::ConnectTimeout { method, after: within, stderr, noise })
                        });
                        let outcome = opened.as_ref().map(|_| "stream open".to_owned());
                        self.tell("event stream", outcome.map_err(ToString::to_string), began);
                        Link::Sse(opened?)
                    }
                }
            }
        };
        let inner = self.inner(link, router, credentials);
        attend::start(&inner, events);
        Ok(inner)
    }

    fn inner(
        &self,
        link: Link,
        router: Arc<Router>,
        credentials: Option<Arc<Credentials>>,
    ) -> Arc<Inner> {
        Arc::new(Inner {
            entry: Arc::clone(self.entry),
            host: Arc::clone(self.host),
            link,
            router,
            credentials,
            tasks: self.tasks.clone(),
            agreed: OnceLock::new(),
            standing: OnceLock::new(),
            next_id: AtomicU64::new(1),
            busy: AtomicUsize::new(0),
            cache: cache::Cache::default(),
            began: Instant::now(),
        })
    }

    fn tell(&self, name: &'static str, outcome: Result<String, String>, began: Instant) {
        if let Some(trace) = self.trace {
            let outcome = outcome.map_err(|reason| self.host.redactor.clean(&reason).into_owned());
            trace(Stage { name, outcome, took: began.elapsed() });
        }
    }

    fn warn(&self, text: &str) {
        let (server, text) = (self.entry.name.clone(), text.to_owned());
        self.host.observer.event(Event::Warning { server, text });
    }
}

/// Whether a server of the older transport refuses like this.
fn is_older(error: &Error) -> bool {
    match error {
        Error::Http { status, .. } => matches!(status, 400 | 404 | 405),
        Error::BothFailed { second, .. } => is_older(second),
        _ => false,
    }
}

/// Whether the server refused `initialize` in a way that a modern-only server does.
fn is_refusal(error: &Error) -> bool {
    match error {
        Error::Rpc(_) => true,
        Error::Http { status, .. } => (400..500).contains(status),
        _ => false,
    }
}

/// Whether a failed `server/discover` leaves nothing to try: a recognised modern error, unless it
/// names a version that begins with a handshake; or what a handshake would fail of just as well.
fn is_final(error: &Error) -> bool {
    match error {
        Error::Rpc(error) if error.code == RpcError::UNSUPPORTED_VERSION => {
            let supported = error.supported_versions();
            !supported.iter().any(|version| LEGACY_VERSIONS.contains(&version.as_str()))
        }
        Error::Rpc(error) => error.is_modern(),
        Error::UnknownVersion { version } => {
            !LEGACY_VERSIONS.iter().any(|known| version.contains(known))
        }
        Error::SignIn { .. }
        | Error::OAuth(_)
        | Error::Forbidden { .. }
        | Error::Unreachable { .. }
        | Error::Tls { .. }
        | Error::Redirect { .. } => true,
        _ => false,
    }
}
