//! What the member service costs against nginx, which only passes on, before one and the same upstream.
//!
//! The service is the real program, with keys, limits and a durable ledger; its requests are not
//! logged, as nginx's are not. All contenders of a row take turns, round by round, so that what else
//! the machine does meets all of them; every answer is checked. A figure is the median over the
//! rounds, a ratio the median of the ratios of the rounds, with the lowest and the highest.
//! `--quick` measures less, for a first look; a word measures only the rows whose name holds it.
//! `BENCH_AGENT` names another build of the program.
#![expect(clippy::print_stdout, reason = "its table is its purpose")]
#![expect(clippy::expect_used, clippy::panic, reason = "a measurement that cannot begin ends")]

mod chat;
mod home;
mod idle;
#[path = "../shared/load.rs"]
mod load;
mod many;
mod memory;
#[path = "../shared/message.rs"]
mod message;
mod pages;
#[path = "../shared/process.rs"]
mod process;
mod request;
mod rows;
#[path = "../shared/service.rs"]
mod service;
#[path = "../shared/table.rs"]
mod table;
#[path = "../shared/turns.rs"]
mod turns;
mod upstream;

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::many::Amount;
use crate::rows::Rows;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
struct Effort {
    rounds: usize,
    round: Duration,
    /// How long requests come at a fixed rate, in each round.
    paced: Duration,
    streams: usize,
    stored: Amount,
}

const QUICK: Effort = Effort {
    rounds: 3,
    round: Duration::from_secs(1),
    paced: Duration::from_secs(2),
    streams: 1000,
    stored: Amount { members: 100_000, postings: 1_000_000, asking: 1000 },
};

const FULL: Effort = Effort {
    rounds: 5,
    round: Duration::from_secs(2),
    paced: Duration::from_secs(4),
    streams: 5000,
    stored: Amount { members: 1_000_000, postings: 10_000_000, asking: 1000 },
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let effort = if arguments.iter().any(|word| word == "--quick") { QUICK } else { FULL };
    let only: Vec<String> = arguments.into_iter().filter(|word| !word.starts_with("--")).collect();
    allow_files();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let rows = Rows::start(effort, only).await;
        table::head();
        rows.memory().await;
        rows.processor_time().await;
        rows.database_server().await;
        rows.other_interfaces().await;
        rows.pace().await;
        rows.saturation().await;
        rows.stored().await;
    });
}

/// Every stream is a connection of the client, of the upstream, and two of what is between.
fn allow_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    raised.expect("the limit of open files can be raised");
}
