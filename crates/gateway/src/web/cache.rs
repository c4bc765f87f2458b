//! What was read lately, in memory, within a size and an age.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use wire::web::PageFormat;

use super::reader::Reading;

/// What a kept page costs besides its text.
const OVERHEAD: usize = 512;

/// Pages by their address and form.
type Key = (String, PageFormat);

/// Pages that were read lately. They were asked for without any credential, so that they are the
/// same for every member.
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

    /// A page that is not older than this.
    pub(crate) fn find(
        &self,
        url: &str,
        format: PageFormat,
        max_age: Option<Duration>,
    ) -> Option<Arc<Reading>> {
        let max_age = max_age.map_or(self.max_age, |age| age.min(self.max_age));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.forget_older(self.max_age);
        let (reading, since) = kept.pages.get(&(url.to_owned(), format))?;
        (since.elapsed() < max_age).then(|| reading.clone())
    }

    /// Keeps a page, in place of the one that was kept for the same address.
    pub(crate) fn keep(&self, url: &str, format: PageFormat, reading: &Arc<Reading>) {
        let size = size(url, reading);
        if size > self.max_bytes {
            return;
        }
        let key = (url.to_owned(), format);
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
            self.bytes = self.bytes.saturating_sub(size(&key.0, &reading));
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

fn size(url: &str, reading: &Reading) -> usize {
    let links = reading.document.links.iter().map(|link| link.text.len() + link.url.len() + 48);
    reading.document.content.len() + links.sum::<usize>() + url.len() * 2 + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::web::extract::Document;

    const FORM: PageFormat = PageFormat::Text;

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
            cache.keep(name, FORM, &reading(1000));
        }
        assert!(cache.find("a", FORM, None).is_none(), "three do not fit");
        assert!(cache.find("b", FORM, None).is_some() && cache.find("c", FORM, None).is_some());
        cache.keep("d", FORM, &reading(4000));
        assert!(cache.find("d", FORM, None).is_none(), "it would fit nowhere");
        assert!(cache.find("c", FORM, None).is_some());
        cache.keep("b", FORM, &reading(1001));
        assert_eq!(cache.find("b", FORM, None).unwrap().document.content.len(), 1001);
        assert!(cache.kept.lock().unwrap().bytes <= 4000);
    }

    #[test]
    fn a_page_is_kept_by_its_form_and_not_beyond_an_age() {
        let cache = Cache::new(10_000, Duration::from_mins(1));
        cache.keep("a", FORM, &reading(1));
        assert!(cache.find("a", PageFormat::Html, None).is_none());
        assert!(cache.find("a", FORM, Some(Duration::ZERO)).is_none());
        assert!(cache.find("a", FORM, Some(Duration::from_hours(1))).is_some());
        let brief = Cache::new(10_000, Duration::ZERO);
        brief.keep("a", FORM, &reading(1));
        assert!(brief.find("a", FORM, None).is_none());
        assert_eq!(brief.kept.lock().unwrap().bytes, 0, "what is too old is forgotten");
    }
}
