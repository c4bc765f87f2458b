//! Tests of `search`.

use super::*;

fn wanted(include: &[&str], exclude: &[&str]) -> Wanted {
    let of = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let domains = Domains { include: of(include), exclude: of(exclude) };
    Wanted { domains, ..Wanted::new("words") }
}

#[test]
fn domain_covers_its_subdomains_only() {
    let wanted = wanted(&["example.com"], &["bad.example.com"]);
    assert!(wanted.allows("example.com") && wanted.allows("a.b.example.com"));
    assert!(!wanted.allows("anexample.com") && !wanted.allows("example.com.evil"));
    assert!(!wanted.allows("bad.example.com") && !wanted.allows("very.bad.example.com"));
}

#[test]
fn domains_become_search_operators() {
    assert_eq!(wanted(&[], &[]).with_sites(), "words");
    assert_eq!(wanted(&["a.b"], &["c.d"]).with_sites(), "words site:a.b -site:c.d");
    let two = wanted(&["a.b", "c.d"], &[]).with_sites();
    assert_eq!(two, "words (site:a.b OR site:c.d)");
}

fn found(snippet: &str) -> Found {
    let hit = SearchResult {
        title: String::new(),
        url: String::new(),
        snippet: snippet.to_owned(),
        published_at: None,
        score: None,
        source: String::new(),
    };
    Found { provider: "p".to_owned(), results: vec![hit], cached_at: None }
}

#[test]
fn results_are_cached_with_their_time_for_the_same_request() {
    let cache = Cache::new(Some(Duration::from_mins(1)));
    let wanted = Wanted::new("words");
    cache.insert(&wanted, &found("a"));
    let again = cache.find(&wanted).unwrap();
    assert!(again.cached_at.is_some() && again.results == found("a").results);
    assert_eq!(cache.find(&Wanted { max_results: 3, ..wanted.clone() }), None);
    cache.insert(&wanted, &found("b"));
    assert_eq!(cache.find(&wanted).unwrap().results, found("b").results);
}

#[test]
fn expired_results_are_not_returned_from_the_cache() {
    let cache = Cache::new(Some(Duration::ZERO));
    cache.insert(&Wanted::new("words"), &found("a"));
    assert_eq!(cache.find(&Wanted::new("words")), None);
    assert_eq!((cache.0.size().0, cache.0.size().1), (0, 0));
    let cache = Cache::new(None);
    cache.insert(&Wanted::new("words"), &found("a"));
    assert_eq!((cache.find(&Wanted::new("words")), cache.0.size().0), (None, 0));
}

#[test]
fn entries_and_bytes_are_bounded() {
    let cache = Cache::new(Some(Duration::from_mins(1)));
    for number in 0..MAX_ANSWERS + 7 {
        cache.insert(&Wanted::new(format!("{number}")), &found("a"));
    }
    assert_eq!(cache.0.size().0, MAX_ANSWERS);
    assert_eq!(cache.find(&Wanted::new("6")), None);
    assert!(cache.find(&Wanted::new("7")).is_some());
    for number in 0..40 {
        cache.insert(&Wanted::new(format!("{number}")), &found(&"x".repeat(MAX_BYTES / 10)));
        assert!(cache.0.size().1 <= MAX_BYTES);
    }
    assert_eq!(cache.0.size().0, 9);
}

#[test]
fn repeated_requests_use_one_entry() {
    let cache = Cache::new(Some(Duration::from_mins(1)));
    for _ in 0..5000 {
        cache.insert(&Wanted::new("same"), &found("a"));
    }
    assert_eq!(cache.0.size().0, 1);
    cache.insert(&Wanted::new("first"), &found("a"));
    for _ in 0..5000 {
        cache.insert(&Wanted::new("same"), &found("a"));
    }
    assert_eq!(cache.0.size().0, 2);
}
