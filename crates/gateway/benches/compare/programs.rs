//! The programs that are compared, each before the same upstream.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use agent_test_support::nginx::Nginx;
use agent_test_support::port;
use tokio::net::TcpStream;

use crate::load::Target;
use crate::process::Processes;
use crate::service::{Home, Service};
use crate::upstream::Behaviour;
use crate::{chat, home};

/// The number of members, each with a key.
const MEMBERS: usize = 16;
/// Python programs take long to start.
const MAX_START: Duration = Duration::from_mins(2);
const MASTER_KEY: &str = "sk-bench-0123456789";

pub(crate) struct Program {
    pub(crate) title: &'static str,
    pub(crate) processes: Processes,
    pub(crate) authenticates: bool,
    /// Whether each request is charged in a database before its answer is complete.
    pub(crate) charges: bool,
    address: SocketAddr,
    kind: Kind,
}

enum Kind {
    Agent { home: Box<Home>, _service: Service },
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
        let with =
            |prefix: &str, keys: &[String]| chat::target(self.address, behaviour, prefix, keys);
        match &self.kind {
            Kind::Agent { home, .. } => with(&format!("{}/", home::PROVIDER), &home.keys),
            Kind::Nginx { .. } => with("", &["none".to_owned()]),
            Kind::LiteLlm { .. } => with("", &[MASTER_KEY.to_owned()]),
            // It takes the upstream from headers of the request.
            Kind::Portkey { upstream, .. } => {
                let headers = format!(
                    "none\r\nx-portkey-provider: openai\r\nx-portkey-custom-host: http://{upstream}/v1"
                );
                with("", &[headers])
            }
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
        authenticates: true,
        charges: true,
        address: service.address,
        kind: Kind::Agent { home: Box::new(home), _service: service },
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
        authenticates: false,
        charges: false,
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
        authenticates: true,
        charges: false,
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
        authenticates: false,
        charges: false,
        address,
        kind: Kind::Portkey { _running: running, upstream },
    }
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
