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
         a stream has {CHUNKS} events.\nThe last three columns were tried: a wrong key is rejected, the records \
         have each of 100 answered requests, and still do\nafter the process was killed.\n\n\
         | | CPU per chat | chats/s | p99 | CPU per stream | streams/s | memory | authenticates | charges | durable |\n\
         |---|---|---|---|---|---|---|---|---|---|\n"
    );
    for (at, program) in programs.into_iter().enumerate() {
        let target = program.target(Behaviour::Small);
        let times = load::open_loop(&target, PER_SECOND, PACED, CONNECTIONS).await;
        let (title, memory) = (program.title, memory(&program.processes).rss / 1024);
        let guarantees = program.guarantees().await;
        let (chat, stream) = (&chats[at], &streams[at]);
        let word = |is: bool| if is { "yes" } else { "no" };
        table.push_str(&format!(
            "| {} | {} | {:.1} ms | {} | {} MiB | {} | {} | {} |\n",
            title,
            cells(chat),
            percentile(&times, 99),
            cells(stream),
            memory,
            word(guarantees.authenticates),
            word(guarantees.charges),
            word(guarantees.is_durable),
        ));
    }
    table
}

/// The rounds of each program, or the status of its answer if it cannot do this.
async fn measure(programs: &[Program], behaviour: Behaviour) -> Vec<Result<Vec<Round>, u16>> {
    let (mut contenders, mut answers) = (Vec::new(), Vec::new());
    for program in programs {
        let target = program.target(behaviour);
        let answer = target.connect().await.try_ask(&target, 0).await;
        if answer.is_ok() {
            let processes = program.processes.clone();
            contenders.push(Contender { name: program.title, processes, target });
        }
        answers.push(answer);
    }
    let mut measured = TURNS.measure(&contenders).await.into_iter();
    let result = |answer: Result<(), (u16, String)>| match answer {
        Ok(()) => Ok(measured.next().expect("the rounds of a contender")),
        Err((status, body)) => {
            println!("status {status}: {body}");
            Err(status)
        }
    };
    answers.into_iter().map(result).collect()
}

/// CPU time of a request and requests per second.
fn cells(measured: &Result<Vec<Round>, u16>) -> String {
    match measured {
        Ok(rounds) => format!(
            "{} | {:.0}",
            duration(median(rounds, |round| round.cpu_us)),
            median(rounds, |round| round.per_second)
        ),
        Err(status) => format!("fails ({status}) | -"),
    }
}

fn duration(microseconds: f64) -> String {
    match microseconds {
        small if small < 1000.0 => format!("{small:.0} µs"),
        large => format!("{:.1} ms", large / 1000.0),
    }
}
