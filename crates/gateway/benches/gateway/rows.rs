//! The rows of the table, each with its contenders.

use std::net::SocketAddr;
use std::time::Duration;

use agent_test_support::nginx::Nginx;
use agent_test_support::postgres::{Cluster, Database};

use crate::Effort;
use crate::load::{self, Target, percentile};
use crate::memory::{Memory, memory};
use crate::process::Processes;
use crate::service::{Home, Service};
use crate::table::{Better, Goal, Spread, row};
use crate::turns::{Contender, Round, Turns, median, ratios};
use crate::upstream::{self, Behaviour, CHUNKS};
use crate::{chat, home, idle, many, pages};

/// The number of members, each with a separate key.
const MEMBERS: usize = 64;
/// How many connections ask when the cost of a request is measured.
const CONNECTIONS: usize = 32;
/// How many connections ask when there is little to commit at once.
const FEW_CONNECTIONS: usize = 2;
/// How many connections ask when as much as possible is asked.
const MANY_CONNECTIONS: usize = 256;
/// How many connections wait their turn to ask at a fixed rate.
const PACED_CONNECTIONS: usize = 256;
const PER_SECOND: u32 = 500;
/// How long a process rests before it is weighed.
const REST: Duration = Duration::from_millis(1500);
/// What nginx does with a request.
const PASS_ON: &str = "location / {
            proxy_pass http://models;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_read_timeout 3600;
        }";

/// What all rows are measured with.
pub(crate) struct Rows {
    effort: Effort,
    /// Only rows whose name holds one of these words; all if there is none.
    only: Vec<String>,
    upstream: SocketAddr,
    nginx: Nginx,
    sqlite: Home,
    postgres: Home,
    database: Database,
}

impl Rows {
    pub(crate) async fn start(effort: Effort, only: Vec<String>) -> Self {
        let upstream = upstream::start().await;
        let nginx = Nginx::start(&models(upstream), PASS_ON);
        let mut sqlite = home::sqlite(upstream).await;
        sqlite.people(MEMBERS).await;
        let database = Cluster::shared().database();
        let mut postgres = home::postgres(upstream, &database.url()).await;
        postgres.people(MEMBERS).await;
        Self { effort, only, upstream, nginx, sqlite, postgres, database }
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| name.contains(word))
    }

    fn nginx(&self, behaviour: Behaviour) -> Contender {
        let key = ["none".to_owned()];
        Contender {
            name: "nginx",
            processes: Processes(self.nginx.processes()),
            target: chat::target(self.nginx.address, behaviour, "", &key),
        }
    }

    /// The processor's time for a request, whole and streamed.
    pub(crate) async fn processor_time(&self) {
        let streamed = Some(times(3.0, 2.0));
        let works = [
            (
                "CPU of a chat request".to_owned(),
                Behaviour::Small,
                [Some(times(4.0, 3.0)), Some(times(8.0, 5.0))],
            ),
            (
                format!("CPU of a stream of {CHUNKS} pieces, one by one"),
                Behaviour::Paced,
                [streamed, None],
            ),
            (
                format!("CPU of a stream of {CHUNKS} pieces, as fast as they are taken"),
                Behaviour::Stream,
                [streamed, None],
            ),
        ];
        for (name, behaviour, goals) in works {
            let name = format!("{name}, {CONNECTIONS} connections");
            if !self.is_wanted(&name) {
                continue;
            }
            let (sqlite, postgres) = (Service::start(&self.sqlite), Service::start(&self.postgres));
            let all = [
                self.nginx(behaviour),
                contender("SQLite", &sqlite, behaviour, &self.sqlite),
                contender("PostgreSQL", &postgres, behaviour, &self.postgres),
            ];
            let measured = self.measure(&all, CONNECTIONS).await;
            for (at, goal) in [1, 2].into_iter().zip(goals) {
                let (ours, theirs) = (&measured[at], &measured[0]);
                let ratio = ratios(ours, theirs, |round| round.cpu_us);
                let [ours, theirs] =
                    [ours, theirs].map(|rounds| median(rounds, |round| round.cpu_us));
                let name = format!("{name}, {}", all[at].name);
                row(
                    &name,
                    &format!("{ours:.1} µs"),
                    &format!("nginx {theirs:.1} µs"),
                    &ratio,
                    goal,
                );
            }
        }
    }

    /// What the PostgreSQL server computes for a chat: with many requests in a transaction, and few.
    pub(crate) async fn database_server(&self) {
        for connections in [CONNECTIONS, FEW_CONNECTIONS] {
            let name =
                format!("CPU of the PostgreSQL server for a chat, {connections} connections");
            if !self.is_wanted(&name) {
                continue;
            }
            let service = Service::start(&self.postgres);
            let ours = contender("service", &service, Behaviour::Small, &self.postgres);
            let server = Processes(vec![self.database.cluster().process_id()]);
            let server = Contender { name: "PostgreSQL", processes: server, ..ours.clone() };
            let measured = self.measure(&[server, ours], connections).await;
            let ratio = ratios(&measured[0], &measured[1], |round| round.cpu_us);
            let [server, ours] = [0, 1].map(|at| median(&measured[at], |round| round.cpu_us));
            row(&name, &format!("{server:.1} µs"), &format!("service {ours:.1} µs"), &ratio, None);
        }
    }

    /// The processor's time for messages against chats, and for embeddings against nginx.
    pub(crate) async fn other_interfaces(&self) {
        let service = Service::start(&self.sqlite);
        let ours = |name, target| Contender { name, processes: service.processes.clone(), target };
        let (address, keys) = (service.address, &self.sqlite.keys);
        let (openai, claude) = (format!("{}/", home::PROVIDER), format!("{}/", home::ANTHROPIC));
        let chat = |behaviour| contender("chat", &service, behaviour, &self.sqlite);
        let message =
            |behaviour, prefix| ours("message", chat::message(address, behaviour, prefix, keys));
        let works = [
            (
                "CPU of a message of an Anthropic upstream",
                [message(Behaviour::Message, &claude), chat(Behaviour::Small)],
                1.2,
            ),
            (
                "CPU of a translated message stream",
                [message(Behaviour::Paced, &openai), chat(Behaviour::Paced)],
                2.0,
            ),
            (
                "CPU of the embeddings of 100 strings",
                [
                    ours("embeddings", chat::embeddings(address, &openai, keys)),
                    Contender {
                        name: "nginx",
                        processes: Processes(self.nginx.processes()),
                        target: chat::embeddings(self.nginx.address, "", &["none".to_owned()]),
                    },
                ],
                5.0,
            ),
        ];
        for (name, both, bar) in works {
            if !self.is_wanted(name) {
                continue;
            }
            let measured = self.measure(&both, CONNECTIONS).await;
            let ratio = ratios(&measured[0], &measured[1], |round| round.cpu_us);
            let [ours, theirs] = [0, 1].map(|at| median(&measured[at], |round| round.cpu_us));
            let against = format!("{} {theirs:.1} µs", both[1].name);
            row(name, &format!("{ours:.1} µs"), &against, &ratio, Some(Goal::times(bar)));
        }
    }

    /// As much as can be asked.
    pub(crate) async fn saturation(&self) {
        let name = format!("requests/s at saturation, {MANY_CONNECTIONS} connections");
        if !self.is_wanted(&name) {
            return;
        }
        let (sqlite, postgres) = (Service::start(&self.sqlite), Service::start(&self.postgres));
        let all = [
            self.nginx(Behaviour::Small),
            contender("SQLite", &sqlite, Behaviour::Small, &self.sqlite),
            contender("PostgreSQL", &postgres, Behaviour::Small, &self.postgres),
        ];
        let measured = self.measure(&all, MANY_CONNECTIONS).await;
        let goal = Goal { bar: 0.5, aim: None, unit: "×", better: Better::Higher };
        for (at, goal) in [(1, Some(goal)), (2, None)] {
            let (ours, theirs) = (&measured[at], &measured[0]);
            let ratio = ratios(ours, theirs, |round| round.per_second);
            let [ours, theirs] =
                [ours, theirs].map(|rounds| median(rounds, |round| round.per_second));
            let name = format!("{name}, {}", all[at].name);
            row(&name, &format!("{ours:.0}"), &format!("nginx {theirs:.0}"), &ratio, goal);
        }
    }

    /// What is added to the time of an answer that takes a while anyway.
    pub(crate) async fn pace(&self) {
        let name = format!("p99 added at {PER_SECOND} requests/s, 50 ms upstream");
        if !self.is_wanted(&name) {
            return;
        }
        let behaviour = Behaviour::Slow;
        let direct = chat::target(self.upstream, behaviour, "", &["none".to_owned()]);
        let sqlite = Service::start(&self.sqlite);
        let postgres = Service::start(&self.postgres);
        let all = [
            ("SQLite", home::target(&sqlite, behaviour, &self.sqlite)),
            ("PostgreSQL", home::target(&postgres, behaviour, &self.postgres)),
            ("nginx", self.nginx(behaviour).target),
        ];
        let mut added: [[Vec<f64>; 2]; 3] = Default::default();
        let mut last = Vec::new();
        for _ in 0..self.effort.rounds {
            let base = self.paced(&direct).await;
            for ((_, target), [p50, p99]) in all.iter().zip(&mut added) {
                let times = self.paced(target).await;
                p50.push(percentile(&times, 50) - percentile(&base, 50));
                p99.push(percentile(&times, 99) - percentile(&base, 99));
                last = base.clone();
            }
        }
        let goal = Goal { bar: 5.0, aim: Some(1.0), unit: "ms", better: Better::Lower };
        for ((who, _), [p50, p99]) in all.iter().zip(added) {
            let goal = (*who == "SQLite").then_some(goal);
            let p50 = Spread::new(p50);
            let against = format!("direct p99 {:.1} ms", percentile(&last, 99));
            let ours = format!("p50 added {:.2} ms", p50.median());
            row(&format!("{name}, {who}"), &ours, &against, &Spread::new(p99), goal);
        }
    }

    async fn paced(&self, target: &Target) -> Vec<Duration> {
        load::open_loop(target, PER_SECOND, self.effort.paced, PACED_CONNECTIONS).await
    }

    /// What the program weighs when nobody asks, and what one more open stream adds.
    pub(crate) async fn memory(&self) {
        let count = self.effort.streams;
        let names = ["memory, idle".to_owned(), format!("memory of an idle stream, of {count}")];
        if !names.iter().any(|name| self.is_wanted(name)) {
            return;
        }
        let service = Service::start(&self.sqlite);
        let nginx = self.nginx(Behaviour::Idle);
        let ours = contender("SQLite", &service, Behaviour::Idle, &self.sqlite);
        tokio::time::sleep(REST).await;
        let before = [&ours, &nginx].map(|who| memory(&who.processes));
        let goal = Goal { bar: 40.0, aim: Some(25.0), unit: "MiB", better: Better::Lower };
        // Pages of the program are shared with the parser worker, which runs it too.
        let [mib, theirs] = before.map(|memory| kib(memory.pss) / 1024.0);
        let own = format!("PSS {mib:.1} MiB, RSS {:.1} MiB", kib(before[0].rss) / 1024.0);
        row(&names[0], &own, &format!("nginx {theirs:.1} MiB"), &Spread::new([mib]), Some(goal));
        let mut each = Vec::new();
        let small = contender("SQLite", &service, Behaviour::Small, &self.sqlite);
        for (who, small) in [(&ours, &small), (&nginx, &self.nginx(Behaviour::Small))] {
            // The first streams load code and fill caches, which the idle program does not have yet.
            let first = idle::streams(&who.target, count / 10).await;
            let before = settled(who, small).await;
            let open = idle::streams(&who.target, count).await;
            let after = settled(who, small).await;
            let streams = f64::from(u32::try_from(open.len()).expect("a number"));
            each.push(kib(after.rss.saturating_sub(before.rss)) / streams);
            drop(first);
        }
        let goal = Goal { bar: 32.0, aim: Some(16.0), unit: "KiB", better: Better::Lower };
        let (own, theirs) = (format!("{:.1} KiB", each[0]), format!("nginx {:.1} KiB", each[1]));
        row(&names[1], &own, &theirs, &Spread::new([each[0]]), Some(goal));
    }

    /// The cost of a request when much is stored, against nothing stored.
    pub(crate) async fn stored(&self) {
        let stored = self.effort.stored;
        let name = format!(
            "CPU of a chat request, {} members and {} postings stored",
            stored.members, stored.postings
        );
        if !self.is_wanted(&name) {
            return;
        }
        let mut empty = home::sqlite(self.upstream).await;
        empty.people(stored.asking).await;
        let mut full = home::sqlite(self.upstream).await;
        many::fill(&mut full, stored);
        let services = [Service::start(&empty), Service::start(&full)];
        let all = [
            contender("empty", &services[0], Behaviour::Small, &empty),
            contender("full", &services[1], Behaviour::Small, &full),
        ];
        let measured = self.measure(&all, CONNECTIONS).await;
        pages::rows(services[1].address, &full.keys[0]);
        drop(services);
        full.check_ledger();
        let goal = Goal { bar: 1.3, aim: None, unit: "×", better: Better::Lower };
        let ratio = ratios(&measured[1], &measured[0], |round| round.cpu_us);
        let [theirs, ours] =
            [&measured[0], &measured[1]].map(|rounds| median(rounds, |round| round.cpu_us));
        row(&name, &format!("{ours:.1} µs"), &format!("empty {theirs:.1} µs"), &ratio, Some(goal));
        let ratio = ratios(&measured[0], &measured[1], |round| round.per_second);
        let [theirs, ours] =
            [&measured[0], &measured[1]].map(|rounds| median(rounds, |round| round.per_second));
        let name = "the same, time for a request";
        row(name, &format!("{ours:.0}/s"), &format!("empty {theirs:.0}/s"), &ratio, None);
    }

    /// Lets the contenders take turns.
    async fn measure(&self, all: &[Contender], connections: usize) -> Vec<Vec<Round>> {
        let Effort { rounds, round, .. } = self.effort;
        Turns { rounds, round, connections }.measure(all).await
    }
}

/// The upstream, to be passed on to by nginx.
fn models(upstream: SocketAddr) -> String {
    format!("upstream models {{ server {upstream}; keepalive 512; keepalive_requests 100000000; }}")
}

fn times(bar: f64, aim: f64) -> Goal {
    Goal { aim: Some(aim), ..Goal::times(bar) }
}

/// The memory after a few more requests: an allocator returns freed memory only while it is used.
async fn settled(who: &Contender, small: &Contender) -> Memory {
    load::open_loop(&small.target, 50, 2 * REST, 4).await;
    memory(&who.processes)
}

fn contender(
    name: &'static str,
    service: &Service,
    behaviour: Behaviour,
    home: &Home,
) -> Contender {
    let target = home::target(service, behaviour, home);
    Contender { name, processes: service.processes.clone(), target }
}

fn kib(amount: u64) -> f64 {
    f64::from(u32::try_from(amount).expect("less than four terabytes"))
}
