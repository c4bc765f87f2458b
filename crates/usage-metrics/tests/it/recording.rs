//! Counting in memory and storing in the background.

use std::sync::Arc;
use std::time::Duration;

use agent_test_support::wait::eventually;
use usage_metrics::catalogue::{
    ApprovalOutcome, CallApproval, Cell, CountBucket, DurationBucket, EndReason, Entrypoint,
    ExecutionSurface, Kind, LatencyBucket, Locality, ModelCall, ModelCallOutcome, ModelFamily,
    PostPatchState, Provenance, ProviderFamily, RetryBucket, ReuseState, SkillAction,
    SkillLifecycle, SkillLoad, TaskFinished, TaskOutcome, TaskStarted, Termination, ToolCall,
    ToolCategory, ToolOutcome,
};
use usage_metrics::clock::ManualClock;
use usage_metrics::package::Counter;
use usage_metrics::recorder::{FlushResult, Recorder};
use usage_metrics::store::PackageScope;

use crate::fixtures::{
    TestStore, WAIT, all_packages, approval, assert_valid, noon, recorder, route, totals,
};

const LONG: Duration = Duration::from_hours(1);

#[test]
fn all_nine_kinds_are_counted_and_packaged() {
    let temp = TestStore::new();
    let clock = Arc::new(ManualClock::at(noon()));
    let recorder = recorder(&temp.folder, &clock, LONG);
    recorder.client_active();
    recorder.count_route("GPT-5 ", "OpenAI");
    recorder.count(&ModelCall {
        call_role: usage_metrics::catalogue::CallRole::Primary,
        locality: Locality::Remote,
        model_family: ModelFamily::Gpt,
        outcome: ModelCallOutcome::Success,
        provider_family: ProviderFamily::Direct,
    });
    recorder.count(&TaskStarted {
        entrypoint: Entrypoint::Interactive,
        execution_surface: ExecutionSurface::Cli,
    });
    recorder.count(&TaskFinished {
        duration_bucket: DurationBucket::From30sTo2m,
        end_reason: EndReason::Completed,
        entrypoint: Entrypoint::Interactive,
        execution_surface: ExecutionSurface::Cli,
        model_call_count_bucket: CountBucket::From3To5,
        outcome: TaskOutcome::Success,
        retry_count_bucket: CountBucket::Zero,
        termination: Termination::None,
        tool_call_count_bucket: CountBucket::Two,
    });
    recorder.count(&ToolCall {
        approval_outcome: CallApproval::NotRequired,
        latency_bucket: LatencyBucket::Lt100ms,
        outcome: ToolOutcome::Success,
        retry_count_bucket: RetryBucket::Unknown,
        tool_category: ToolCategory::Mcp,
    });
    recorder.count(&approval(ApprovalOutcome::Approved));
    recorder.count(&SkillLifecycle {
        action: SkillAction::Created,
        provenance: Provenance::AgentCreated,
    });
    recorder.count(&SkillLoad {
        post_patch_state: PostPatchState::NotApplicable,
        provenance: Provenance::Local,
        reuse_state: ReuseState::FirstUse,
        use_count_bucket: CountBucket::One,
    });
    assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
    let draft = temp.existing().drafts(PackageScope::All).unwrap().remove(0);
    assert_valid(&draft);
    let mut kinds: Vec<Kind> = draft.metrics.iter().map(|it| it.counter.kind()).collect();
    kinds.sort();
    assert_eq!(kinds, Kind::ALL);
    assert!(draft.metrics.iter().all(|metric| metric.value == 1));
}

#[test]
fn concurrent_threads_lose_no_count() {
    let temp = TestStore::new();
    let clock = Arc::new(ManualClock::at(noon()));
    let recorder = recorder(&temp.folder, &clock, Duration::from_millis(1));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let recorder = &recorder;
            scope.spawn(move || {
                for at in 0..20_000 {
                    recorder.count(&approval(ApprovalOutcome::ALL[at % 4]));
                    recorder.count_route(["m0", "m1", "m2"][(thread + at) % 3], "lab");
                }
            });
        }
    });
    assert_eq!(recorder.close(WAIT), FlushResult::Stored);
    let store = temp.existing();
    let totals = totals(&all_packages(&store));
    for outcome in ApprovalOutcome::ALL {
        let counter = Counter::Cell(Cell::of(&approval(*outcome)));
        assert_eq!(totals[&counter], 8 * 5_000);
    }
    let routes: u64 = ["m0", "m1", "m2"].iter().map(|model| totals[&route(model)]).sum();
    assert_eq!(routes, 8 * 20_000);
}

#[test]
fn counts_are_stored_in_the_background() {
    let temp = TestStore::new();
    let clock = Arc::new(ManualClock::at(noon()));
    let recorder = recorder(&temp.folder, &clock, Duration::from_millis(10));
    for round in 1..=3 {
        recorder.count_route("gpt-5", "lab");
        eventually("the count is stored", || {
            let store = usage_metrics::store::Store::existing(&temp.folder, uuid::Uuid::new_v4);
            store.ok().flatten().is_some_and(|store| {
                totals(&all_packages(&store)).get(&route("gpt-5")) == Some(&round)
            })
        });
    }
}

#[test]
fn dropping_the_last_handle_stores_all_counts() {
    let temp = TestStore::new();
    let clock = Arc::new(ManualClock::at(noon()));
    let recorder = recorder(&temp.folder, &clock, LONG);
    let other = recorder.clone();
    other.count_route("gpt-5", "lab");
    drop(recorder);
    other.count_route("gpt-5", "lab");
    drop(other);
    assert_eq!(totals(&all_packages(&temp.existing()))[&route("gpt-5")], 2);
}

#[test]
fn disabled_recorder_writes_nothing() {
    let recorder = Recorder::off();
    recorder.count_route("gpt-5", "lab");
    recorder.count(&approval(ApprovalOutcome::Denied));
    recorder.client_active();
    assert!(!recorder.is_on());
    assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
    assert_eq!(recorder.close(WAIT), FlushResult::Stored);
}

#[test]
fn past_days_are_packaged_in_the_background() {
    let temp = TestStore::new();
    let clock = Arc::new(ManualClock::at(noon()));
    let recorder = recorder(&temp.folder, &clock, LONG);
    recorder.count_route("gpt-5", "lab");
    assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
    clock.set(crate::fixtures::hours_later(noon(), 24));
    recorder.count_route("gpt-5", "lab");
    assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
    let packages = temp.existing().packages().unwrap();
    assert_eq!(packages.len(), 1);
    let file = std::fs::read(temp.folder.package(&packages[0].package_id)).unwrap();
    assert_eq!(file, packages[0].bytes);
}
