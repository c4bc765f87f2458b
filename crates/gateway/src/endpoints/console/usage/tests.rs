//! Queries that take longer than a page waits.

use std::future::poll_fn;

use tokio::sync::oneshot;
use wire::usage::{UsageList, UsageSums};

use super::SlowUsage;
use crate::endpoints::console::page::PageError;

fn list() -> UsageList {
    UsageList {
        object: "usage".to_owned(),
        from: "2026-01-01".to_owned(),
        to: "2026-01-31".to_owned(),
        by: vec!["member".to_owned()],
        data: Vec::new(),
        has_more: false,
        total: UsageSums { requests: 7, ..UsageSums::default() },
    }
}

fn unexpected() -> impl Future<Output = Result<UsageList, PageError>> {
    poll_fn(|_| panic!("it was already asked for"))
}

#[tokio::test]
async fn slow_usage_is_pending_then_shared() {
    let slow = SlowUsage::default();
    let (done, waiting) = oneshot::channel();
    let ask = async move {
        waiting.await.unwrap();
        Ok(list())
    };
    assert_eq!(slow.get("a".to_owned(), ask).await.unwrap(), None);
    assert_eq!(slow.get("a".to_owned(), unexpected()).await.unwrap(), None);
    done.send(()).unwrap();
    let found = loop {
        if let Some(found) = slow.get("a".to_owned(), unexpected()).await.unwrap() {
            break found;
        }
    };
    assert_eq!(found, list());
}

#[tokio::test]
async fn failed_usage_is_an_error_and_requested_again() {
    let slow = SlowUsage::default();
    let failing = async { Err(PageError::internal()) };
    assert!(slow.get("a".to_owned(), failing).await.is_err());
    // On a loaded machine the answer may take longer than the page waits.
    let found = loop {
        match slow.get("a".to_owned(), async { Ok(list()) }).await.unwrap() {
            Some(found) => break found,
            None => tokio::task::yield_now().await,
        }
    };
    assert_eq!(found, list());
}
