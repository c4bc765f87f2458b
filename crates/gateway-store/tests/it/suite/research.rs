//! Research jobs: the queue, claims and charges.

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

use crate::test_database::{DAY, LEASE, SECOND, TestDatabase, new_hold, new_id, with_key};

const WORKER: i64 = 11;
/// Larger than all ids.
const LAST: HoldId = HoldId::from_bytes([0xff; 16]);

pub(crate) fn new_job(key: &Key, price: i64) -> NewJob {
    let mut hold = new_hold(key, price).request;
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
        retention_micros: 2 * DAY,
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
        reason: EndReason::Complete,
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
        reason: EndReason::Cancelled,
        tokens: TokenCounts::default(),
        result: None,
        error: None,
        progress: None,
        events: vec![event("cancelled")],
    }
}

async fn queued(db: &TestDatabase, key: &Key) -> Hold {
    db.store.create_job(new_job(key, 10)).await.unwrap().unwrap()
}

async fn claimed(db: &TestDatabase) -> ResearchJob {
    db.store.claim_job(WORKER, LEASE).await.unwrap().unwrap()
}

pub(crate) async fn a_job_is_queued_only_together_with_its_hold(db: TestDatabase) {
    let (member, key) = db.member("ann", 15, Limits::default()).await;
    let (other, _) = db.member("bob", 15, Limits::default()).await;
    let hold = queued(&db, &key).await;
    assert_eq!(db.money(member).await, (15, 10));
    let job = db.store.job(member, hold.id).await.unwrap().unwrap();
    assert_eq!((job.status, job.attempt, job.tries), (JobStatus::Queued, 0, 0));
    assert_eq!((job.query.as_str(), job.charged), ("why is the sky blue", None));
    assert_eq!(db.store.job(other, hold.id).await.unwrap(), None);

    let poor = new_job(&key, 10);
    let id = poor.hold.id;
    let refused = db.store.create_job(poor).await.unwrap();
    assert!(matches!(refused, Err(Refusal::InsufficientBalance { .. })));
    assert_eq!(db.store.job(member, id).await.unwrap(), None);
    // An id is not reusable, even after its hold has ended.
    let mut again = new_job(&key, 0);
    again.hold.id = hold.id;
    assert_eq!(db.store.create_job(again.clone()).await.unwrap(), Err(Refusal::IdUsed));
    db.store.end_job(cancelled(hold.id, member)).await.unwrap();
    assert_eq!(db.store.create_job(again).await.unwrap(), Err(Refusal::IdUsed));
    db.check().await;
}

/// What a worker does before the member cancels, and the charge.
#[derive(Debug, Clone, Copy)]
enum Before {
    Nothing,
    Claim,
    ClaimAndDie,
    FailFirstStep,
    FinishStep,
    FinishStepAndStop,
}

pub(crate) async fn cancelling_is_charged_after_a_step_has_started(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let cases = [
        (Before::Nothing, ChargeRule::Cancelled),
        (Before::Claim, ChargeRule::CancelledLate),
        (Before::ClaimAndDie, ChargeRule::CancelledLate),
        (Before::FailFirstStep, ChargeRule::Cancelled),
        (Before::FinishStep, ChargeRule::CancelledLate),
        (Before::FinishStepAndStop, ChargeRule::CancelledLate),
    ];
    let (store, mut paid) = (&db.store, 0);
    for (before, rule) in cases {
        let hold = queued(&db, &key).await;
        if !matches!(before, Before::Nothing) {
            // The lease of a crashed worker is over.
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
        assert_eq!(db.money(member).await, (1000 - paid, 0), "{before:?}");
        let job = store.job(member, hold.id).await.unwrap().unwrap();
        assert_eq!((job.status, job.charged), (JobStatus::Cancelled, Some(receipt.charged)));
    }
    db.check().await;
}

pub(crate) async fn the_limit_of_open_jobs_is_exact(db: TestDatabase) {
    const MAX: u32 = 3;
    let (ann, key) = db.member("ann", 1000, Limits::default()).await;
    let (_, others_key) = db.member("bob", 1000, Limits::default()).await;
    let limited = |key: &Key| NewJob { max_open: MAX, ..new_job(key, 10) };
    // Concurrently, through two handles on the same database.
    let other = Arc::new(db.another().await);
    let mut racing = JoinSet::new();
    for number in 0..20 {
        let store = Arc::clone(if number % 2 == 0 { &db.store } else { &other });
        let job = limited(&key);
        racing.spawn(async move { store.create_job(job).await.unwrap() });
    }
    let results = racing.join_all().await;
    let refused = Err(Refusal::TooManyJobs { limit: MAX });
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 3);
    assert_eq!(results.iter().filter(|result| **result == refused).count(), 17);
    // Rejected jobs hold nothing, and another member is not affected.
    assert_eq!(db.money(ann).await, (1000, 30));
    assert!(db.store.create_job(limited(&others_key)).await.unwrap().is_ok());
    // Running jobs count like queued ones; an ended job does not count.
    let running = claimed(&db).await;
    let ended = if running.member == ann { running.id } else { claimed(&db).await.id };
    assert_eq!(db.store.create_job(limited(&key)).await.unwrap(), refused);
    db.store.end_job(cancelled(ended, ann)).await.unwrap();
    assert!(db.store.create_job(limited(&key)).await.unwrap().is_ok());
    assert_eq!(db.store.create_job(limited(&key)).await.unwrap(), refused);
    db.check().await;
}

pub(crate) async fn a_repeated_key_returns_the_same_job(db: TestDatabase) {
    let (member, key) = db.member("ann", 100, Limits::default()).await;
    let with_word = |body| {
        let mut job = new_job(&key, 10);
        job.hold.idempotency = with_key(&key, 10, "word", body).request.idempotency;
        job
    };
    let first = db.store.create_job(with_word(1)).await.unwrap().unwrap();
    let again = db.store.create_job(with_word(1)).await.unwrap();
    assert_eq!(again, Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::Answered(first.id))));
    let other = db.store.create_job(with_word(2)).await.unwrap();
    assert_eq!(other, Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::OtherBody)));
    let job = claimed(&db).await;
    assert!(matches!(db.store.end_job(completed(&job)).await.unwrap(), JobEndResult::Ended(_)));
    let again = db.store.create_job(with_word(1)).await.unwrap();
    assert_eq!(again, Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::Answered(first.id))));
    assert_eq!(db.money(member).await, (90, 0));
    // After a day the key is reusable.
    db.advance_clock(DAY + SECOND);
    assert!(db.store.create_job(with_word(1)).await.unwrap().is_ok());
    db.check().await;
}

pub(crate) async fn a_completed_job_is_charged_once(db: TestDatabase) {
    let (member, key) = db.member("ann", 100, Limits::default()).await;
    assert_eq!(db.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    let hold = queued(&db, &key).await;
    let job = claimed(&db).await;
    assert_eq!((job.id, job.attempt, job.status), (hold.id, 1, JobStatus::Running));
    assert!(job.started_at.is_some());
    assert_eq!(db.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    for number in 0..3 {
        assert!(db.store.finish_step(fence(&job), step(number)).await.unwrap());
    }
    let steps = db.store.job_steps(job.id).await.unwrap();
    assert_eq!(steps.iter().map(|step| step.number).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(steps[1].output.as_deref(), Some(&b"output 1"[..]));
    let took = steps[1].finished_at.micros() - steps[1].started_at.micros();
    assert!((5..60 * SECOND).contains(&took), "{took}");
    let JobEndResult::Ended(receipt) = db.store.end_job(completed(&job)).await.unwrap() else {
        panic!("it does not end");
    };
    assert_eq!((receipt.charged.get(), receipt.rule), (10, ChargeRule::Answered));
    assert_eq!(receipt.tokens.output, Some(6));
    assert_eq!(db.store.end_job(completed(&job)).await.unwrap(), JobEndResult::NotEnded);
    let done = db.store.job(member, job.id).await.unwrap().unwrap();
    assert_eq!(
        (done.status, done.charged.map(ledger::Micros::get)),
        (JobStatus::Completed, Some(10))
    );
    assert_eq!(done.result.as_deref(), Some(&b"{\"report\":1}"[..]));
    assert_eq!(done.progress.done, 3);
    // Outputs of steps are deleted.
    let steps = db.store.job_steps(job.id).await.unwrap();
    assert!(steps.len() == 3 && steps.iter().all(|step| step.output.is_none()));
    assert_eq!(db.money(member).await, (90, 0));
    assert_eq!(db.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    db.check().await;
}

pub(crate) async fn writes_with_a_lost_claim_have_no_effect(db: TestDatabase) {
    let (member, key) = db.member("ann", 100, Limits::default()).await;
    queued(&db, &key).await;
    let old = claimed(&db).await;
    assert!(db.store.renew_job(fence(&old), LEASE).await.unwrap());
    db.advance_clock(LEASE + SECOND);
    let new = claimed(&db).await;
    assert_eq!((new.id, new.attempt), (old.id, 2));
    assert!(!db.store.renew_job(fence(&old), LEASE).await.unwrap());
    assert!(!db.store.finish_step(fence(&old), step(0)).await.unwrap());
    assert!(!db.store.release_job(fence(&old), JobRelease::Stopping).await.unwrap());
    assert_eq!(db.store.end_job(completed(&old)).await.unwrap(), JobEndResult::NotEnded);
    assert_eq!(db.store.job_steps(old.id).await.unwrap(), []);
    assert_eq!(db.money(member).await, (100, 10));
    assert!(db.store.finish_step(fence(&new), step(0)).await.unwrap());
    assert!(matches!(db.store.end_job(completed(&new)).await.unwrap(), JobEndResult::Ended(_)));
    assert!(!db.store.finish_step(fence(&new), step(1)).await.unwrap());
    assert_eq!(db.money(member).await, (90, 0));
    db.check().await;
}

pub(crate) async fn a_clock_set_back_does_not_prolong_claims(db: TestDatabase) {
    let (_, key) = db.member("ann", 100, Limits::default()).await;
    queued(&db, &key).await;
    let old = claimed(&db).await;
    db.advance_clock(-LEASE / 2);
    assert_eq!(db.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    db.advance_clock(-LEASE);
    let new = claimed(&db).await;
    assert_eq!((new.id, new.attempt), (old.id, 2));
}

pub(crate) async fn a_clock_set_back_does_not_delay_queued_jobs(db: TestDatabase) {
    let (_, key) = db.member("ann", 100, Limits::default()).await;
    let queued = queued(&db, &key).await;
    db.advance_clock(-MAX_PAUSE_MICROS);
    assert_eq!(db.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    db.advance_clock(-MAX_PAUSE_MICROS);
    assert_eq!(claimed(&db).await.id, queued.id);
}

pub(crate) async fn a_new_claim_continues_after_the_last_step(db: TestDatabase) {
    let (_, key) = db.member("ann", 100, Limits::default()).await;
    queued(&db, &key).await;
    // Crashes after a finished step are not limited.
    for number in 0..8 {
        let job = claimed(&db).await;
        assert_eq!((job.attempt, job.tries), (i64::from(number) + 1, 1));
        let steps = db.store.job_steps(job.id).await.unwrap();
        assert_eq!(steps.len(), usize::try_from(number).unwrap());
        assert!(db.store.finish_step(fence(&job), step(number)).await.unwrap());
        db.advance_clock(LEASE + SECOND);
    }
    assert_eq!(db.store.end_overdue_jobs().await.unwrap(), 0);
}

pub(crate) async fn jobs_without_progress_fail_and_are_not_charged(db: TestDatabase) {
    let (member, key) = db.member("ann", 100, Limits::default()).await;
    let hold = queued(&db, &key).await;
    for _ in 0..3 {
        assert_eq!(db.store.end_overdue_jobs().await.unwrap(), 0);
        claimed(&db).await;
        // A job is not failed while its last worker may be running.
        assert_eq!(db.store.end_overdue_jobs().await.unwrap(), 0);
        db.advance_clock(LEASE + SECOND);
    }
    assert_eq!(db.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    assert_eq!(db.store.end_overdue_jobs().await.unwrap(), 1);
    let job = db.store.job(member, hold.id).await.unwrap().unwrap();
    assert_eq!((job.status, job.charged.unwrap().get()), (JobStatus::Failed, 0));
    let error = String::from_utf8(job.error.unwrap()).unwrap();
    assert!(error.contains("attempts_exhausted"), "{error}");
    assert_eq!(db.money(member).await, (100, 0));
    db.check().await;
}

pub(crate) async fn released_jobs_can_be_claimed_at_once(db: TestDatabase) {
    let (_, key) = db.member("ann", 100, Limits::default()).await;
    queued(&db, &key).await;
    // Releases of a stopping worker are not counted.
    for attempt in 1..=6 {
        let job = claimed(&db).await;
        assert_eq!((job.attempt, job.tries), (attempt, 1));
        assert!(db.store.release_job(fence(&job), JobRelease::Stopping).await.unwrap());
        assert!(!db.store.finish_step(fence(&job), step(0)).await.unwrap());
    }
}

pub(crate) async fn failed_steps_are_retried_later(db: TestDatabase) {
    let (_, key) = db.member("ann", 100, Limits::default()).await;
    queued(&db, &key).await;
    let job = claimed(&db).await;
    let failed = JobRelease::Failed { after_micros: 60 * SECOND, event: event("step.failed") };
    assert!(db.store.release_job(fence(&job), failed).await.unwrap());
    assert_eq!(db.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    db.advance_clock(61 * SECOND);
    assert_eq!(claimed(&db).await.tries, 2);
}

pub(crate) async fn a_job_cancelled_while_running_ends_once(db: TestDatabase) {
    let (member, key) = db.member("ann", 100, Limits::default()).await;
    let (other, _) = db.member("bob", 100, Limits::default()).await;
    let hold = queued(&db, &key).await;
    let job = claimed(&db).await;
    assert_eq!(db.store.end_job(cancelled(hold.id, other)).await.unwrap(), JobEndResult::NotEnded);
    let ended = db.store.end_job(cancelled(hold.id, member)).await.unwrap();
    assert!(matches!(ended, JobEndResult::Ended(receipt) if receipt.charged.get() == 10));
    assert_eq!(db.store.end_job(cancelled(hold.id, member)).await.unwrap(), JobEndResult::NotEnded);
    assert_eq!(db.store.end_job(completed(&job)).await.unwrap(), JobEndResult::NotEnded);
    assert!(!db.store.renew_job(fence(&job), LEASE).await.unwrap());
    assert_eq!(db.store.job_status(hold.id).await.unwrap(), Some((JobStatus::Cancelled, 1)));
    assert_eq!(db.money(member).await, (90, 0));
    db.check().await;
}

pub(crate) async fn job_holds_do_not_expire(db: TestDatabase) {
    let (member, key) = db.member("ann", 100, Limits::default()).await;
    let mut long = new_job(&key, 10);
    long.deadline_micros = 100 * DAY;
    db.store.create_job(long).await.unwrap().unwrap();
    claimed(&db).await;
    // All processes are down for days, and another one starts.
    db.advance_clock(50 * DAY);
    assert_eq!(db.store.expire_holds().await.unwrap(), 0);
    assert_eq!(db.store.end_holds_except(99).await.unwrap(), 0);
    db.store.delete_expired().await.unwrap();
    assert_eq!(db.money(member).await, (100, 10));
    let job = claimed(&db).await;
    assert!(matches!(db.store.end_job(completed(&job)).await.unwrap(), JobEndResult::Ended(_)));
    assert_eq!(db.money(member).await, (90, 0));
    db.check().await;
}

pub(crate) async fn jobs_expire_at_their_deadline(db: TestDatabase) {
    let (member, key) = db.member("ann", 100, Limits::default()).await;
    let waiting = queued(&db, &key).await;
    db.advance_clock(DAY + SECOND);
    assert_eq!(db.store.claim_job(WORKER, LEASE).await.unwrap(), None);
    assert_eq!(db.store.end_overdue_jobs().await.unwrap(), 1);
    let job = db.store.job(member, waiting.id).await.unwrap().unwrap();
    assert_eq!((job.status, job.charged.unwrap().get()), (JobStatus::Expired, 0));
    assert_eq!(db.money(member).await, (100, 0));
    let receipt = db.store.receipt(Some(member), waiting.id).await.unwrap().unwrap();
    assert_eq!(receipt.rule, ChargeRule::Expired);
    db.check().await;
}

pub(crate) async fn jobs_of_a_member_are_paged(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let (other, _) = db.member("bob", 1000, Limits::default()).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(queued(&db, &key).await.id);
    }
    ids.reverse();
    let first = db.store.jobs(member, LAST, 2).await.unwrap();
    let rest = db.store.jobs(member, first[1].id, 9).await.unwrap();
    let listed: Vec<HoldId> = first.iter().chain(&rest).map(|job| job.id).collect();
    assert_eq!((first.len(), listed), (2, ids));
    assert_eq!(db.store.jobs(other, LAST, 9).await.unwrap(), []);
}

pub(crate) async fn job_events_are_numbered_without_gaps(db: TestDatabase) {
    let (_, key) = db.member("ann", 100, Limits::default()).await;
    queued(&db, &key).await;
    let job = claimed(&db).await;
    db.store.finish_step(fence(&job), step(0)).await.unwrap();
    let failed = JobRelease::Failed { after_micros: 0, event: event("step.failed") };
    db.store.release_job(fence(&job), failed).await.unwrap();
    let job = claimed(&db).await;
    db.store.end_job(completed(&job)).await.unwrap();
    let events = db.store.job_events(job.id, 0, 100).await.unwrap();
    let seen: Vec<(i64, &str)> =
        events.iter().map(|event| (event.sequence, event.kind.as_str())).collect();
    let expected = [
        "queued", "running", "step.finished", "step.started", "step.failed", "running", "completed",
    ];
    assert_eq!(seen, (1..).zip(expected).collect::<Vec<_>>());
    assert_eq!(db.store.job_events(job.id, 5, 1).await.unwrap(), events[5..6]);
    let attempt: serde_json::Value = serde_json::from_slice(&events[5].data).unwrap();
    assert_eq!(attempt["attempt"], 2);
}

pub(crate) async fn webhooks_are_retried_until_delivered(db: TestDatabase) {
    let (_, key) = db.member("ann", 100, Limits::default()).await;
    let mut new = new_job(&key, 10);
    new.webhook_url = Some("https://a.example/hook".to_owned());
    db.store.create_job(new).await.unwrap().unwrap();
    let job = claimed(&db).await;
    assert_eq!(db.store.claim_webhook(LEASE).await.unwrap(), None);
    db.store.end_job(completed(&job)).await.unwrap();
    let (first, told) = db.store.claim_webhook(LEASE).await.unwrap().unwrap();
    assert_eq!((first.id, first.tries, told.status), (job.id, 1, JobStatus::Completed));
    assert_eq!(first.url, "https://a.example/hook");
    assert_eq!(db.store.claim_webhook(LEASE).await.unwrap(), None);
    // The process that claimed the webhook crashed.
    db.advance_clock(LEASE + SECOND);
    let (second, _) = db.store.claim_webhook(LEASE).await.unwrap().unwrap();
    assert_eq!(second.tries, 2);
    assert!(!db.store.finish_webhook(&first, WebhookOutcome::Delivered).await.unwrap());
    let again = WebhookOutcome::Retry { after_micros: 60 * SECOND };
    assert!(db.store.finish_webhook(&second, again).await.unwrap());
    assert_eq!(db.store.claim_webhook(LEASE).await.unwrap(), None);
    db.advance_clock(61 * SECOND);
    let (third, _) = db.store.claim_webhook(LEASE).await.unwrap().unwrap();
    assert!(db.store.finish_webhook(&third, WebhookOutcome::Delivered).await.unwrap());
    db.advance_clock(DAY);
    assert_eq!(db.store.claim_webhook(LEASE).await.unwrap(), None);
}

pub(crate) async fn expired_jobs_are_deleted(db: TestDatabase) {
    let (member, key) = db.member("ann", 100, Limits::default()).await;
    let live = queued(&db, &key).await;
    let job = claimed(&db).await;
    assert_eq!(job.id, live.id);
    db.store.finish_step(fence(&job), step(0)).await.unwrap();
    db.store.end_job(completed(&job)).await.unwrap();
    db.advance_clock(2 * DAY - 60 * SECOND);
    db.store.delete_expired().await.unwrap();
    assert!(db.store.job(member, job.id).await.unwrap().is_some());
    db.advance_clock(61 * SECOND);
    // The member cannot read it any more, and it is deleted later.
    assert_eq!(db.store.job(member, job.id).await.unwrap(), None);
    assert_eq!(db.store.jobs(member, LAST, 9).await.unwrap(), []);
    assert_eq!(db.store.delete_expired().await.unwrap(), 1);
    assert_eq!(db.store.job_steps(job.id).await.unwrap(), []);
    assert_eq!(db.store.job_events(job.id, 0, 9).await.unwrap(), []);
    assert_eq!(db.store.job_status(job.id).await.unwrap(), None);
    db.check().await;
}

pub(crate) async fn concurrent_workers_never_share_a_job(db: TestDatabase) {
    const JOBS: usize = 60;
    let (member, key) = db.member("ann", 10_000, Limits::default()).await;
    for _ in 0..JOBS {
        queued(&db, &key).await;
    }
    let mut workers = JoinSet::new();
    for worker in 1..=8 {
        let store = Arc::clone(&db.store);
        workers.spawn(async move {
            let mut mine = Vec::new();
            // No job is free: all are done, or another worker is claiming the last.
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
    assert_eq!(db.money(member).await, (10_000 - 10 * 60, 0));
    assert_ne!(new_id(), new_id());
    db.check().await;
}
