//! Integration tests of the usage-metrics package, one module per behaviour.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail as tests do")]

// The table and all that is made from it are equal, value by value.
mod catalogue;
// Whatever the clock does, packages stay legal and nothing stalls.
mod clock_faults;
// Packages in the formats of other tools.
mod exports;
// Stores that are read-only, full, cut short or overwritten.
mod faults;
// Random packages, valid and spoilt.
mod generate;
// Warnings for what is legal but wrong.
mod lints;
// Packages add up.
mod merging;
// The validator agrees with an independent one over millions of packages.
mod oracle;
// Many processes, some of them killed.
mod processes;
// Counting in memory and storing in the background.
mod recording;
// What the store keeps and what packages are made of it.
mod storing;
// What is wrong is said with its place, its rule and the nearest right value.
mod verdicts;
// Things the modules above share: a folder, a resource, batches.
mod workshop;
