//! How fast the services are that the member service has besides models: searches in an index, pages,
//! files that were made, research, and all of it as tools.
//!
//! The service is the real program with a new configuration, keys, limits and a durable
//! ledger; its requests are not logged. Contenders of a row take turns, round by round, and every
//! answer is checked. A figure is the median over the rounds, with the lowest and the highest.
//! `--quick` measures less, for a first look; a word measures only the rows whose name holds it.
//! `BENCH_AGENT` names another build of the program.
#![expect(clippy::print_stdout, reason = "its table is its purpose")]
#![expect(clippy::expect_used, clippy::panic, reason = "a measurement that cannot begin ends")]

mod article;
mod calls;
mod client;
mod corpus;
mod download;
mod index;
#[path = "../shared/load.rs"]
mod load;
#[path = "../shared/message.rs"]
mod message;
mod page;
mod parser;
mod peer;
#[path = "../shared/process.rs"]
mod process;
mod research;
#[path = "../shared/service.rs"]
mod service;
mod site;
#[path = "../shared/table.rs"]
mod table;
#[path = "../shared/turns.rs"]
mod turns;

use std::time::Duration;

/// How much is measured.
#[derive(Debug, Clone)]
struct Effort {
    rounds: usize,
    round: Duration,
    /// How long searches come at a fixed rate, in each round.
    paced: Duration,
    /// How many documents are searched.
    documents: usize,
    /// How many research jobs a round has.
    jobs: usize,
    /// Only rows whose name holds one of these words; all if there is none.
    only: Vec<String>,
}

impl Effort {
    fn new(arguments: Vec<String>) -> Self {
        let is_quick = arguments.iter().any(|word| word == "--quick");
        let only = arguments.into_iter().filter(|word| !word.starts_with("--")).collect();
        if is_quick {
            Self {
                rounds: 3,
                round: Duration::from_secs(1),
                paced: Duration::from_secs(4),
                documents: 20_000,
                jobs: 3,
                only,
            }
        } else {
            Self {
                rounds: 5,
                round: Duration::from_secs(3),
                paced: Duration::from_secs(12),
                documents: 100_000,
                jobs: 10,
                only,
            }
        }
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| name.contains(word))
    }
}

fn main() {
    let effort = Effort::new(std::env::args().skip(1).collect());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        table::head();
        index::row(&effort).await;
        page::row(&effort).await;
        parser::row(&effort).await;
        download::rows(&effort).await;
        research::row(&effort).await;
        calls::rows(&effort).await;
    });
}
