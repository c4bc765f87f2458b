//! A process that counts into a shared store, for the tests that kill it.
//!
//! `counting_process FOLDER NAME BATCHES SIZE` counts NAME as a model SIZE times, flushes, prints
//! `flushed TOTAL`, and repeats that BATCHES times.
#![expect(clippy::print_stdout, reason = "its output is what the test reads")]

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use usage_metrics::catalogue::{
    ApprovalOutcome, Architecture, Attribution, InstallMethod, OsFamily, ToolApproval,
};
use usage_metrics::clock::SystemClock;
use usage_metrics::package::Resource;
use usage_metrics::recorder::{FlushResult, Recorder, Settings};
use usage_metrics::store::StoreFolder;
use uuid::Uuid;

const WAIT: Duration = Duration::from_mins(1);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, name, batches, size] = &arguments[..] else {
        return ExitCode::from(2);
    };
    let (Ok(batches), Ok(size)) = (batches.parse::<u64>(), size.parse::<u64>()) else {
        return ExitCode::from(2);
    };
    let resource = Resource {
        agent_version: "1.0".to_owned(),
        architecture: Architecture::X86_64,
        install_method: InstallMethod::Git,
        os_family: OsFamily::Linux,
    };
    let mut settings =
        Settings::new(StoreFolder::new(folder), resource, Arc::new(SystemClock), Uuid::new_v4);
    // Only explicit flushes store, so that the test knows the stored count.
    settings.flush_interval = Duration::from_hours(1);
    let recorder = Recorder::start(settings);
    recorder.client_active();
    for batch in 1..=batches {
        for _ in 0..size {
            recorder.count_route(name, "lab");
            recorder.count(&ToolApproval {
                attribution: Attribution::ToolCall,
                outcome: ApprovalOutcome::Approved,
            });
        }
        if recorder.flush(WAIT) != FlushResult::Stored {
            return ExitCode::FAILURE;
        }
        println!("flushed {}", batch * size);
        if std::io::stdout().flush().is_err() {
            return ExitCode::FAILURE;
        }
    }
    match recorder.close(WAIT) {
        FlushResult::Stored => ExitCode::SUCCESS,
        FlushResult::Pending => ExitCode::FAILURE,
    }
}
