//! `agent parse-worker`: a process of the member service that parses untrusted documents.

use std::path::{Path, PathBuf};

use document_parser::{WorkerProgram, worker};

use crate::diagnostic::{ErrorContext, Result};

/// Parse documents of a member service; started by the service itself
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Args {
    /// Memory limit
    memory_bytes: u64,
    /// CPU time of one document
    cpu_seconds: u64,
}

pub(crate) fn run(args: &Args) -> Result {
    worker::run(worker::limits(args.memory_bytes, args.cpu_seconds)).or_failed("the parser stopped")
}

pub(crate) fn program() -> WorkerProgram {
    // On Linux this is the running program even if an update has replaced its file.
    let own = Path::new("/proc/self/exe");
    let path = if own.exists() {
        own.to_path_buf()
    } else {
        std::env::current_exe().unwrap_or_else(|_| PathBuf::from("agent"))
    };
    // The allocator reserves 64 MiB (in KiB) of the limited address space in advance, not 1 GiB.
    // Without a reserve, it keeps mapping and unmapping: a page of 500 kB takes 8 ms longer.
    let environment = vec![("MIMALLOC_ARENA_RESERVE".to_owned(), "65536".to_owned())];
    WorkerProgram { path, arguments: vec!["parse-worker".to_owned()], environment }
}
