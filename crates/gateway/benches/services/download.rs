//! Downloads of a large file that was made, against nginx with `sendfile` on the same file.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use agent_test_support::nginx::Nginx;
use agent_test_support::upstream::{Step, Upstream};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::Effort;
use crate::client::Client;
use crate::message::{head_end, length, status};
use crate::process::Processes;
use crate::service::{Home, Service};
use crate::table::{Better, Goal, Spread, row as print};

/// As large as a file may be unless the operator says otherwise.
const FILE_BYTES: usize = 64 * 1024 * 1024;
const CONNECTIONS: usize = 4;
/// How much a client takes at once.
const READ_BYTES: usize = 256 * 1024;
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
const SERVE_FILES: &str = "sendfile on; tcp_nopush on;";

/// Someone who has the file.
struct Contender {
    address: SocketAddr,
    processes: Processes,
    request: Vec<u8>,
}

/// What one round of one contender gave.
#[derive(Debug, Clone, Copy)]
struct Round {
    gib_per_second: f64,
    cpu_ms_per_gib: f64,
}

pub(crate) async fn rows(effort: &Effort) {
    let name = format!(
        "artifact download, {} MiB over {CONNECTIONS} connections, throughput",
        FILE_BYTES / 1024 / 1024
    );
    if !effort.is_wanted(&name) {
        return;
    }
    let upstream = Upstream::start();
    upstream.want_no_key();
    let mut home = Home::sqlite(&providers(&upstream)).await;
    home.people(1).await;
    let service = Service::start(&home);
    let made = make(&upstream, &Client::new(&service, &home));
    let digest = Sha256::digest(sound()).to_vec();
    let file = only_file(&home.folder.path().join("artifacts"));
    let nginx = Nginx::start(SERVE_FILES, &serving(&file));
    let path = format!("/v1/media/artifacts/{}", made["id"].as_str().expect("an id"));
    let ours = Contender {
        address: service.address,
        processes: service.processes.clone(),
        request: request(service.address, &path, &home.keys[0]),
    };
    let theirs = Contender {
        address: nginx.address,
        processes: Processes(nginx.processes()),
        request: request(nginx.address, "/file", "none"),
    };
    for contender in [&ours, &theirs] {
        assert_eq!(contender.digest(), digest, "the same bytes");
        contender.round(effort.round / 4);
    }
    let mut rounds = Vec::new();
    for _ in 0..effort.rounds {
        rounds.push([ours.round(effort.round), theirs.round(effort.round)]);
    }
    let goal = Goal { bar: 0.7, aim: None, unit: "×", better: Better::Higher };
    show(&name, "GiB/s", &rounds, |round| round.gib_per_second, Some(goal));
    show("the same, CPU", "ms/GiB", &rounds, |round| round.cpu_ms_per_gib, None);
}

fn show(
    name: &str,
    unit: &str,
    rounds: &[[Round; 2]],
    figure: fn(&Round) -> f64,
    goal: Option<Goal>,
) {
    let [ours, theirs] =
        [0, 1].map(|at| Spread::new(rounds.iter().map(|round| figure(&round[at]))).median());
    let ratio = Spread::new(rounds.iter().map(|[ours, theirs]| figure(ours) / figure(theirs)));
    print(name, &format!("{ours:.2} {unit}"), &format!("nginx {theirs:.2} {unit}"), &ratio, goal);
}

fn providers(upstream: &Upstream) -> String {
    format!(
        "providers:\n  up:\n    kind: openai\n    base_url: {}\n    \
         models: {{speak: {{capabilities: [speech]}}}}\n    health: false\n",
        upstream.base_url()
    )
}

/// Has the file made: speech, which is what a model may say as long as it likes.
fn make(upstream: &Upstream, client: &Client) -> Value {
    let body = sound();
    upstream.script("speak", vec![Step::Raw { status: 200, media_type: "audio/wav".into(), body }]);
    let asked = json!({"model": "up/speak", "input": {"text": "x", "response_format": "wav"}});
    let made = client.post("/v1/media/run", &asked).good()["artifacts"][0].take();
    assert_eq!(made["bytes"], FILE_BYTES, "{made}");
    made
}

/// A WAV file of noise.
fn sound() -> Vec<u8> {
    let samples = u32::try_from(FILE_BYTES - 44).expect("a length");
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((samples + 36).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0\x22\x56\0\0\x44\xac\0\0\x02\0\x10\0data");
    bytes.extend(samples.to_le_bytes());
    let begun = bytes.len();
    bytes.resize(FILE_BYTES, 0);
    fastrand::Rng::with_seed(3).fill(&mut bytes[begun..]);
    bytes
}

/// The one file below a folder.
fn only_file(folder: &Path) -> PathBuf {
    let entry = fs::read_dir(folder).expect("a folder").flatten().next().expect("a file");
    if entry.path().is_dir() { only_file(&entry.path()) } else { entry.path() }
}

fn serving(file: &Path) -> String {
    format!("location = /file {{ alias {}; }}", file.display())
}

fn request(address: SocketAddr, path: &str, key: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n\
         user-agent: bench\r\n\r\n"
    )
    .into_bytes()
}

impl Contender {
    /// Downloads over all connections, again and again, until the time is over.
    fn round(&self, round: Duration) -> Round {
        let before = self.processes.cpu();
        let begun = Instant::now();
        let files: u32 = thread::scope(|scope| {
            let client = || {
                let mut stream = TcpStream::connect(self.address).expect("a connection");
                let mut files = 0;
                while begun.elapsed() < round {
                    self.download(&mut stream, |_| ()).expect("a file");
                    files += 1;
                }
                files
            };
            let clients: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(client)).collect();
            clients.into_iter().map(|client| client.join().expect("a client")).sum()
        });
        let took = begun.elapsed().as_secs_f64();
        let cpu = self.processes.cpu().saturating_sub(before).as_secs_f64();
        let bytes = u32::try_from(FILE_BYTES).expect("a length");
        let gib = f64::from(files) * f64::from(bytes) / GIB;
        Round { gib_per_second: gib / took, cpu_ms_per_gib: cpu * 1e3 / gib }
    }

    /// The digest of what is downloaded.
    fn digest(&self) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        let mut sum = Sha256::new();
        self.download(&mut stream, |piece| sum.update(piece)).expect("a file");
        sum.finalize().to_vec()
    }

    fn download(&self, stream: &mut TcpStream, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        stream.write_all(&self.request)?;
        let mut piece = vec![0; READ_BYTES];
        let mut begun = 0;
        let head = loop {
            let count = stream.read(&mut piece[begun..])?;
            begun += count;
            match head_end(&piece[..begun]) {
                Some(head) => break head,
                None if count == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                None => {}
            }
        };
        let told = (status(&piece), length(&piece[..head]));
        assert_eq!(told, (200, Some(FILE_BYTES)), "another answer than was expected");
        each(&piece[head..begun]);
        let mut left = FILE_BYTES - (begun - head);
        while left > 0 {
            match stream.read(&mut piece)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => {
                    each(&piece[..count]);
                    left -= count;
                }
            }
        }
        Ok(())
    }
}
