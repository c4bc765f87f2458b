//! Tests of `health`.

use super::*;

#[test]
fn consecutive_failures_eject_and_a_good_probe_readmits() {
    let health = Health::new(Some(config::Health::default()));
    for _ in 1..config::Health::default().failures {
        assert!(!health.failed());
    }
    assert!(health.is_good());
    assert!(health.failed());
    assert!(!health.is_good() && health.is_usable(), "it may be asked if there is no other");
    assert!(health.probed(Probed::Good));
    assert!(health.is_good());
}

#[test]
fn a_success_between_failures_prevents_ejection() {
    let health = Health::new(Some(config::Health::default()));
    for _ in 0..3 * config::Health::default().failures {
        health.failed();
        health.succeeded();
    }
    assert!(health.is_good());
}

#[test]
fn after_the_first_probe_several_failures_are_needed() {
    let health = Health::new(Some(config::Health::default()));
    assert!(health.probed(Probed::Failed) && !health.is_usable());
    assert!(!health.probed(Probed::Failed));
    assert!(health.probed(Probed::Good) && health.is_usable());
    for _ in 1..config::Health::default().failures {
        assert!(!health.probed(Probed::Failed) && health.is_usable());
    }
    assert!(health.probed(Probed::Failed) && !health.is_usable());
    assert!(health.probed(Probed::Good) && !health.probed(Probed::Failed));
    assert!(health.is_usable());
    assert!(health.probed(Probed::Absent) && !health.is_usable());
}

#[test]
fn a_rejected_key_is_reported_once_until_it_is_accepted() {
    let health = Health::new(None);
    assert_eq!(health.note_status(AskedBy::Request, 200), None);
    assert_eq!(health.note_status(AskedBy::Request, 403), None, "a matter of content");
    assert!(!health.is_key_refused());
    assert_eq!(health.note_status(AskedBy::Request, 401), Some(true));
    assert_eq!(health.note_status(AskedBy::Probe, 403), None, "it is known");
    assert_eq!(health.note_status(AskedBy::Probe, 200), None);
    assert!(health.is_key_refused(), "a list of models may be public");
    assert_eq!(health.note_status(AskedBy::Request, 500), None);
    assert_eq!(health.note_status(AskedBy::Request, 200), Some(false));
    assert!(!health.is_key_refused());
}
