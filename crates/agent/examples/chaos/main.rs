//! The real service under mixed load while its processes, database and disk fail at random.
//!
//! A run alternates between two deployments: one process on SQLite, and two processes on PostgreSQL.
//! Each round creates a member, in every second one with a team that pays, starts clients for every kind
//! of operation, injects faults, repairs everything, and then compares the ledger with what the clients
//! received ([`audit`]).
//! The program exits with 1 if any round finds a violation. `cargo xtask chaos` builds and runs it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the summary is its purpose")]
#![expect(clippy::unwrap_used, reason = "a run that cannot continue ends")]

mod audit;
mod client;
mod deployment;
mod faults;
mod load;
mod process;
mod settings;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use audit::Totals;
use deployment::{Deployment, Store};
use faults::FaultCounts;
use load::Load;
use settings::Settings;

/// How long faults are injected in one round.
const ROUND: Duration = Duration::from_secs(12);

fn main() -> ExitCode {
    if let Some(code) = process::run_as_upstream() {
        return code;
    }
    let settings = match Settings::parse(std::env::args().skip(1)) {
        Ok(settings) => settings,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    run(&settings)
}

fn run(settings: &Settings) -> ExitCode {
    println!("seed {}", settings.seed);
    fastrand::seed(settings.seed);
    let mut deployments =
        [Store::Sqlite, Store::Postgres].map(|store| Deployment::start(store, &settings.program));
    let mut counts = FaultCounts::default();
    let mut totals = Totals::default();
    let begun = Instant::now();
    let mut round = 0;
    while round < deployments.len() || !settings.is_done(begun.elapsed(), counts.kills()) {
        let index = round % deployments.len();
        run_round(round, &mut deployments[index], &mut counts, &mut totals);
        round += 1;
    }
    println!(
        "\n{round} rounds in {} s\nfaults: {counts}\nclients: {totals}",
        begun.elapsed().as_secs()
    );
    for deployment in &deployments {
        let memory = deployment.memory_summary();
        println!("memory of a {} service after a round: {memory}", deployment.store());
        if let Some(violation) = deployment.memory_violation() {
            println!("VIOLATION {violation}");
            totals.violations.push(violation);
        }
    }
    if totals.violations.is_empty() {
        println!("no violation");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn run_round(
    round: usize,
    deployment: &mut Deployment,
    counts: &mut FaultCounts,
    totals: &mut Totals,
) {
    let mut member = deployment.create_member(&format!("member-{round}"));
    // Every second round of each deployment.
    if round / 2 % 2 == 1 {
        deployment.add_to_team(&mut member);
    }
    let load = Load::start(&deployment.addresses(), deployment.page_url(), &member.key);
    let end = Instant::now() + ROUND;
    while Instant::now() < end {
        faults::inject(deployment, counts);
    }
    faults::repair(deployment);
    let records = load.finish();
    deployment.record_memory();
    let line = audit::check(deployment, &member, &records, totals);
    println!("round {round:3} {:10} {line}; {} kills so far", deployment.store(), counts.kills());
}
