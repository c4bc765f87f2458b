//! Processes, reloads and drained providers.

use gateway_store::{Actor, ProcessReport, ProviderAction, SharedState};

use crate::test_database::TestDatabase;

fn actor() -> Actor {
    Actor { name: "cli:op".to_owned(), request: None }
}

fn report(owner: i64, generation: i64) -> ProcessReport {
    ProcessReport { owner, name: format!("host:{owner}"), generation, problems: String::new() }
}

pub(super) async fn reloads_are_counted_and_followed(db: TestDatabase) {
    let store = &db.store;
    assert_eq!(store.shared_state().await.unwrap(), SharedState::default());
    assert_eq!(store.request_reload(&actor()).await.unwrap(), 1);
    assert_eq!(store.request_reload(&actor()).await.unwrap(), 2);
    assert_eq!(store.shared_state().await.unwrap().generation, 2);
    let entries = store.audit(i64::MAX, 10).await.unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0].action, "configuration.reload");
    for owner in [1, 2] {
        store.report_process(&report(owner, 0)).await.unwrap();
    }
    let problems = "file:1:1: bad".to_owned();
    let changed = ProcessReport { problems, ..report(2, 2) };
    store.report_process(&changed).await.unwrap();
    assert_eq!(store.processes().await.unwrap(), [report(1, 0), changed.clone()]);
    store.forget_process(1).await.unwrap();
    assert_eq!(store.processes().await.unwrap(), [changed]);
}

pub(super) async fn drained_providers_are_shared(db: TestDatabase) {
    let store = &db.store;
    assert!(store.change_provider("up", ProviderAction::Drain, &actor()).await.unwrap());
    assert!(!store.change_provider("up", ProviderAction::Drain, &actor()).await.unwrap());
    assert_eq!(store.shared_state().await.unwrap().drained, ["up"]);
    assert!(store.change_provider("up", ProviderAction::Enable, &actor()).await.unwrap());
    assert!(!store.change_provider("up", ProviderAction::Enable, &actor()).await.unwrap());
    assert!(store.shared_state().await.unwrap().drained.is_empty());
    let entries = store.audit(i64::MAX, 10).await.unwrap();
    assert!(entries.iter().all(|entry| entry.actor == actor() && entry.subject == "up"));
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["provider.enable", "provider.drain"]);
}
