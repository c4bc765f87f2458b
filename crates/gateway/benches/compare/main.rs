//! Compares the service with `LiteLLM`, Portkey and nginx: the same chats and streams through each, in
//! one run, and writes the table of the README.
//!
//! Each runs as one process, as its documentation starts it. The contenders take turns, round by
//! round; every answer is checked.
#![expect(clippy::print_stdout, reason = "its table is its purpose")]
#![expect(clippy::expect_used, clippy::panic, reason = "a measurement that cannot begin ends")]

#[path = "../gateway/chat.rs"]
#[expect(dead_code, reason = "only chats are compared")]
mod chat;
#[path = "../gateway/home.rs"]
#[expect(dead_code, reason = "only SQLite is compared")]
mod home;
#[path = "../shared/load.rs"]
mod load;
#[path = "../gateway/memory.rs"]
#[expect(dead_code, reason = "shared memory is not compared")]
mod memory;
#[path = "../shared/message.rs"]
mod message;
#[path = "../shared/process.rs"]
mod process;
mod programs;
#[path = "../gateway/request.rs"]
mod request;
#[path = "../shared/service.rs"]
#[expect(dead_code, reason = "the ledger is not added up")]
mod service;
#[path = "../shared/table.rs"]
#[expect(dead_code, reason = "rows have no goals")]
mod table;
#[path = "../shared/turns.rs"]
#[expect(dead_code, reason = "ratios are not shown")]
mod turns;
#[path = "../gateway/upstream.rs"]
mod upstream;

use std::path::Path;
use std::time::Duration;

use crate::load::percentile;
use crate::memory::memory;
use crate::programs::{Program, start};
use crate::turns::{Contender, Round, Turns, median};
use crate::upstream::{Behaviour, CHUNKS};

/// How many connections ask at once.
const CONNECTIONS: usize = 16;
/// The rate for latencies: low enough for all.
const PER_SECOND: u32 = 20;
const TURNS: Turns = Turns { rounds: 3, round: Duration::from_secs(4), connections: CONNECTIONS };
const PACED: Duration = Duration::from_secs(10);
/// The section of the README.
const BEGIN: &str = "<!-- bench peers -->\n";
const END: &str = "<!-- end of bench peers -->\n";

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let table = runtime.expect("a runtime").block_on(compare());
    println!("{table}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(&path).expect("the README");
    let (before, rest) = text.split_once(BEGIN).expect("the beginning of the section");
    let (_, after) = rest.split_once(END).expect("the end of the section");
    std::fs::write(&path, format!("{before}{BEGIN}{table}\n{END}{after}")).expect("the README");
}

async fn compare() -> String {
    let upstream = upstream::start().await;
    let programs = start(upstream).await;
    let chats = measure(&programs, Behaviour::Small).await;
    let streams = measure(&programs, Behaviour::Stream).await;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let today = time::OffsetDateTime::now_utc().date();
    let mut table = format!(
        "## Compared\n\nOne process each, {CONNECTIONS} connections, the same scripted upstream, {cores} cores, \
         {today} (`cargo xtask bench peers`). The p99 is\nmeasured at {PER_SECOND} chats per second, \
         a stream has {CHUNKS} events.\n\n\
         | | CPU per chat | chats/s | p99 | CPU per stream | streams/s | memory | authenticates | charges | durable |\n\
         |---|---|---|---|---|---|---|---|---|---|\n"
    );
    for (at, program) in programs.iter().enumerate() {
        let target = program.target(Behaviour::Small);
        let times = load::open_loop(&target, PER_SECOND, PACED, CONNECTIONS).await;
        let (chat, stream) = (&chats[at], &streams[at]);
        let word = |is: bool| if is { "yes" } else { "no" };
        table.push_str(&format!(
            "| {} | {} | {:.0} | {:.1} ms | {} | {:.0} | {} MiB | {} | {} | {} |\n",
            program.title,
            duration(median(chat, |round| round.cpu_us)),
            median(chat, |round| round.per_second),
            percentile(&times, 99),
            duration(median(stream, |round| round.cpu_us)),
            median(stream, |round| round.per_second),
            memory(&program.processes).rss / 1024,
            word(program.authenticates),
            word(program.charges),
            word(program.charges),
        ));
    }
    table
}

async fn measure(programs: &[Program], behaviour: Behaviour) -> Vec<Vec<Round>> {
    let contenders = programs.iter().map(|program| Contender {
        name: program.title,
        processes: program.processes.clone(),
        target: program.target(behaviour),
    });
    TURNS.measure(&contenders.collect::<Vec<_>>()).await
}

fn duration(microseconds: f64) -> String {
    match microseconds {
        small if small < 1000.0 => format!("{small:.0} µs"),
        large => format!("{:.1} ms", large / 1000.0),
    }
}
