//! A web site for a test, a trap for connections that must not be made, and a scripted resolver.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use gateway::Service;
use gateway::{Resolve, Resolving};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Answer, Holder, PRICE, Running};

/// The address of test sites: it represents the public internet, and is allowed by port.
pub(crate) const PUBLIC: &str = "127.0.0.2";
/// The name of the site.
pub(crate) const HOST: &str = "pages.test";

/// A request as the site got it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Path and query.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: HashMap<String, String>,
}

/// A web site.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Site {
    /// A site that writes what it likes to each connection.
    pub(crate) fn start(
        answer: impl Fn(&Asked, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((PUBLIC, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (seen, answer) = (asked.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(mut stream), seen, answer) = (stream, seen.clone(), answer.clone()) else {
                    return;
                };
                std::thread::spawn(move || {
                    let Some(asked) = read(&stream) else { return };
                    seen.lock().unwrap().push(asked.clone());
                    // The client may have disconnected.
                    let _ = answer(&asked, &mut stream);
                });
            }
        });
        Self { address, asked }
    }

    /// A site of pages by their paths; it has no robots.txt.
    pub(crate) fn of(pages: &[(&str, &str, &str)]) -> Self {
        let pages: HashMap<String, (String, String)> = pages
            .iter()
            .map(|(path, kind, body)| ((*path).to_owned(), ((*kind).into(), (*body).into())))
            .collect();
        Self::start(move |asked, stream| match pages.get(&asked.path) {
            Some((kind, body)) => stream.write_all(&ok(kind, body.as_bytes())),
            None => stream.write_all(&plain(404, "not here")),
        })
    }

    /// The address of a path of it.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{HOST}:{}{path}", self.address.port())
    }

    /// The paths that were asked for, without robots.txt.
    pub(crate) fn paths(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let paths = asked.iter().map(|asked| asked.path.clone());
        paths.filter(|path| path != "/robots.txt").collect()
    }

    /// All that was asked for.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    let mut headers = HashMap::new();
    for line in lines {
        let line = line.ok()?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    Some(Asked { path, headers })
}

/// A good answer.
pub(crate) fn ok(kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// An answer of this status.
pub(crate) fn plain(status: u16, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} Said\r\ncontent-type: text/plain");
    format!("{head}\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
}

/// A redirect.
pub(crate) fn elsewhere(location: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n").into_bytes()
}

/// Listens on every address of the machine, and counts who comes.
pub(crate) struct Trap {
    pub(crate) port: u16,
    caught: Arc<AtomicUsize>,
}

impl Trap {
    /// A trap at one port of every address.
    pub(crate) fn set() -> Self {
        let six = TcpListener::bind("[::1]:0").unwrap();
        let port = six.local_addr().unwrap().port();
        Self::of(port, vec![six, TcpListener::bind(("0.0.0.0", port)).unwrap()])
    }

    /// A trap at one address.
    pub(crate) fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        Self::of(listener.local_addr().unwrap().port(), vec![listener])
    }

    fn of(port: u16, listeners: Vec<TcpListener>) -> Self {
        let caught: Arc<AtomicUsize> = Arc::default();
        for listener in listeners {
            let caught = caught.clone();
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    caught.fetch_add(1, Ordering::SeqCst);
                    let body = ok("text/html", b"<p>You have reached what is private.</p>");
                    let Ok(mut stream) = stream else { return };
                    let _ = read(&stream);
                    let _ = stream.write_all(&body);
                }
            });
        }
        Self { port, caught }
    }

    /// How many came.
    pub(crate) fn caught(&self) -> usize {
        self.caught.load(Ordering::SeqCst)
    }
}

/// Scripted: for each name its answers in turn, then the last one repeatedly.
#[derive(Debug, Default)]
pub(crate) struct Names {
    answers: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
    asked: AtomicUsize,
}

impl Names {
    pub(crate) fn new(answers: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let names = Self::default();
        for (name, turns) in answers {
            let turns =
                turns.iter().map(|turn| turn.iter().map(|text| text.parse().unwrap()).collect());
            names.answers.lock().unwrap().insert((*name).to_owned(), turns.collect());
        }
        Arc::new(names)
    }

    /// How often it was asked.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let found = answers
            .get_mut(host)
            .map(|turns| if turns.len() > 1 { turns.pop_front() } else { turns.front().cloned() });
        let found = found.flatten();
        Box::pin(
            async move { found.ok_or_else(|| std::io::Error::other("Name or service not known")) },
        )
    }
}

/// A service that reads pages, and a member who pays for them.
pub(crate) struct Setup {
    pub(crate) service: Running,
    pub(crate) ada: Holder,
}

impl Setup {
    /// A service that may read from `pages.test` at the port of a site.
    pub(crate) fn new(site: &Site, fetch: &str) -> Self {
        let names = Names::new(&[(HOST, &[&[PUBLIC]])]);
        let allowed = format!("[\"{HOST}:{}\"]", site.address.port());
        Self::with(&allowed, fetch, names)
    }

    /// A service with this list of what is allowed, and this resolver.
    pub(crate) fn with(allowed: &str, fetch: &str, names: Arc<Names>) -> Self {
        let text = format!(
            "listen: 127.0.0.1:0\n\
             database: {{url: \"sqlite:gateway.sqlite3\", durability: process}}\n\
             prices: {{default_micros: {{fetch: {PRICE}}}}}\n\
             fetch:\n  allow_private: {allowed}\n{fetch}"
        );
        let folder: Arc<TempDir> = Arc::new(tempfile::tempdir().unwrap());
        Self::start(folder, &text, names)
    }

    /// The same with the whole of its configuration.
    pub(crate) fn start(folder: Arc<TempDir>, text: &str, names: Arc<Names>) -> Self {
        let told = move |service: &Service| service.resolve_pages_with(names);
        let service = Running::start_after(folder, text, told);
        let ada = service.holder("ada", 1000 * PRICE);
        Self { service, ada }
    }

    /// Reads a page.
    pub(crate) fn fetch(&self, url: &str) -> Answer {
        self.ask(&json!({ "url": url }))
    }

    /// Asks as it is said.
    pub(crate) fn ask(&self, body: &Value) -> Answer {
        self.service.post("/v1/web/fetch", self.ada.key.as_str(), body)
    }

    /// The status, code and message of a reading that failed; it must have cost nothing.
    #[track_caller]
    pub(crate) fn failed(&self, url: &str) -> (u16, String, String) {
        let answer = self.fetch(url);
        let (status, code) = answer.failure();
        let charged = answer.header("x-charge-micros");
        assert!(matches!(charged, "" | "0"), "{charged}");
        let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        (status, code, message)
    }

    /// What was paid so far, once nothing is held; the books must add up.
    pub(crate) fn paid(&self) -> i64 {
        crate::fixture::paid(&self.service, &self.ada)
    }
}
