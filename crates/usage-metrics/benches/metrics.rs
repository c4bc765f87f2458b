//! Speed of the hot paths, relative to a peer or a limit in the same run.
//!
//! `cargo xtask bench metrics` runs it. Every figure is the best of several rounds, because noise
//! of the machine only adds.
#![expect(clippy::print_stdout, reason = "its table is its purpose")]
#![expect(clippy::expect_used, reason = "a measurement that cannot begin ends")]

// The property tests use more generators than are measured here.
#[expect(dead_code, reason = "shared with the property tests")]
#[path = "../tests/it/generate.rs"]
mod generate;

use std::hint::black_box;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_test_support::json_schema::JsonSchema;
use usage_metrics::catalogue::{
    ApprovalOutcome, Architecture, Attribution, InstallMethod, OsFamily, ToolApproval,
};
use usage_metrics::clock::SystemClock;
use usage_metrics::package::Resource;
use usage_metrics::recorder::{FlushResult, Recorder, Settings};
use usage_metrics::schema::json_schema;
use usage_metrics::store::StoreFolder;
use usage_metrics::validate::validate;
use uuid::Uuid;

use generate::Layout;

const ENTRIES: usize = 400;
const ROUNDS: usize = 15;

fn main() {
    println!("| work | ours | against | ratio | bar | aim |");
    println!("|---|---|---|---|---|---|");
    validation();
    counting();
    flushing();
}

/// Prints the operation, our figure, its peer, the ratio, the bar and the aim.
fn row(cells: [&str; 6]) {
    println!("| {} |", cells.join(" | "));
}

/// Best time of one call of `work`, over rounds of `calls`.
fn best(calls: u32, mut work: impl FnMut()) -> Duration {
    (0..ROUNDS)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..calls {
                work();
            }
            started.elapsed() / calls
        })
        .min()
        .unwrap_or_default()
}

fn document(layout: Layout) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    let package = generate::package(&mut random, ENTRIES);
    generate::write(&mut random, &package, layout).into_bytes()
}

fn validation() {
    let oracle = JsonSchema::of(&json_schema());
    for (name, layout) in [("compact", Layout::Compact), ("indented", Layout::Indented)] {
        let document = document(layout);
        assert!(validate(&document).is_valid());
        let ours = best(200, || {
            black_box(validate(black_box(&document)));
        });
        let peer = best(20, || {
            let value: serde_json::Value =
                serde_json::from_slice(black_box(&document)).expect("JSON");
            assert!(black_box(oracle.accepts(&value)));
        });
        let kilobytes = u32::try_from(document.len() / 1000).unwrap_or(u32::MAX);
        let speed = f64::from(kilobytes) / ours.as_secs_f64() / 1e6;
        row([
            &format!("validate {ENTRIES} entries, {name}, {} kB", document.len() / 1000),
            &format!("{:.1} µs, {speed:.2} GB/s", micros(ours)),
            &format!("serde_json + boon {:.0} µs", micros(peer)),
            &format!("{:.1} times faster", ratio(peer, ours)),
            "4",
            "8, 1 GB/s",
        ]);
        if layout == Layout::Compact {
            python(&document, ours);
        }
    }
}

/// The same document with Python's jsonschema and formats, if installed.
fn python(document: &[u8], ours: Duration) {
    const SCRIPT: &str = "
import json, sys, time, jsonschema
schema = json.loads(sys.argv[1])
text = open(sys.argv[2]).read()
check = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
best = 1e9
for _ in range(3):
    start = time.perf_counter()
    assert check.is_valid(json.loads(text))
    best = min(best, time.perf_counter() - start)
print(best)
";
    let Some(python) = std::env::var_os("BENCH_PYTHON") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("package.json");
    std::fs::write(&path, document).expect("a file");
    let output = Command::new(python)
        .args(["-c", SCRIPT, &json_schema().to_string()])
        .arg(path)
        .stderr(Stdio::inherit())
        .output();
    let seconds = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let Some(seconds) = seconds.and_then(|text| text.trim().parse().ok()) else {
        return;
    };
    let peer = Duration::from_secs_f64(seconds);
    row([
        "the same, compact",
        &format!("{:.1} µs", micros(ours)),
        &format!("Python's jsonschema {:.1} ms", peer.as_secs_f64() * 1e3),
        &format!("{:.0} times faster", ratio(peer, ours)),
        "1,000",
        "",
    ]);
}

fn recorder(folder: &tempfile::TempDir) -> Recorder {
    let resource = Resource {
        agent_version: "1".to_owned(),
        architecture: Architecture::X86_64,
        install_method: InstallMethod::Git,
        os_family: OsFamily::Linux,
    };
    let folder = StoreFolder::new(folder.path().join("metrics"));
    let mut settings = Settings::new(folder, resource, Arc::new(SystemClock), Uuid::new_v4);
    settings.flush_interval = Duration::from_hours(1);
    let recorder = Recorder::start(settings);
    recorder.client_active();
    assert_eq!(recorder.flush(Duration::from_secs(10)), FlushResult::Stored);
    recorder
}

fn counting() {
    const CALLS: u32 = 2_000_000;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let recorder = recorder(&folder);
    let event =
        ToolApproval { attribution: Attribution::ToolCall, outcome: ApprovalOutcome::Approved };
    // The processor's time for the addition alone.
    let cell = std::sync::atomic::AtomicU64::new(0);
    let limit = best(CALLS, || {
        cell.fetch_add(black_box(1), std::sync::atomic::Ordering::Relaxed);
    });
    let alone = best(CALLS, || recorder.count(black_box(&event)));
    row([
        "count one event of a closed kind",
        &format!("{:.1} ns", nanos(alone)),
        &format!("one atomic addition {:.1} ns", nanos(limit)),
        &format!("{:.1} times as long", ratio(alone, limit)),
        "50 ns",
        "15 ns",
    ]);
    let contended = (0..5).map(|_| contended(&recorder, event, CALLS)).min().unwrap_or_default();
    row([
        "the same, 8 threads on one counter, time of a core",
        &format!("{:.1} ns", nanos(contended)),
        &format!("uncontended {:.1} ns", nanos(alone)),
        &format!("{:.1} times as long", ratio(contended, alone)),
        "3",
        "",
    ]);
    let route = best(CALLS, || {
        recorder.count_route(black_box("anthropic/claude-4.5"), black_box("openrouter"));
    });
    row([
        "count a model route with a seen pair",
        &format!("{:.1} ns", nanos(route)),
        &format!("one atomic addition {:.1} ns", nanos(limit)),
        &format!("{:.1} times as long", ratio(route, limit)),
        "150 ns",
        "60 ns",
    ]);
}

/// CPU time per event while eight threads count the same one.
fn contended(recorder: &Recorder, event: ToolApproval, calls: u32) -> Duration {
    const THREADS: u32 = 8;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cores = u32::try_from(cores).unwrap_or(1);
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..calls / THREADS {
                    recorder.count(black_box(&event));
                }
            });
        }
    });
    started.elapsed() * cores.min(THREADS) / calls
}

fn flushing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let recorder = recorder(&folder);
    let models: Vec<String> = (0..1000).map(|at| format!("vendor/model-{at}")).collect();
    let time = (0..ROUNDS)
        .map(|_| {
            for at in 0..100_000 {
                recorder.count_route(&models[at % models.len()], "lab");
            }
            let started = Instant::now();
            assert_eq!(recorder.flush(Duration::from_secs(30)), FlushResult::Stored);
            started.elapsed()
        })
        .min()
        .unwrap_or_default();
    let bar = Duration::from_millis(20);
    row([
        "flush 100,000 events of 1,000 keys",
        &format!("{:.2} ms", time.as_secs_f64() * 1e3),
        "20 ms",
        &format!("{:.2} of the limit", ratio(time, bar)),
        "1",
        "",
    ]);
}

fn ratio(of: Duration, to: Duration) -> f64 {
    of.as_secs_f64() / to.as_secs_f64().max(f64::MIN_POSITIVE)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn nanos(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}
