//! Speed and memory of calls against the official clients, on one and the same server.
//!
//! All clients of a row take turns, round by round, so that what else the machine does meets all of
//! them; every answer is checked. A figure is the median time of a call; a ratio is the median of
//! the ratios of the rounds, with the lowest and the highest. The Rust clients run on one thread
//! each, as the agent does. `--quick` measures less, for a first look.
#![expect(clippy::print_stdout, reason = "its table is its purpose")]
#![expect(clippy::expect_used, reason = "a measurement that cannot begin ends")]

mod contender;
mod foreign;
mod memory;
mod rounds;

use std::time::Duration;

use agent_test_support::mcp::{rmcp_http, rmcp_stdio};

use crate::contender::{Contender, Era, Place};
use crate::foreign::Language;
use crate::rounds::{Measured, Work, measure};

/// What one more call may be: rounds, calls in each, calls before the first.
#[derive(Debug, Clone, Copy)]
struct Effort {
    rounds: usize,
    /// Divides the number of calls.
    divisor: usize,
}

/// No call may take as long as a delayed acknowledgement of the peer's kernel.
const STALL: Duration = Duration::from_millis(20);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = arguments.iter().position(|word| word == memory::FLAG) {
        return memory::weigh(arguments.get(at + 1).map_or("", String::as_str));
    }
    let quick = arguments.iter().any(|word| word == "--quick");
    let effort =
        if quick { Effort { rounds: 3, divisor: 10 } } else { Effort { rounds: 7, divisor: 1 } };
    println!("| work | ours | against | ratio (lowest to highest) | bar | aim |");
    println!("|---|---|---|---|---|---|");
    run(async {
        calls("stdio", &Place::Stdio(rmcp_stdio()), Era::Legacy, effort).await;
        let server = rmcp_http(&["--json", "--nodelay"]);
        calls("stateless HTTP", &Place::Http(server.url.clone()), Era::Stateless, effort).await;
        stalls(effort).await;
    });
    memory::rows();
}

/// Runs on one thread, as the agent does.
fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

/// Short answers against every client, long ones against the other Rust client.
async fn calls(way: &str, place: &Place, era: Era, effort: Effort) {
    let mut all = vec![
        Contender::session(place, era).await,
        Contender::rmcp(place, era).await,
        Contender::client(place, era).await,
    ];
    let mut names = vec!["rmcp", "`Client::call` by name"];
    for language in [Language::TypeScript, Language::Python] {
        match Contender::foreign(language, place, era).await {
            Ok(found) => {
                all.push(found);
                names.push(language.name());
            }
            Err(reason) => println!("| {way}: {} | | skipped: {reason} | | | |", language.name()),
        }
    }
    let work = Work::echo(1000 / effort.divisor, effort.rounds);
    let measured = measure(&mut all, &work).await;
    for (name, theirs) in names.iter().zip(&measured[1..]) {
        let (bar, aim) = match *name {
            "rmcp" => ("1.0", "1.5"),
            "`Client::call` by name" => ("", ""),
            _ => ("3", "6"),
        };
        row(&format!("{way}: {work}"), &measured[0], name, theirs, [bar, aim]);
    }
    // What the agent really does, against what a program on the other library would do.
    row(&format!("{way}: {work}, `Client::call`"), &measured[2], "rmcp", &measured[1], ["1.0", ""]);
    all.truncate(2);
    for (bytes, calls) in [(100_000, 300), (1_000_000, 60)] {
        let work = Work::blob(bytes, calls / effort.divisor, effort.rounds);
        let measured = measure(&mut all, &work).await;
        row(&format!("{way}: {work}"), &measured[0], "rmcp", &measured[1], ["1.0", ""]);
    }
}

/// Connections that are kept, a server that writes in small pieces and lets its kernel wait.
async fn stalls(effort: Effort) {
    let server = rmcp_http(&[]);
    let place = Place::Http(server.url.clone());
    let mut all = vec![
        Contender::session(&place, Era::Legacy).await,
        Contender::rmcp(&place, Era::Legacy).await,
    ];
    let work = Work::echo(200 / effort.divisor, effort.rounds);
    let measured = measure(&mut all, &work).await;
    let name = "legacy HTTP, events, kept connections";
    row(&format!("{name}: {work}"), &measured[0], "rmcp", &measured[1], ["under 5 ms", ""]);
    println!(
        "| the same, calls over {STALL:?} | {} of {} | rmcp {} | | 0 | |",
        measured[0].slower_than(STALL),
        work.calls * work.rounds,
        measured[1].slower_than(STALL),
    );
}

fn row(work: &str, ours: &Measured, name: &str, theirs: &Measured, [bar, aim]: [&str; 2]) {
    let ratios = ours.ratios(theirs);
    println!(
        "| {work} | {:.1?} | {name} {:.1?} | {:.2} ({:.2} to {:.2}) | {bar} | {aim} |",
        ours.median(),
        theirs.median(),
        ratios[ratios.len() / 2],
        ratios[0],
        ratios[ratios.len() - 1],
    );
}
