//! Limits and confinement of worker processes.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::time::Duration;

use agent_test_support::mcp::example;
use agent_test_support::pdf::{with_line, with_zeros};
use agent_test_support::wait::eventually;
use document_parser::{Error, Landlock, Limits, PageJob, Pool, Rejection, WorkerProgram};
use wire::web::PageFormat;

const MIB: u64 = 1024 * 1024;

fn program() -> WorkerProgram {
    WorkerProgram { path: example("probe_worker"), arguments: Vec::new(), environment: Vec::new() }
}

fn pool(limits: Limits) -> Pool {
    Pool::new(program(), limits, 2)
}

fn html() -> PageJob {
    PageJob {
        url: "https://example.org/".to_owned(),
        content_type: Some("text/html".to_owned()),
        format: PageFormat::Text,
    }
}

fn pdf() -> PageJob {
    PageJob { content_type: Some("application/pdf".to_owned()), ..html() }
}

async fn send(pool: &Pool, command: &str) -> Result<String, Error> {
    let document = pool.page(Some(1), html(), command.as_bytes()).await?;
    Ok(document.content)
}

#[track_caller]
fn assert_works(parsed: &Result<String, Error>) {
    assert_eq!(parsed.as_deref(), Ok("words"));
}

/// Child processes of this process.
fn children() -> Vec<u32> {
    let own = std::process::id().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        let fields: Vec<&str> = fields.collect();
        fields.get(1) == Some(&own.as_str()) && fields.first() != Some(&"Z")
    })
    .collect()
}

fn kill(id: u32) {
    let id = rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
    // The process may have ended meanwhile.
    let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
}

fn has_landlock() -> bool {
    fs::read_to_string("/sys/kernel/security/lsm").is_ok_and(|names| names.contains("landlock"))
}

#[tokio::test]
async fn workers_cannot_open_files_connect_or_start_processes() {
    let pool = pool(Limits::default());
    let confinement = pool.confinement().await.unwrap();
    assert!(confinement.resource_limits, "{confinement}");
    #[cfg(target_os = "linux")]
    assert!(confinement.seccomp, "{confinement}");
    if has_landlock() {
        assert_ne!(confinement.landlock, Landlock::Missing, "{confinement}");
    }
    let attempts = send(&pool, "attempts").await.unwrap();
    assert_eq!(attempts.lines().count(), 11, "{attempts}");
    for attempt in attempts.lines() {
        assert!(attempt.contains(" denied: "), "{attempts}");
    }
}

#[tokio::test]
async fn workers_have_no_environment() {
    assert_eq!(send(&pool(Limits::default()), "environment").await.unwrap(), "[]");
}

#[tokio::test]
async fn a_panic_is_reported_and_the_worker_is_reused() {
    let pool = pool(Limits::default());
    assert_works(&send(&pool, "words").await);
    let before = children();
    let panicked = send(&pool, "panic").await;
    assert_eq!(panicked, Err(Error::Rejected(Rejection::ParserPanicked)));
    assert_works(&send(&pool, "words").await);
    assert_eq!((before.len(), children()), (1, before));
}

#[tokio::test]
async fn exceeding_the_memory_limit_fails_only_the_job() {
    let pool = pool(Limits { memory_bytes: 64 * MIB, ..Limits::default() });
    assert_eq!(send(&pool, "allocate").await, Err(Error::Crashed));
    assert_works(&send(&pool, "words").await);
}

#[tokio::test]
async fn the_kernel_enforces_the_cpu_limit() {
    let limits =
        Limits { cpu: Duration::from_secs(1), wall: Duration::from_hours(1), ..Limits::default() };
    let pool = pool(limits);
    assert_eq!(send(&pool, "spin").await, Err(Error::TimedOut));
    // The limit applies to each job, not to the worker.
    assert_works(&send(&pool, "words").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_are_killed_at_the_time_limit() {
    let hasty = pool(Limits { wall: Duration::from_millis(300), ..Limits::default() });
    assert_eq!(send(&hasty, "wait").await, Err(Error::TimedOut));
    let patient = pool(Limits::default());
    assert_works(&send(&patient, "words").await);
    drop((hasty, patient));
    eventually("all workers have ended", || children().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killing_a_worker_fails_only_its_job() {
    let pool = pool(Limits { wall: Duration::from_hours(1), ..Limits::default() });
    let waiting = tokio::spawn({
        let pool = pool.clone();
        async move { send(&pool, "wait").await }
    });
    // The pool retries once, because a worker may be killed while it is idle.
    eventually("the job has failed", || {
        children().into_iter().for_each(kill);
        waiting.is_finished()
    });
    let failed = waiting.await.unwrap();
    assert!(matches!(failed, Err(Error::Crashed | Error::Unavailable)), "{failed:?}");
    assert_works(&send(&pool, "words").await);
    // Killing an idle worker has no effect on callers.
    children().into_iter().for_each(kill);
    assert_works(&send(&pool, "words").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_of_cancelled_jobs_never_reach_another_owner() {
    let pool = pool(Limits { wall: Duration::from_hours(1), ..Limits::default() });
    for round in 0..20 {
        let secret = format!("<p>secret of {round}</p>");
        let job = pool.page(Some(1), html(), secret.as_bytes());
        // Cancelled at some point, or done.
        let _ = tokio::time::timeout(Duration::from_micros(200 * round), job).await;
        let other = pool.page(Some(2), html(), b"<p>mine</p>").await.unwrap();
        assert_eq!(other.content, "mine");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_owner_cannot_use_all_workers() {
    let pool = pool(Limits { wall: Duration::from_hours(1), ..Limits::default() });
    let mut waiting = Vec::new();
    for _ in 0..8 {
        let pool = pool.clone();
        waiting.push(tokio::spawn(async move { send(&pool, "wait").await }));
    }
    eventually("a worker waits", || !children().is_empty());
    for _ in 0..3 {
        let other = pool.page(Some(2), html(), b"<p>mine</p>").await;
        assert_eq!(other.map(|document| document.content), Ok("mine".to_owned()));
    }
    for task in waiting {
        task.abort();
    }
}

#[tokio::test]
async fn pdf_decompression_bombs_are_rejected() {
    let pool = pool(Limits::default());
    for (streams, bytes_each) in [(1, 4 << 20), (30, 4 << 20), (3, 30 << 20)] {
        let bomb = with_zeros("A bomb", streams, bytes_each);
        let result = pool.page(Some(1), pdf(), &bomb).await;
        assert_eq!(result, Err(Error::Rejected(Rejection::TooLarge)));
    }
    let good = pool.page(Some(1), pdf(), &with_line("A good line")).await.unwrap();
    assert_eq!(good.content, "A good line");
}

#[tokio::test]
async fn many_nested_elements_are_parsed_within_the_cpu_limit() {
    let page = "<div>".repeat(380) + &"<main></main>".repeat(60_000) + "<p>The words.</p>";
    let limits = Limits { wall: Duration::from_hours(1), ..Limits::default() };
    let document = pool(limits).page(Some(1), html(), page.as_bytes()).await.unwrap();
    assert_eq!(document.content, "The words.");
}

#[tokio::test]
async fn a_program_that_is_no_worker_is_reported() {
    for path in ["/nonexistent/program", "/bin/true"] {
        let program = WorkerProgram { path: path.into(), ..program() };
        let pool = Pool::new(program, Limits::default(), 2);
        assert_eq!(send(&pool, "words").await, Err(Error::Unavailable));
    }
}
