//! The parser of the index under test.

use std::process::ExitCode;

use document_parser::worker;

fn main() -> ExitCode {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [memory_bytes, cpu_seconds] = numbers[..] else { return ExitCode::FAILURE };
    match worker::run(worker::limits(memory_bytes, cpu_seconds)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
