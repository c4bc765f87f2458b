//! Integration tests of the usage-metrics package, one module per behaviour.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail as tests do")]

mod catalogue;
mod clock_faults;
mod exports;
mod faults;
mod fixtures;
mod generate;
mod lints;
mod merging;
mod oracle;
mod processes;
mod recording;
mod storing;
mod validation;
