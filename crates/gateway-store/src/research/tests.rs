//! Tests of `research`.

use super::*;

#[test]
fn every_status_parses_back() {
    for status in JobStatus::ALL {
        assert_eq!(JobStatus::parse(status.as_str()), Some(status));
    }
    assert_eq!(JobStatus::parse("done"), None);
    assert_eq!(JobStatus::ALL.iter().filter(|status| !status.is_over()).count(), 2);
}

#[test]
fn a_job_without_a_hold_fails() {
    let end = JobEnd::automatic(HoldId::new(1, 1), MemberId(1), true);
    let statuses = (end.status, end.without_hold().status);
    assert_eq!(statuses, (JobStatus::Expired, JobStatus::Failed));
}
