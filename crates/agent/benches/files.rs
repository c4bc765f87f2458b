//! Judging thousands of files with the real program, against what the cores can do in parallel.
//!
//! The limit is two processes, each bound to one core and given half of the files.
#![expect(clippy::print_stdout, reason = "its table is its purpose")]
#![expect(clippy::expect_used, reason = "a measurement that cannot begin ends")]

#[expect(dead_code, reason = "shared with the property tests")]
#[path = "../../usage-metrics/tests/it/generate.rs"]
mod generate;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const FILES: usize = 10_000;
const ENTRIES: usize = 40;
const ROUNDS: usize = 5;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let halves = ["a", "b"].map(|name| folder.path().join(name));
    let mut random = fastrand::Rng::with_seed(3);
    let mut bytes = 0;
    for at in 0..FILES {
        let package = generate::package(&mut random, ENTRIES);
        let text = generate::write(&mut random, &package, generate::Layout::Indented);
        let half = &halves[at % 2];
        std::fs::create_dir_all(half).expect("a folder");
        bytes += text.len();
        std::fs::write(half.join(format!("{at}.json")), text).expect("a file");
    }
    let both = folder.path();
    let ours = best(|| vec![start(None, both)]);
    let one_core = best(|| vec![start(Some("0"), both)]);
    let limit = best(|| vec![start(Some("0"), &halves[0]), start(Some("1"), &halves[1])]);
    println!("| work | ours | against | ratio | bar |");
    println!("|---|---|---|---|---|");
    println!(
        "| validate {FILES} files of {ENTRIES} entries, {} MB, 2 cores | {:.0} ms | two bound \
         processes {:.0} ms | {:.0} % of the parallel limit | 80 % |",
        bytes / 1_000_000,
        ms(ours),
        ms(limit),
        100.0 * limit.as_secs_f64() / ours.as_secs_f64(),
    );
    println!(
        "| the same on 1 core | {:.0} ms | 2 cores {:.0} ms | {:.2} times as long | |",
        ms(one_core),
        ms(ours),
        one_core.as_secs_f64() / ours.as_secs_f64(),
    );
}

fn start(core: Option<&str>, folder: &Path) -> Child {
    let agent = env!("CARGO_BIN_EXE_agent");
    let mut command = match core {
        Some(core) => {
            let mut command = Command::new("taskset");
            command.args(["-c", core, agent]);
            command
        }
        None => Command::new(agent),
    };
    command
        .args(["metrics", "validate", "--quiet"])
        .arg(folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts")
}

fn best(work: impl Fn() -> Vec<Child>) -> Duration {
    (0..ROUNDS)
        .map(|_| {
            let started = Instant::now();
            for mut child in work() {
                assert!(child.wait().expect("the program ends").success());
            }
            started.elapsed()
        })
        .min()
        .unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
