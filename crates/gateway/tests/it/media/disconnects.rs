//! Clients that leave, and processes that die, in the middle of making media.

use agent_test_support::upstream::{Outcome, Step, Upstream};
use agent_test_support::wait::eventually;

use super::{MEDIA_PRICE, paint, run, service, stored};
use crate::fixture::paid;
use crate::raw::Raw;
use crate::support::Running;

#[test]
fn disconnect_before_the_answer_is_free_and_cancels_upstream() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    upstream.script("paint", vec![Step::Gate]);
    let client = Raw::post(service.address, "/v1/media/run", ada.key.as_str(), &paint("x"));
    eventually("the upstream was asked", || upstream.in_flight() == 1);
    drop(client);
    eventually("the upstream was left", || upstream.completions()[0].outcome == Outcome::Cancelled);
    assert_eq!(paid(&service, &ada), 0);
    assert!(stored(&service).is_empty());
}

#[test]
fn an_unstorable_file_is_free() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    // A file has the name of the folder.
    std::fs::write(service.folder.path().join("artifacts"), "in the way").unwrap();
    let answer = run(&service, &ada, &paint("x"));
    assert_eq!(answer.failure(), (503, "unavailable".to_owned()));
    assert_eq!(paid(&service, &ada), 0);
    std::fs::remove_file(service.folder.path().join("artifacts")).unwrap();
    run(&service, &ada, &paint("x")).good();
    assert_eq!(paid(&service, &ada), MEDIA_PRICE);
}

#[test]
fn charged_artifacts_survive_a_restart() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let made = run(&service, &ada, &paint("x")).good();
    let folder = service.folder.clone();
    service.stop();
    let service = Running::start_in(folder, &super::text(&upstream, ""));
    let got = service.get(&super::path_of(&made["artifacts"][0]), ada.key.as_str());
    assert_eq!(got.status, 200);
    assert_eq!(paid(&service, &ada), MEDIA_PRICE);
}
