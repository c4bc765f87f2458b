//! A worker process: confines itself, then parses jobs from standard input.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::thread;
use std::time::Duration;

use crate::confine::{self, Confinement, Limits};
use crate::frame;
use crate::job::{self, Job, Parsed};
use crate::rejection::Rejection;

/// The stack of the parser thread, for deeply nested documents; untouched stack pages cost nothing.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// The arguments of a worker after those of its [`WorkerProgram`](crate::WorkerProgram).
pub(crate) fn arguments(limits: &Limits) -> [String; 2] {
    [limits.memory_bytes.to_string(), limits.cpu.as_secs().to_string()]
}

pub fn limits(memory_bytes: u64, cpu_seconds: u64) -> Limits {
    Limits { memory_bytes, cpu: Duration::from_secs(cpu_seconds), ..Limits::default() }
}

/// Runs a worker until its standard input ends.
pub fn run(limits: Limits) -> io::Result<()> {
    run_with(limits, job::parse)
}

/// Runs a worker with another parser.
pub fn run_with(
    limits: Limits,
    parse: impl Fn(&Job, &[u8]) -> Result<Parsed, Rejection> + Send + 'static,
) -> io::Result<()> {
    // Panics become replies, and their messages could quote a document.
    set_hook(Box::new(|_| {}));
    let stack = u64::try_from(STACK_BYTES).map_err(io::Error::other)?;
    let in_use = confine::address_space()?.saturating_add(stack);
    let landlock = confine::deny_files();
    let thread = thread::Builder::new().name("parser".to_owned()).stack_size(STACK_BYTES);
    let serving = thread.spawn(move || {
        let memory_bytes = in_use.saturating_add(limits.memory_bytes);
        let resource_limits =
            confine::limit_resources(memory_bytes) && confine::limit_cpu(limits.cpu);
        // Last, because it denies the system calls of the other measures.
        let seccomp = confine::filter_system_calls();
        serve(limits, Confinement { resource_limits, landlock, seccomp }, &parse)
    })?;
    serving.join().unwrap_or_else(|_| Err(io::Error::other("the worker failed")))
}

fn serve(
    limits: Limits,
    confinement: Confinement,
    parse: &impl Fn(&Job, &[u8]) -> Result<Parsed, Rejection>,
) -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    // The first message says that the worker is ready.
    frame::write(&mut output, &confinement, &[])?;
    while let Some((job, bytes)) = frame::read::<Job>(&mut input, usize::MAX)? {
        confine::limit_cpu(limits.cpu);
        let parsed = catch_unwind(AssertUnwindSafe(|| parse(&job, &bytes)));
        let mut parsed = parsed.unwrap_or(Err(Rejection::ParserPanicked));
        let body = parsed.as_mut().map(Parsed::take_body).unwrap_or_default();
        frame::write(&mut output, &parsed, &body)?;
        output.flush()?;
    }
    Ok(())
}
