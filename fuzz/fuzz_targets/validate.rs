//! Any bytes at all: judging them never panics, the fast path never changes the verdict, and what
//! is valid can be read, written and judged again.
#![no_main]
#![expect(clippy::panic, reason = "a panic is how a finding is reported")]

use usage_metrics::lint::lint;
use usage_metrics::package::{Package, ReadError};
use usage_metrics::validate::{validate, validate_without_fast_path};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let verdict = validate(bytes);
    assert_eq!(verdict, validate_without_fast_path(bytes));
    assert!(verdict.violations.len() as u64 <= verdict.total);
    match Package::read(bytes) {
        Ok(package) => {
            assert!(verdict.is_valid());
            let written = package.to_bytes();
            assert!(validate(&written).is_valid());
            assert_eq!(Package::read(&written).ok().as_ref(), Some(&package));
            let _ = lint(bytes, &package);
        }
        Err(ReadError::Invalid(other)) => assert_eq!(other, verdict),
        Err(ReadError::ValueTooLarge { .. }) => assert!(verdict.is_valid()),
        Err(ReadError::Unreadable(error)) => panic!("valid, yet unreadable: {error}"),
    }
});
