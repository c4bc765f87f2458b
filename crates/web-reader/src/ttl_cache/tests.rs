//! Tests of `ttl_cache`.

use super::*;

fn cache(max_entries: usize, max_bytes: usize) -> TtlCache<String, u32> {
    TtlCache::new(CacheLimits { max_age: Duration::from_mins(1), max_entries, max_bytes })
}

#[test]
fn the_oldest_entries_are_evicted() {
    let cache = cache(3, 100);
    for (number, key) in (1..).zip(["a", "b", "c", "d"]) {
        cache.insert(key.to_owned(), number, 10);
    }
    assert_eq!(
        (cache.get(&"a".to_owned()), cache.get(&"b".to_owned()), cache.get(&"d".to_owned())),
        (None, Some(2), Some(4))
    );
    cache.insert("e".to_owned(), 5, 85);
    assert_eq!((cache.size(), cache.get(&"d".to_owned())), ((2, 95), Some(4)));
    cache.insert("f".to_owned(), 6, 101);
    assert_eq!((cache.get(&"f".to_owned()), cache.size().0), (None, 2));
}

#[test]
fn a_replaced_value_frees_its_bytes() {
    let cache = cache(3, 100);
    for number in 0..1000 {
        cache.insert("same".to_owned(), number, 60);
    }
    assert_eq!((cache.get(&"same".to_owned()), cache.size()), (Some(999), (1, 60)));
}

#[test]
fn entries_expire() {
    let cache = cache(3, 100);
    cache.insert("a".to_owned(), 1, 1);
    assert_eq!(cache.get_within(&"a".to_owned(), Duration::ZERO), None);
    assert_eq!(cache.get_within(&"a".to_owned(), Duration::from_hours(1)), Some(1));
    let limits = CacheLimits { max_age: Duration::ZERO, max_entries: 3, max_bytes: 100 };
    let disabled = TtlCache::new(limits);
    disabled.insert("a".to_owned(), 1, 1);
    assert_eq!((disabled.get(&"a".to_owned()), disabled.size().1), (None, 0));
    assert_eq!(disabled.size().0, 0);
}
