//! Any bytes as a PDF: parsing it takes no more memory than `-rss_limit_mb`, however far it unpacks.
#![no_main]

use std::panic::{catch_unwind, set_hook};
use std::sync::Once;

use document_parser::{FileFormat, Job, parse};

static QUIET: Once = Once::new();

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Panics of the PDF library are no finding: a worker answers them. libFuzzer aborts on them,
    // unless its hook is replaced.
    QUIET.call_once(|| set_hook(Box::new(|_| {})));
    let _ = catch_unwind(|| parse(&Job::File(FileFormat::Pdf), bytes));
});
