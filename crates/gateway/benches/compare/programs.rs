//! The programs that are compared, each before the same upstream.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use agent_test_support::nginx::Nginx;
use agent_test_support::port;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::load::Target;
use crate::process::Processes;
use crate::service::{self, Home, Service};
use crate::upstream::Behaviour;
use crate::{chat, home};

/// The number of members, each with a key.
const MEMBERS: usize = 16;
/// Python programs take long to start.
const MAX_START: Duration = Duration::from_mins(2);
const MASTER_KEY: &str = "sk-bench-0123456789";
const WRONG_KEY: &str = "none";
/// Requests to look for in the records.
const PROBES: usize = 100;

pub(crate) struct Program {
    pub(crate) title: &'static str,
    pub(crate) processes: Processes,
    address: SocketAddr,
    kind: Kind,
}

/// What a program was seen to do, beside answering.
pub(crate) struct Guarantees {
    /// It rejects a wrong key.
    pub(crate) authenticates: bool,
    /// Its records have each answered request.
    pub(crate) charges: bool,
    /// They still have each one after the process was killed at its last answer.
    pub(crate) is_durable: bool,
}

enum Kind {
    Agent { home: Box<Home>, service: Service },
    Nginx { _nginx: Nginx },
    LiteLlm { _running: Running, _config: tempfile::TempDir },
    Portkey { _running: Running, upstream: SocketAddr },
}

/// A process that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    pub(crate) fn target(&self, behaviour: Behaviour) -> Target {
        match &self.kind {
            Kind::Agent { home, .. } => self.target_with(behaviour, &home.keys),
            Kind::LiteLlm { .. } => self.target_with(behaviour, &[MASTER_KEY.to_owned()]),
            Kind::Nginx { .. } | Kind::Portkey { .. } => {
                self.target_with(behaviour, &[WRONG_KEY.to_owned()])
            }
        }
    }

    fn target_with(&self, behaviour: Behaviour, keys: &[String]) -> Target {
        let with = |prefix: &str, keys| chat::target(self.address, behaviour, prefix, keys);
        match &self.kind {
            Kind::Agent { .. } => with(&format!("{}/", home::PROVIDER), keys),
            // It takes the upstream from headers of the request.
            Kind::Portkey { upstream, .. } => {
                let add = |key: &String| {
                    format!(
                        "{key}\r\nx-portkey-provider: openai\r\n\
                         x-portkey-custom-host: http://{upstream}/v1"
                    )
                };
                with("", &keys.iter().map(add).collect::<Vec<_>>())
            }
            Kind::Nginx { .. } | Kind::LiteLlm { .. } => with("", keys),
        }
    }

    /// Tries what it guarantees, and kills it.
    pub(crate) async fn guarantees(self) -> Guarantees {
        let wrong = self.target_with(Behaviour::Small, &[WRONG_KEY.to_owned()]);
        let answer = wrong.connect().await.try_ask(&wrong, 0).await;
        let authenticates = matches!(answer, Err((401 | 403, _)));
        let before = self.charged().await;
        let target = self.target(Behaviour::Small);
        let mut connection = target.connect().await;
        for number in 0..PROBES {
            connection.try_ask(&target, number).await.expect("an answer");
        }
        let expected = before.map(|charged| charged + PROBES as u64);
        let charges = expected.is_some() && self.charged().await == expected;
        let after = match self.kind {
            Kind::Agent { home, mut service } => {
                service.kill();
                Some(charged(&home))
            }
            // Their records were gone already, so there is nothing to find after a restart.
            Kind::Nginx { .. } | Kind::LiteLlm { .. } | Kind::Portkey { .. } => None,
        };
        Guarantees { authenticates, charges, is_durable: charges && after == expected }
    }

    /// How many requests its records have; nothing if it keeps none.
    async fn charged(&self) -> Option<u64> {
        match &self.kind {
            Kind::Agent { home, .. } => Some(charged(home)),
            Kind::LiteLlm { .. } => {
                let request = format!(
                    "GET /spend/logs HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {MASTER_KEY}\r\n\r\n",
                    self.address
                );
                let target = Target::new(self.address, vec![request.into_bytes()], |_| true);
                let (status, body) = target.connect().await.try_ask(&target, 0).await.err()?;
                println!("LiteLLM has no records: status {status}: {body}");
                None
            }
            Kind::Nginx { .. } | Kind::Portkey { .. } => None,
        }
    }
}

/// Starts all of them.
pub(crate) async fn start(upstream: SocketAddr) -> Vec<Program> {
    let mut all = vec![agent(upstream).await, nginx(upstream)];
    all.push(litellm(upstream).await);
    all.push(portkey(upstream).await);
    all
}

async fn agent(upstream: SocketAddr) -> Program {
    let mut home = home::sqlite(upstream).await;
    home.people(MEMBERS).await;
    let service = Service::start(&home);
    Program {
        title: "agent",
        processes: service.processes.clone(),
        address: service.address,
        kind: Kind::Agent { home: Box::new(home), service },
    }
}

fn nginx(upstream: SocketAddr) -> Program {
    let upstreams = format!("upstream models {{ server {upstream}; keepalive 64; }}");
    let pass = "location / { proxy_pass http://models; proxy_http_version 1.1; \
                proxy_set_header Connection \"\"; }";
    let nginx = Nginx::start(&upstreams, pass);
    Program {
        title: "nginx, passing on",
        processes: Processes(nginx.processes()),
        address: nginx.address,
        kind: Kind::Nginx { _nginx: nginx },
    }
}

async fn litellm(upstream: SocketAddr) -> Program {
    let folder = tempfile::tempdir().expect("a folder");
    let model = |behaviour: Behaviour| {
        let name = behaviour.model();
        format!(
            "  - model_name: {name}\n    litellm_params: {{model: openai/{name}, \
             api_base: \"http://{upstream}/v1\", api_key: none}}\n"
        )
    };
    let models: String = [Behaviour::Small, Behaviour::Stream].map(model).concat();
    let config = format!(
        "model_list:\n{models}general_settings: {{master_key: {MASTER_KEY}}}\n\
         litellm_settings: {{telemetry: false}}\n"
    );
    let path = folder.path().join("config.yaml");
    std::fs::write(&path, config).expect("a file");
    let address = port::free();
    let mut command = Command::new(peers().join("litellm/bin/litellm"));
    command.arg("--config").arg(&path).args(["--host", "127.0.0.1", "--num_workers", "1"]);
    command.args(["--port", &address.port().to_string()]).env("LITELLM_LOG", "ERROR");
    let running = started(&mut command, address).await;
    Program {
        title: "LiteLLM",
        processes: Processes(vec![running.0.id()]),
        address,
        kind: Kind::LiteLlm { _running: running, _config: folder },
    }
}

async fn portkey(upstream: SocketAddr) -> Program {
    let address = port::free();
    let script = peers().join("portkey/node_modules/@portkey-ai/gateway/build/start-server.js");
    let mut command = Command::new("node");
    command.arg(script).arg(format!("--port={}", address.port())).arg("--headless");
    let running = started(&mut command, address).await;
    Program {
        title: "Portkey",
        processes: Processes(vec![running.0.id()]),
        address,
        kind: Kind::Portkey { _running: running, upstream },
    }
}

/// The requests that the database of a service has charged.
fn charged(home: &Home) -> u64 {
    let output = service::command(home.folder.path()).args(["usage", "--json"]).output();
    let usage: Value = serde_json::from_slice(&output.expect("the program runs").stdout)
        .expect("the usage of all members");
    usage["total"]["requests"].as_u64().expect("a number of requests")
}

/// Where `cargo xtask bench` installs them.
fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers")
}

/// Starts a program and waits until it listens.
async fn started(command: &mut Command, address: SocketAddr) -> Running {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running(command.spawn().expect("the program starts"));
    let listening = async {
        while TcpStream::connect(address).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(MAX_START, listening).await.expect("the program listens");
    running
}
