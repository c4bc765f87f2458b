//! Jobs whose service stops, whose model is away, whose workers are many.

use std::time::Duration;

use agent_test_support::upstream::{Responder, Step};
use agent_test_support::wait::eventually;
use serde_json::json;

use crate::research_fixture::{
    JOB_PRICE, Setup, assert_sound, ended, events, look, paid, question, scholar, started,
};

#[test]
fn job_resumes_after_its_last_step_on_restart() {
    let setup = Setup::new("");
    let good = || Step::Speak(Responder(scholar), Duration::ZERO);
    setup.upstream.script("scholar", vec![good(), good(), Step::Gate]);
    let (service, ada) = setup.ready("");
    let id = started(&service, &ada, &question());
    eventually("it waits at its third call", || {
        setup.upstream.completions().len() == 3 && setup.upstream.in_flight() == 1
    });
    let before = look(&service, &ada, &id);
    let done = before["steps"].as_array().unwrap().len();
    assert!((4..9).contains(&done), "{before:#}");
    service.stop();
    assert_eq!(setup.upstream.in_flight(), 0);

    let service = setup.start("");
    let job = ended(&service, &ada, &id);
    assert_sound(&job);
    // What was done is not done again: the third call once more, and the fourth.
    assert_eq!(setup.upstream.completions().len(), 5);
    assert_eq!(job["steps"].as_array().unwrap()[..done], before["steps"].as_array().unwrap()[..]);
    let told = events(&service, &ada, &id, "");
    assert_eq!(told.iter().filter(|(_, name, _)| name == "running").count(), 2);
    assert_eq!(paid(&service, &ada), JOB_PRICE);
}

#[test]
fn unavailable_model_delays_a_job_and_finally_fails_it() {
    let setup = Setup::new("");
    let (service, ada) = setup.ready(", attempts: 1");
    // The first claim finishes no step and is the only one.
    setup.upstream.set_default(Step::Status(503));
    let id = started(&service, &ada, &question());
    let job = ended(&service, &ada, &id);
    let code = &job["error"]["code"];
    assert_eq!((&job["status"], code), (&json!("failed"), &json!("upstream_unavailable")));
    assert_eq!(paid(&service, &ada), 0);
    drop(service);

    let service = setup.start(", attempts: 5");
    let ada = service.holder("eve", 1000 * JOB_PRICE);
    let asked_before = setup.upstream.completions().len();
    let id = started(&service, &ada, &question());
    eventually("the step has failed", || {
        setup.upstream.completions().len() > asked_before
            && look(&service, &ada, &id)["status"] == "queued"
    });
    setup.upstream.set_default(Step::Speak(Responder(scholar), Duration::ZERO));
    assert_sound(&ended(&service, &ada, &id));
    let told = events(&service, &ada, &id, "");
    assert!(told.iter().any(|(_, name, _)| name == "step.failed"), "{told:?}");
    assert_eq!(paid(&service, &ada), JOB_PRICE);
}

#[test]
fn many_jobs_run_concurrently() {
    let setup = Setup::new("");
    setup.upstream.set_default(Step::Speak(Responder(scholar), Duration::from_millis(20)));
    let (service, ada) = setup.ready(", workers: 8, max_jobs_per_member: 16");
    let ids: Vec<String> = (0..16).map(|_| started(&service, &ada, &question())).collect();
    for id in &ids {
        assert_sound(&ended(&service, &ada, id));
    }
    assert!(setup.upstream.most_in_flight() > 4, "{}", setup.upstream.most_in_flight());
    assert_eq!(setup.upstream.completions().len(), 16 * 4);
    assert_eq!(paid(&service, &ada), 16 * JOB_PRICE);
}
