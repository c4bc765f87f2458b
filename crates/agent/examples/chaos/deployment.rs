//! A service with its database, upstream, disk and clock, each of which can fail.

use std::fmt;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use agent_test_support::clock::MovableClock;
use agent_test_support::command::{ProgramOutput, TestHome};
use agent_test_support::disk::SmallDisk;
use agent_test_support::port;
use agent_test_support::postgres::{Cluster, Database};
use agent_test_support::wait::eventually;
use serde_json::Value;

use crate::client::{Request, Response};
use crate::process::{Process, wait_for_port};

const SQLITE_DISK_BYTES: u64 = 512 * 1024 * 1024;
const POSTGRES_DISK_BYTES: u64 = 2048 * 1024 * 1024;
/// Two seconds: short enough to wait for it after every round.
const LEASE: &str = "hold_lease_seconds: 2\n";
/// More than a round can spend.
const CREDIT: &str = "100000";
pub(crate) const JOB_PRICE_MICROS: u64 = 7000;
/// Rounds of each deployment after which memory may hardly grow.
const WARM_UP: usize = 2;
/// How far memory may rise above the most of the first rounds, in MiB.
const MAX_MEMORY_GROWTH_MIB: u64 = 24;
const START_RETRY: Duration = Duration::from_millis(200);
const INDEXED: &str = "The sky is blue because short waves are scattered more than long ones.\n";
const PAGE: &str = "<html><head><title>Sky</title></head><body><main><h1>Sky</h1><p>The sky is blue \
    because short waves of light are scattered more than long ones.</p></main></body></html>";

/// Where the ledger is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Sqlite,
    Postgres,
}

impl Store {
    /// SQLite serves one process; PostgreSQL is shared by two.
    fn processes(self) -> usize {
        match self {
            Self::Sqlite => 1,
            Self::Postgres => 2,
        }
    }
}

impl fmt::Display for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        })
    }
}

/// A member of one round.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) key: String,
    /// The team that pays, if there is one.
    pub(crate) team: Option<String>,
}

/// One service process and where it listens.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    pub(crate) process: Process,
    config: PathBuf,
}

pub(crate) struct Deployment {
    store: Store,
    bench: TestHome,
    pub(crate) services: Vec<Service>,
    pub(crate) upstream: Process,
    upstream_address: SocketAddr,
    database: Option<Database>,
    pub(crate) disk: SmallDisk,
    page_url: String,
    /// The clock of the services and of PostgreSQL.
    pub(crate) clock: MovableClock,
    memory_mib: Vec<u64>,
}

impl Deployment {
    pub(crate) fn start(store: Store, program: &Path) -> Self {
        let bench = TestHome::new(program);
        let disk = SmallDisk::mount(match store {
            Store::Sqlite => SQLITE_DISK_BYTES,
            Store::Postgres => POSTGRES_DISK_BYTES,
        });
        let clock = MovableClock::new();
        let database = match store {
            Store::Sqlite => None,
            Store::Postgres => {
                Some(Arc::new(Cluster::start_with_clock(disk.path(), &clock)).database())
            }
        };
        let upstream_address = port::free();
        let page = serve_page();
        let gateway = bench.home().join("gateway");
        fs::create_dir_all(gateway.join("files")).unwrap();
        fs::write(gateway.join("files/sky.md"), INDEXED).unwrap();
        let place = database.as_ref().map_or_else(
            || format!("sqlite:{}/ledger.sqlite3", disk.path().display()),
            Database::url,
        );
        let mut deployment = Self {
            store,
            services: Vec::new(),
            upstream: Process::upstream(upstream_address),
            upstream_address,
            database,
            disk,
            page_url: format!("http://{page}/sky.html"),
            clock,
            memory_mib: Vec::new(),
            bench,
        };
        for number in 0..store.processes() {
            let address = port::free();
            let config = gateway.join(format!("gateway-{number}.yaml"));
            fs::write(&config, configuration(address, upstream_address, page, &place)).unwrap();
            if number == 0 {
                fs::copy(&config, gateway.join("gateway.yaml")).unwrap();
                deployment.gateway(&["migrate"]);
            }
            let process = deployment.spawn_service(&config);
            wait_for_port(address);
            deployment.services.push(Service { address, process, config });
        }
        deployment
    }

    pub(crate) fn store(&self) -> Store {
        self.store
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.services.iter().map(|service| service.address).collect()
    }

    pub(crate) fn page_url(&self) -> &str {
        &self.page_url
    }

    pub(crate) fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.database.as_ref().map(Database::cluster)
    }

    /// Creates a member with credit and a key.
    pub(crate) fn create_member(&self, name: &str) -> Member {
        self.gateway(&["member", "create", name, "--credit", CREDIT]);
        let key = self.gateway(&["key", "create", name, "--name", "chaos", "--quiet"]);
        Member { name: name.to_owned(), key: key.trim().to_owned(), team: None }
    }

    /// Lets a team with credit and budgets pay for the member.
    pub(crate) fn add_to_team(&self, member: &mut Member) {
        let team = format!("team of {}", member.name);
        self.gateway(&["team", "create", &team, "--credit", CREDIT]);
        self.gateway(&["team", "budget", &team, &format!("{CREDIT}/month")]);
        self.gateway(&["member", "budget", &member.name, &format!("{CREDIT}/month")]);
        self.gateway(&["team", "join", &team, &member.name]);
        member.team = Some(team);
    }

    /// Runs `agent gateway …` to its end and returns its output.
    pub(crate) fn gateway(&self, arguments: &[&str]) -> String {
        let run = self.try_gateway(arguments);
        assert_eq!(run.code, 0, "agent gateway {arguments:?}: {run:?}");
        run.stdout
    }

    pub(crate) fn try_gateway(&self, arguments: &[&str]) -> ProgramOutput {
        self.bench.run(["gateway"].iter().chain(arguments))
    }

    pub(crate) fn gateway_json(&self, arguments: &[&str]) -> Value {
        let output = self.gateway(&[arguments, &["--json"]].concat());
        serde_json::from_str(&output).unwrap()
    }

    /// Starts the service again, as a supervisor would: until it listens.
    pub(crate) fn restart_service(&mut self, index: usize) {
        self.services[index].process = self.spawn_service(&self.services[index].config);
    }

    /// Restarts every service that has exited, for example because its database was away.
    pub(crate) fn restart_exited(&mut self) {
        for index in 0..self.services.len() {
            if self.services[index].process.has_exited() {
                self.restart_service(index);
            }
        }
    }

    pub(crate) fn restart_upstream(&mut self) {
        self.upstream = Process::upstream(self.upstream_address);
    }

    /// Waits until every service answers, restarting those that exit meanwhile.
    pub(crate) fn wait_until_ready(&mut self) {
        eventually("every service is ready", || {
            self.restart_exited();
            let is_ready = |service: &Service| {
                let request = Request {
                    method: "GET",
                    path: "/readyz",
                    key: "",
                    idempotency_key: None,
                    body: "",
                };
                matches!(request.send(service.address),
                    Response::Complete(answer) if answer.status == 200)
            };
            let all = self.services.iter().all(is_ready);
            if !all {
                std::thread::sleep(START_RETRY);
            }
            all
        });
    }

    /// The number of the member's open research jobs; `None` if no service answers.
    pub(crate) fn open_jobs(&self, member: &Member) -> Option<u64> {
        let list = Request {
            method: "GET",
            path: "/v1/research/jobs?limit=100",
            key: &member.key,
            idempotency_key: None,
            body: "",
        };
        let jobs = self.services.iter().find_map(|service| match list.send(service.address) {
            Response::Complete(answer) if answer.status == 200 => Some(answer.json()),
            _ => None,
        })?;
        let is_open = |job: &&Value| matches!(job["status"].as_str(), Some("queued" | "running"));
        u64::try_from(jobs["data"].as_array()?.iter().filter(is_open).count()).ok()
    }

    pub(crate) fn record_memory(&mut self) {
        let largest = self.services.iter().map(|service| service.process.memory_mib()).max();
        self.memory_mib.extend(largest);
    }

    pub(crate) fn memory_summary(&self) -> String {
        let first = self.memory_mib.first().copied().unwrap_or_default();
        let last = self.memory_mib.last().copied().unwrap_or_default();
        let most = self.memory_mib.iter().max().copied().unwrap_or_default();
        format!("first {first} MiB, last {last} MiB, most {most} MiB")
    }

    pub(crate) fn memory_violation(&self) -> Option<String> {
        let (warm, later) = self.memory_mib.split_at_checked(WARM_UP)?;
        let (warm, most) = (warm.iter().max()?, later.iter().max()?);
        let has_grown = *most > warm + MAX_MEMORY_GROWTH_MIB;
        has_grown.then(|| format!("{} memory grew from {warm} to {most} MiB", self.store))
    }

    fn spawn_service(&self, config: &Path) -> Process {
        let mut command = self.bench.command(["gateway", "--config"]);
        command.arg(config).arg("serve").stderr(Stdio::null());
        command.envs(self.clock.variables());
        Process::spawn(&mut command)
    }
}

fn configuration(
    listen: SocketAddr,
    upstream: SocketAddr,
    page: SocketAddr,
    database: &str,
) -> String {
    format!(
        "listen: {listen}\ndatabase: \"{database}\"\n{LEASE}providers:\n  \
         test: {{kind: openai, base_url: \"http://{upstream}/v1\", api_key: any, \
         models: [echo, drip-12-8, chunks-3, slow-60]}}\n  \
         made: {{kind: openai, base_url: \"http://{upstream}/v1\", api_key: any, health: false, \
         models: {{paint: {{capabilities: [image], price_micros: 1000}}}}}}\n  \
         docs: {{kind: index, folder: files, base_url: \"https://docs.example\"}}\n\
         fetch: {{allow_private: [\"{page}\"], robots: false}}\n\
         research: {{workers: 2, lease_seconds: 4, attempts: 100, \
         quick: {{queries: 1, pages: 1, price_micros: {JOB_PRICE_MICROS}}}}}\n\
         log: {{requests: false}}\n"
    )
}

/// A page for the service to read, served by this process.
fn serve_page() -> SocketAddr {
    use std::io::{Read, Write};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncache-control: no-store\r\n\
                 content-length: {}\r\nconnection: close\r\n\r\n{PAGE}",
                PAGE.len()
            );
            let _ = stream.write_all(head.as_bytes());
        }
    });
    address
}
