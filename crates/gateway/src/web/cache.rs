//! What was read lately, in memory, within a size and an age.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ledger::MemberId;
use wire::web::PageFormat;

use super::reader::{Reading, Wanted};

/// What a kept page costs besides its text.
const OVERHEAD: usize = 512;

/// Pages by whose they are, their address and their form.
type Key = (Option<MemberId>, String, PageFormat);

/// Pages that were read lately. They are the same for every member, but that somebody read one is
/// not for others to know: a page without an owner is found only where the operator shares them.
#[derive(Debug)]
pub(crate) struct Cache {
    max_bytes: usize,
    max_age: Duration,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    pages: HashMap<Key, (Arc<Reading>, Instant)>,
    /// The oldest first.
    order: VecDeque<Key>,
    bytes: usize,
}

impl Cache {
    pub(crate) fn new(max_bytes: u64, max_age: Duration) -> Self {
        let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        Self { max_bytes, max_age, kept: Mutex::default() }
    }

    /// A page that was read before and is young enough.
    pub(crate) fn find(&self, wanted: &Wanted) -> Option<Arc<Reading>> {
        let max_age = wanted.max_age.map_or(self.max_age, |age| age.min(self.max_age));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.forget_older(self.max_age);
        let (reading, since) = kept.pages.get(&key(wanted))?;
        (since.elapsed() < max_age).then(|| reading.clone())
    }

    /// Keeps a page, in place of the one that was kept for the same address.
    pub(crate) fn keep(&self, wanted: &Wanted, reading: &Arc<Reading>) {
        let key = key(wanted);
        let size = size(&key, reading);
        if size > self.max_bytes {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.remove(&key);
        while kept.bytes + size > self.max_bytes {
            let Some(oldest) = kept.order.front().cloned() else { break };
            kept.remove(&oldest);
        }
        kept.bytes += size;
        kept.order.push_back(key.clone());
        kept.pages.insert(key, (reading.clone(), Instant::now()));
    }
}

impl Kept {
    fn remove(&mut self, key: &Key) {
        if let Some((reading, _)) = self.pages.remove(key) {
            self.bytes = self.bytes.saturating_sub(size(key, &reading));
            self.order.retain(|other| other != key);
        }
    }

    fn forget_older(&mut self, age: Duration) {
        while let Some(key) = self.order.front().cloned() {
            let is_old = self.pages.get(&key).is_none_or(|(_, since)| since.elapsed() >= age);
            if !is_old {
                break;
            }
            self.order.pop_front();
            self.remove(&key);
        }
    }
}

fn key(wanted: &Wanted) -> Key {
    (wanted.owner, wanted.target.url.to_string(), wanted.format)
}

fn size((_, url, _): &Key, reading: &Reading) -> usize {
    let links = reading.document.links.iter().map(|link| link.text.len() + link.url.len() + 48);
    reading.document.content.len() + links.sum::<usize>() + url.len() * 2 + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use document_parser::Document;

    use crate::web::Target;

    fn page(name: &str) -> Wanted {
        let target = Target::parse(&format!("https://example.com/{name}")).unwrap();
        let member = MemberId(1);
        Wanted { owner: Some(member), target, format: PageFormat::Text, max_age: None, member }
    }

    fn reading(length: usize) -> Arc<Reading> {
        Arc::new(Reading {
            final_url: String::new(),
            status: 200,
            document: Document { content: "x".repeat(length), ..Document::default() },
            fetched_at: clock::now(),
            may_be_kept: true,
        })
    }

    #[test]
    fn the_oldest_makes_room_for_the_newest() {
        let cache = Cache::new(4000, Duration::from_mins(1));
        for name in ["a", "b", "c"] {
            cache.keep(&page(name), &reading(1000));
        }
        assert!(cache.find(&page("a")).is_none(), "three do not fit");
        assert!(cache.find(&page("b")).is_some() && cache.find(&page("c")).is_some());
        cache.keep(&page("d"), &reading(4000));
        assert!(cache.find(&page("d")).is_none(), "it would fit nowhere");
        assert!(cache.find(&page("c")).is_some());
        cache.keep(&page("b"), &reading(1001));
        assert_eq!(cache.find(&page("b")).unwrap().document.content.len(), 1001);
        assert!(cache.kept.lock().unwrap().bytes <= 4000);
    }

    #[test]
    fn a_page_is_kept_by_its_owner_and_form_and_not_beyond_an_age() {
        let cache = Cache::new(10_000, Duration::from_mins(1));
        cache.keep(&page("a"), &reading(1));
        assert!(cache.find(&Wanted { format: PageFormat::Html, ..page("a") }).is_none());
        assert!(cache.find(&Wanted { owner: Some(MemberId(2)), ..page("a") }).is_none());
        let aged = |age| Wanted { max_age: Some(age), ..page("a") };
        assert!(cache.find(&aged(Duration::ZERO)).is_none());
        assert!(cache.find(&aged(Duration::from_hours(1))).is_some());
        let brief = Cache::new(10_000, Duration::ZERO);
        brief.keep(&page("a"), &reading(1));
        assert!(brief.find(&page("a")).is_none());
        assert_eq!(brief.kept.lock().unwrap().bytes, 0, "what is too old is forgotten");
    }
}
