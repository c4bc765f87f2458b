//! Research jobs: the queue, its fence, and the money.

use std::collections::HashSet;
use std::sync::Arc;

use gateway_store::{
    FinishedStep, JobClaim, JobEnd, JobEndResult, JobRelease, JobStatus, Key, MAX_PAUSE_MICROS,
    NewJob, NewJobEvent, Progress, ResearchJob, WebhookOutcome,
};
use ledger::{
    ChargeRule, EndReason, Hold, HoldId, IdempotencyConflict, Limits, MemberId, Refusal,
    TokenCounts,
};
use tokio::task::JoinSet;

use crate::world::{DAY, LEASE, SECOND, World, new_id, opening, repeated};

/// The worker of most tests.
const WORKER: i64 = 11;
/// All ids are below this one.
const LAST: HoldId = HoldId::from_bytes([0xff; 16]);

pub(crate) fn new_job(key: &Key, price: i64) -> NewJob {
    let mut hold = opening(key, price).request;
    hold.operation = "research".into();
    NewJob {
        hold,
        query: "why is the sky blue".to_owned(),
        model: "a/b".to_owned(),
        request: b"{}".to_vec(),
        webhook_url: None,
        max_open: 1000,
        max_tries: 3,
        deadline_micros: DAY,
        kept_micros: 2 * DAY,
        event: event("queued"),
    }
}

fn event(kind: &'static str) -> NewJobEvent {
    NewJobEvent { kind, data: b"{}".to_vec() }
}

fn step(number: u32) -> FinishedStep {
    FinishedStep {
        number,
        kind: "search".to_owned(),
        detail: b"{}".to_vec(),
        output: format!("output {number}").into_bytes(),
        took_micros: 5,
        progress: Progress { step: "read".to_owned(), done: number + 1, total: 9 },
        events: vec![event("step.finished"), event("step.started")],
        lease_micros: LEASE,
    }
}

fn fence(job: &ResearchJob) -> JobClaim {
    JobClaim { id: job.id, attempt: job.attempt }
}

fn completed(job: &ResearchJob) -> JobEnd {
    JobEnd {
        id: job.id,
        member: job.member,
        attempt: Some(job.attempt),
        status: JobStatus::Completed,
        ending: EndReason::Complete,
        tokens: TokenCounts { input: Some(5), output: Some(6) },
        result: Some(b"{\"report\":1}".to_vec()),
        error: None,
        progress: Some(Progress { step: "completed".to_owned(), done: 3, total: 3 }),
        events: vec![event("completed")],
    }
}

fn cancelled(id: HoldId, member: MemberId) -> JobEnd {
    JobEnd {
        id,
        member,
        attempt: None,
        status: JobStatus::Cancelled,
        ending: EndReason::Cancelled,
        tokens: TokenCounts::default(),
        result: None,
        error: None,
        progress: None,
        events: vec![event("cancelled")],
    }
}

async fn queued(world: &World, key: &Key) -> Hold {
    world.store.create_job(new_job(key, 10)).await.unwrap().unwrap()
}

async fn claimed(world: &World) -> ResearchJob {
    world.store.claim_job(WORKER, LEASE).await.unwrap().unwrap()
}

pub(crate) async fn a_job_is_queued_with_its_hold_or_not_at_all(world: World) {
    let (member, key) = world.member("ann", 15, Limits::default()).await;
    let (other, _) = world.member("bob", 15, Limits::default()).await;
    let hold = queued(&world, &key).await;
    assert_eq!(world.money(member).await, (15, 10));
    let job = world.store.job(member, hold.id).await.unwrap().unwrap();
    assert_eq!((job.status, job.attempt, job.tries), (JobStatus::Queued, 0, 0));
    assert_eq!((job.query.as_str(), job.charged), ("why is the sky blue", None));
    assert_eq!(world.store.job(other, hold.id).await.unwrap(), None);

    let poor = new_job(&key, 10);
    let id = poor.hold.id;
    let refused = world.store.create_job(poor).await.unwrap();
    assert!(matches!(refused, Err(Refusal::InsufficientBalance { .. })));
    assert_eq!(world.store.job(member, id).await.unwrap(), None);
    // An id is used once, also after its hold has ended.
    let mut again = new_job(&key, 0);
    again.hold.id = hold.id;
    assert_eq!(world.store.create_job(again.clone()).await.unwrap(), Err(Refusal::IdUsed));
    world.store.end_job(cancelled(hold.id, member)).await.unwrap();
    assert_eq!(world.store.create_job(again).await.unwrap(), Err(Refusal::IdUsed));
    world.check().await;
}

/// What a worker does to a job before its member cancels it, and what that costs.
#[derive(Debug, Clone, Copy)]
enum Before {
    Nothing,
    Claim,
    ClaimAndDie,
    FailFirstStep,
    FinishStep,
    FinishStepAndStop,
}

pub(crate) async fn cancelling_costs_once_a_step_has_begun(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let cases = [
        (Before::Nothing, ChargeRule::Cancelled),
        (Before::Claim, ChargeRule::CancelledLate),
        (Before::ClaimAndDie, ChargeRule::CancelledLate),
        (Before::FailFirstStep, ChargeRule::Cancelled),
        (Before::FinishStep, ChargeRule::CancelledLate),
        (Before::FinishStepAndStop, ChargeRule::CancelledLate),
    ];
    let (store, mut paid) = (&world.store, 0);
    for (before, rule) in cases {
        let hold = queued(&world, &key).await;
        if !matches!(before, Before::Nothing) {
            // A worker that died holds no lease.
            let lease = if matches!(before, Before::ClaimAndDie) { 0 } else { LEASE };
            let job = store.claim_job(WORKER, lease).await.unwrap().unwrap();
            assert_eq!(job.id, hold.id);
            if matches!(before, Before::FinishStep | Before::FinishStepAndStop) {
                assert!(store.finish_step(fence(&job), step(0)).await.unwrap());
            }
            let back = match before {
                Before::FailFirstStep => {
                    Some(JobRelease::Failed { after_micros: DAY, event: event("step.failed") })
                }
                Before::FinishStepAndStop => Some(JobRelease::Stopping),
                _ => None,
            };
            if let Some(back) = back {
                assert!(store.release_job(fence(&job), back).await.unwrap());
            }
        }
        let ended = store.end_job(cancelled(hold.id, member)).await.unwrap();
        let JobEndResult::Ended(receipt) = ended else { panic!("{before:?}: {ended:?}") };
        paid += if rule == ChargeRule::CancelledLate { 10 } else { 0 };
        assert_eq!(receipt.rule, rule, "{before:?}");
        assert_eq!(world.money(member).await, (1000 - paid, 0), "{before:?}");
        let job = store.job(member, hold.id).await.unwrap().unwrap();
        assert_eq!((job.status, job.charged), (JobStatus::Cancelled, Some(receipt.charged)));
    }
    world.check().await;
}

pub(crate) async fn open_jobs_of_a_member_are_limited_exactly(world: World) {
    const MAX: u32 = 3;
    let (ann, key) = world.member("ann", 1000, Limits::default()).await;
    let (_, others_key) = world.member("bob", 1000, Limits::default()).await;
    let limited = |key: &Key| NewJob { max_open: MAX, ..new_job(key, 10) };
    // All at once, through two handles on the same database.
    let other = Arc::new(world.another().await);
    let mut racing = JoinSet::new();
    for number in 0..20 {
        let store = Arc::clone(if number % 2 == 0 { &world.store } else { &other });
        let job = limited(&key);
        racing.spawn(async move { store.create_job(job).await.unwrap() });
    }
    let results = racing.join_all().await;
    let refused = Err(Refusal::TooManyJobs { limit: MAX });
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 3);
    assert_eq!(results.iter().filter(|result| **result == refused).count(), 17);
    // Nothing is held for those that were refused, and another member is not affected.
    assert_eq!(world.money(ann).await, (1000, 30));
    assert!(world.store.create_job(limited(&others_key)).await.unwrap().is_ok());
    // Running counts like queued; a job that ended makes room for one more.
    let running = claimed(&world).await;
    let ended = if running.member == ann { running.id } else { claimed(&world).await.id };
    assert_eq!(world.store.create_job(limited(&key)).await.unwrap(), refused);
    world.store.end_job(cancelled(ended, ann)).await.unwrap();
    assert!(world.store.create_job(limited(&key)).await.unwrap().is_ok());
    assert_eq!(world.store.create_job(limited(&key)).await.unwrap(), refused);
    world.check().await;
}

pub(crate) async fn a_job_with_a_word_is_given_again(world: World) {
    let (member, key) = world.member("ann", 100, Limits::default()).await;
    let with_word = |body| {
        let mut job = new_job(&key, 10);
        job.hold.idempotency = repeated(&key, 10, "word", body).request.idempotency;
        job
    };
    let first = world.store.create_job(with_word(1)).await.unwrap().unwrap();
    let again = world.store.create_job(with_word(1)).await.unwrap();
    assert_eq!(again, Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::Answered(first.id))));
    let other = world.store.create_job(with_word(2)).await.unwrap();
    assert_eq!(other, Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::OtherBody)));
    let job = claimed(&world).await;
    assert!(matches!(world.store.end_job(completed(&job)).await.unwrap(), JobEndResult::Ended(_)));
    let again = world.store.create_job(with_word(1)).await.unwrap();
    assert_eq!(again, Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::Answered(first.id))));
    assert_eq!(world.money(member).await, (90, 0));
    // A day later the word is free.
    world.pass(DAY + SECOND);
    assert!(world.store.create_job(with_word(1)).await.unwrap().is_ok());
    world.check().await;
}

pub(crate) async fn a_job_goes_from_queued_to_completed_and_is_charged_once(world: World) {
    let (member, key) = world.member("ann", 100, Limits::default()).await;
    assert_eq!(world.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    let hold = queued(&world, &key).await;
    let job = claimed(&world).await;
    assert_eq!((job.id, job.attempt, job.status), (hold.id, 1, JobStatus::Running));
    assert!(job.started_at.is_some());
    assert_eq!(world.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    for number in 0..3 {
        assert!(world.store.finish_step(fence(&job), step(number)).await.unwrap());
    }
    let steps = world.store.job_steps(job.id).await.unwrap();
    assert_eq!(steps.iter().map(|step| step.number).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(steps[1].output.as_deref(), Some(&b"output 1"[..]));
    let took = steps[1].finished_at.micros() - steps[1].started_at.micros();
    assert!((5..60 * SECOND).contains(&took), "{took}");
    let JobEndResult::Ended(receipt) = world.store.end_job(completed(&job)).await.unwrap() else {
        panic!("it does not end");
    };
    assert_eq!((receipt.charged.get(), receipt.rule), (10, ChargeRule::Answered));
    assert_eq!(receipt.tokens.output, Some(6));
    assert_eq!(world.store.end_job(completed(&job)).await.unwrap(), JobEndResult::NotEnded);
    let done = world.store.job(member, job.id).await.unwrap().unwrap();
    assert_eq!(
        (done.status, done.charged.map(ledger::Micros::get)),
        (JobStatus::Completed, Some(10))
    );
    assert_eq!(done.result.as_deref(), Some(&b"{\"report\":1}"[..]));
    assert_eq!(done.progress.done, 3);
    // What pages said is not kept.
    let steps = world.store.job_steps(job.id).await.unwrap();
    assert!(steps.len() == 3 && steps.iter().all(|step| step.output.is_none()));
    assert_eq!(world.money(member).await, (90, 0));
    assert_eq!(world.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    world.check().await;
}

pub(crate) async fn a_worker_that_lost_its_claim_writes_nothing(world: World) {
    let (member, key) = world.member("ann", 100, Limits::default()).await;
    queued(&world, &key).await;
    let old = claimed(&world).await;
    assert!(world.store.renew_job(fence(&old), LEASE).await.unwrap());
    world.pass(LEASE + SECOND);
    let new = claimed(&world).await;
    assert_eq!((new.id, new.attempt), (old.id, 2));
    assert!(!world.store.renew_job(fence(&old), LEASE).await.unwrap());
    assert!(!world.store.finish_step(fence(&old), step(0)).await.unwrap());
    assert!(!world.store.release_job(fence(&old), JobRelease::Stopping).await.unwrap());
    assert_eq!(world.store.end_job(completed(&old)).await.unwrap(), JobEndResult::NotEnded);
    assert_eq!(world.store.job_steps(old.id).await.unwrap(), []);
    assert_eq!(world.money(member).await, (100, 10));
    assert!(world.store.finish_step(fence(&new), step(0)).await.unwrap());
    assert!(matches!(world.store.end_job(completed(&new)).await.unwrap(), JobEndResult::Ended(_)));
    assert!(!world.store.finish_step(fence(&new), step(1)).await.unwrap());
    assert_eq!(world.money(member).await, (90, 0));
    world.check().await;
}

pub(crate) async fn a_clock_set_back_does_not_prolong_claims(world: World) {
    let (_, key) = world.member("ann", 100, Limits::default()).await;
    queued(&world, &key).await;
    let old = claimed(&world).await;
    world.pass(-LEASE / 2);
    assert_eq!(world.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    world.pass(-LEASE);
    let new = claimed(&world).await;
    assert_eq!((new.id, new.attempt), (old.id, 2));
}

pub(crate) async fn a_clock_set_back_does_not_delay_queued_jobs(world: World) {
    let (_, key) = world.member("ann", 100, Limits::default()).await;
    let queued = queued(&world, &key).await;
    world.pass(-MAX_PAUSE_MICROS);
    assert_eq!(world.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    world.pass(-MAX_PAUSE_MICROS);
    assert_eq!(claimed(&world).await.id, queued.id);
}

pub(crate) async fn a_claim_after_a_crash_goes_on_behind_the_last_step(world: World) {
    let (_, key) = world.member("ann", 100, Limits::default()).await;
    queued(&world, &key).await;
    // Many crashes, each after a step: that is progress, and no limit.
    for number in 0..8 {
        let job = claimed(&world).await;
        assert_eq!((job.attempt, job.tries), (i64::from(number) + 1, 1));
        let steps = world.store.job_steps(job.id).await.unwrap();
        assert_eq!(steps.len(), usize::try_from(number).unwrap());
        assert!(world.store.finish_step(fence(&job), step(number)).await.unwrap());
        world.pass(LEASE + SECOND);
    }
    assert_eq!(world.store.end_overdue_jobs().await.unwrap(), 0);
}

pub(crate) async fn tries_without_a_step_are_limited_and_refunded(world: World) {
    let (member, key) = world.member("ann", 100, Limits::default()).await;
    let hold = queued(&world, &key).await;
    for _ in 0..3 {
        assert_eq!(world.store.end_overdue_jobs().await.unwrap(), 0);
        claimed(&world).await;
        // As long as the last one may be at work, it is not failed.
        assert_eq!(world.store.end_overdue_jobs().await.unwrap(), 0);
        world.pass(LEASE + SECOND);
    }
    assert_eq!(world.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    assert_eq!(world.store.end_overdue_jobs().await.unwrap(), 1);
    let job = world.store.job(member, hold.id).await.unwrap().unwrap();
    assert_eq!((job.status, job.charged.unwrap().get()), (JobStatus::Failed, 0));
    let error = String::from_utf8(job.error.unwrap()).unwrap();
    assert!(error.contains("attempts_exhausted"), "{error}");
    assert_eq!(world.money(member).await, (100, 0));
    world.check().await;
}

pub(crate) async fn a_job_that_is_given_back_is_free_at_once(world: World) {
    let (_, key) = world.member("ann", 100, Limits::default()).await;
    queued(&world, &key).await;
    // A worker that stops counts for nothing, however often.
    for attempt in 1..=6 {
        let job = claimed(&world).await;
        assert_eq!((job.attempt, job.tries), (attempt, 1));
        assert!(world.store.release_job(fence(&job), JobRelease::Stopping).await.unwrap());
        assert!(!world.store.finish_step(fence(&job), step(0)).await.unwrap());
    }
}

pub(crate) async fn a_failed_step_is_tried_later(world: World) {
    let (_, key) = world.member("ann", 100, Limits::default()).await;
    queued(&world, &key).await;
    let job = claimed(&world).await;
    let failed = JobRelease::Failed { after_micros: 60 * SECOND, event: event("step.failed") };
    assert!(world.store.release_job(fence(&job), failed).await.unwrap());
    assert_eq!(world.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    world.pass(61 * SECOND);
    assert_eq!(claimed(&world).await.tries, 2);
}

pub(crate) async fn a_job_that_is_cancelled_while_it_runs_ends_once(world: World) {
    let (member, key) = world.member("ann", 100, Limits::default()).await;
    let (other, _) = world.member("bob", 100, Limits::default()).await;
    let hold = queued(&world, &key).await;
    let job = claimed(&world).await;
    assert_eq!(
        world.store.end_job(cancelled(hold.id, other)).await.unwrap(),
        JobEndResult::NotEnded
    );
    let ended = world.store.end_job(cancelled(hold.id, member)).await.unwrap();
    assert!(matches!(ended, JobEndResult::Ended(receipt) if receipt.charged.get() == 10));
    assert_eq!(
        world.store.end_job(cancelled(hold.id, member)).await.unwrap(),
        JobEndResult::NotEnded
    );
    assert_eq!(world.store.end_job(completed(&job)).await.unwrap(), JobEndResult::NotEnded);
    assert!(!world.store.renew_job(fence(&job), LEASE).await.unwrap());
    assert_eq!(world.store.job_status(hold.id).await.unwrap(), Some((JobStatus::Cancelled, 1)));
    assert_eq!(world.money(member).await, (90, 0));
    world.check().await;
}

pub(crate) async fn the_hold_of_a_job_outlives_every_lease(world: World) {
    let (member, key) = world.member("ann", 100, Limits::default()).await;
    let mut long = new_job(&key, 10);
    long.deadline_micros = 100 * DAY;
    world.store.create_job(long).await.unwrap().unwrap();
    claimed(&world).await;
    // All processes are away for days, and another one starts.
    world.pass(50 * DAY);
    assert_eq!(world.store.expire_holds().await.unwrap(), 0);
    assert_eq!(world.store.end_holds_except(99).await.unwrap(), 0);
    world.store.delete_expired().await.unwrap();
    assert_eq!(world.money(member).await, (100, 10));
    let job = claimed(&world).await;
    assert!(matches!(world.store.end_job(completed(&job)).await.unwrap(), JobEndResult::Ended(_)));
    assert_eq!(world.money(member).await, (90, 0));
    world.check().await;
}

pub(crate) async fn a_late_job_expires(world: World) {
    let (member, key) = world.member("ann", 100, Limits::default()).await;
    let waiting = queued(&world, &key).await;
    world.pass(DAY + SECOND);
    assert_eq!(world.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    assert_eq!(world.store.end_overdue_jobs().await.unwrap(), 1);
    let job = world.store.job(member, waiting.id).await.unwrap().unwrap();
    assert_eq!((job.status, job.charged.unwrap().get()), (JobStatus::Expired, 0));
    assert_eq!(world.money(member).await, (100, 0));
    let receipt = world.store.receipt(Some(member), waiting.id).await.unwrap().unwrap();
    assert_eq!(receipt.rule, ChargeRule::Expired);
    world.check().await;
}

pub(crate) async fn jobs_are_listed_in_pages_of_their_member(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let (other, _) = world.member("bob", 1000, Limits::default()).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(queued(&world, &key).await.id);
    }
    ids.reverse();
    let first = world.store.jobs(member, LAST, 2).await.unwrap();
    let rest = world.store.jobs(member, first[1].id, 9).await.unwrap();
    let listed: Vec<HoldId> = first.iter().chain(&rest).map(|job| job.id).collect();
    assert_eq!((first.len(), listed), (2, ids));
    assert_eq!(world.store.jobs(other, LAST, 9).await.unwrap(), []);
}

pub(crate) async fn events_are_numbered_without_gaps(world: World) {
    let (_, key) = world.member("ann", 100, Limits::default()).await;
    queued(&world, &key).await;
    let job = claimed(&world).await;
    world.store.finish_step(fence(&job), step(0)).await.unwrap();
    let failed = JobRelease::Failed { after_micros: 0, event: event("step.failed") };
    world.store.release_job(fence(&job), failed).await.unwrap();
    let job = claimed(&world).await;
    world.store.end_job(completed(&job)).await.unwrap();
    let events = world.store.job_events(job.id, 0, 100).await.unwrap();
    let seen: Vec<(i64, &str)> =
        events.iter().map(|event| (event.sequence, event.kind.as_str())).collect();
    let expected = [
        "queued",
        "running",
        "step.finished",
        "step.started",
        "step.failed",
        "running",
        "completed",
    ];
    assert_eq!(seen, (1..).zip(expected).collect::<Vec<_>>());
    assert_eq!(world.store.job_events(job.id, 5, 1).await.unwrap(), events[5..6]);
    let attempt: serde_json::Value = serde_json::from_slice(&events[5].data).unwrap();
    assert_eq!(attempt["attempt"], 2);
}

pub(crate) async fn ends_are_told_and_told_again(world: World) {
    let (_, key) = world.member("ann", 100, Limits::default()).await;
    let mut new = new_job(&key, 10);
    new.webhook_url = Some("https://a.example/hook".to_owned());
    world.store.create_job(new).await.unwrap().unwrap();
    let job = claimed(&world).await;
    assert_eq!(world.store.claim_webhook(LEASE).await.unwrap(), None);
    world.store.end_job(completed(&job)).await.unwrap();
    let (first, told) = world.store.claim_webhook(LEASE).await.unwrap().unwrap();
    assert_eq!((first.id, first.tries, told.status), (job.id, 1, JobStatus::Completed));
    assert_eq!(first.url, "https://a.example/hook");
    assert_eq!(world.store.claim_webhook(LEASE).await.unwrap(), None);
    // Whoever was to tell it died.
    world.pass(LEASE + SECOND);
    let (second, _) = world.store.claim_webhook(LEASE).await.unwrap().unwrap();
    assert_eq!(second.tries, 2);
    assert!(!world.store.finish_webhook(&first, WebhookOutcome::Delivered).await.unwrap());
    let again = WebhookOutcome::Again { after_micros: 60 * SECOND };
    assert!(world.store.finish_webhook(&second, again).await.unwrap());
    assert_eq!(world.store.claim_webhook(LEASE).await.unwrap(), None);
    world.pass(61 * SECOND);
    let (third, _) = world.store.claim_webhook(LEASE).await.unwrap().unwrap();
    assert!(world.store.finish_webhook(&third, WebhookOutcome::Delivered).await.unwrap());
    world.pass(DAY);
    assert_eq!(world.store.claim_webhook(LEASE).await.unwrap(), None);
}

pub(crate) async fn jobs_are_forgotten_after_their_time(world: World) {
    let (member, key) = world.member("ann", 100, Limits::default()).await;
    let live = queued(&world, &key).await;
    let job = claimed(&world).await;
    assert_eq!(job.id, live.id);
    world.store.finish_step(fence(&job), step(0)).await.unwrap();
    world.store.end_job(completed(&job)).await.unwrap();
    world.pass(2 * DAY - 60 * SECOND);
    world.store.delete_expired().await.unwrap();
    assert!(world.store.job(member, job.id).await.unwrap().is_some());
    world.pass(61 * SECOND);
    // Gone for its member, and soon altogether.
    assert_eq!(world.store.job(member, job.id).await.unwrap(), None);
    assert_eq!(world.store.jobs(member, LAST, 9).await.unwrap(), []);
    assert_eq!(world.store.delete_expired().await.unwrap(), 1);
    assert_eq!(world.store.job_steps(job.id).await.unwrap(), []);
    assert_eq!(world.store.job_events(job.id, 0, 9).await.unwrap(), []);
    assert_eq!(world.store.job_status(job.id).await.unwrap(), None);
    world.check().await;
}

pub(crate) async fn no_two_workers_have_one_job(world: World) {
    const JOBS: usize = 60;
    let (member, key) = world.member("ann", 10_000, Limits::default()).await;
    for _ in 0..JOBS {
        queued(&world, &key).await;
    }
    let mut workers = JoinSet::new();
    for worker in 1..=8 {
        let store = Arc::clone(&world.store);
        workers.spawn(async move {
            let mut mine = Vec::new();
            // Nothing is free: all is done, or another one is just taking the last.
            while let Some(job) = store.claim_job(worker, LEASE).await.unwrap() {
                assert!(store.finish_step(fence(&job), step(0)).await.unwrap());
                let ended = store.end_job(completed(&job)).await.unwrap();
                assert!(matches!(ended, JobEndResult::Ended(_)));
                mine.push(job.id);
            }
            mine
        });
    }
    let done: Vec<HoldId> = workers.join_all().await.into_iter().flatten().collect();
    let once: HashSet<HoldId> = done.iter().copied().collect();
    assert_eq!((done.len(), once.len()), (JOBS, JOBS));
    assert_eq!(world.money(member).await, (10_000 - 10 * 60, 0));
    assert_ne!(new_id(), new_id());
    world.check().await;
}
