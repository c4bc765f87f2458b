//! Tests of `page`.

use std::time::SystemTime;

use document_parser::Document;

use super::*;
use crate::Target;

fn page(name: &str) -> ReadRequest {
    let target = Target::parse(&format!("https://example.com/{name}")).unwrap();
    let client = 1;
    ReadRequest { owner: Some(client), target, format: PageFormat::Text, max_age: None, client }
}

fn reading(length: usize) -> Arc<Reading> {
    Arc::new(Reading {
        final_url: String::new(),
        status: 200,
        document: Document { content: "x".repeat(length), ..Document::default() },
        fetched_at: SystemTime::now(),
    })
}

#[test]
fn the_oldest_page_is_evicted() {
    let cache = PageCache::new(4000, Duration::from_mins(1));
    for name in ["a", "b", "c"] {
        cache.insert(&page(name), &reading(1000));
    }
    assert!(cache.find(&page("a")).is_none(), "three do not fit");
    assert!(cache.find(&page("b")).is_some() && cache.find(&page("c")).is_some());
    cache.insert(&page("d"), &reading(4000));
    assert!(cache.find(&page("d")).is_none(), "it would fit nowhere");
    assert!(cache.find(&page("c")).is_some());
    cache.insert(&page("b"), &reading(1001));
    assert_eq!(cache.find(&page("b")).unwrap().document.content.len(), 1001);
    assert!(cache.0.size().1 <= 4000);
}

#[test]
fn page_cache_is_keyed_by_owner_and_format_and_limited_by_age() {
    let cache = PageCache::new(10_000, Duration::from_mins(1));
    cache.insert(&page("a"), &reading(1));
    assert!(cache.find(&ReadRequest { format: PageFormat::Html, ..page("a") }).is_none());
    assert!(cache.find(&ReadRequest { owner: Some(2), ..page("a") }).is_none());
    let aged = |age| ReadRequest { max_age: Some(age), ..page("a") };
    assert!(cache.find(&aged(Duration::ZERO)).is_none());
    assert!(cache.find(&aged(Duration::from_hours(1))).is_some());
    let brief = PageCache::new(10_000, Duration::ZERO);
    brief.insert(&page("a"), &reading(1));
    assert!(brief.find(&page("a")).is_none());
    assert_eq!(brief.0.size().1, 0, "what is too old is forgotten");
}

#[tokio::test]
async fn idle_hosts_are_dropped() {
    let limits = Concurrency::new(1, 1);
    let busy = limits.acquire_host("busy").await.unwrap();
    for number in 0..MAX_IDLE_HOSTS * 2 {
        drop(limits.acquire_host(&format!("host{number}")).await.unwrap());
    }
    assert!(limits.hosts.lock().unwrap().len() <= MAX_IDLE_HOSTS);
    assert!(limits.hosts.lock().unwrap().contains_key("busy"));
    drop(busy);
}

#[tokio::test]
async fn requests_beyond_the_limit_are_rejected() {
    let limits = Concurrency::new(1, 1);
    let one = limits.try_acquire().unwrap();
    assert_eq!(limits.try_acquire().unwrap_err(), Fault::Busy);
    drop(one);
    assert!(limits.try_acquire().is_ok());
}
