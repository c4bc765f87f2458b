//! Answers that are kept for a while, for whoever asks the same.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ledger::Time;

use super::wanted::{Found, Hit, Wanted};
use crate::clock;

/// The most answers, and the most bytes of all of them.
const MAX_ANSWERS: usize = 1000;
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Answers by what was wanted.
#[derive(Debug)]
pub(super) struct Cache {
    /// How long they are kept; `None` for not at all.
    age: Option<Duration>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    answers: HashMap<Wanted, Answer>,
    /// In the order in which they came, each with its number.
    order: VecDeque<(u64, Wanted)>,
    bytes: usize,
    last: u64,
}

#[derive(Debug)]
struct Answer {
    number: u64,
    since: Instant,
    at: Time,
    bytes: usize,
    found: Arc<Found>,
}

impl Cache {
    pub(super) fn new(age: Option<Duration>) -> Self {
        Self { age, kept: Mutex::default() }
    }

    /// An answer that is young enough, with when it was found.
    pub(super) fn find(&self, wanted: &Wanted) -> Option<Found> {
        let age = self.age?;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = kept.answers.get(wanted).filter(|answer| answer.since.elapsed() < age)?;
        Some(Found { cached_at: Some(answer.at), ..Found::clone(&answer.found) })
    }

    /// Keeps an answer.
    pub(super) fn keep(&self, wanted: &Wanted, found: &Found) {
        let Some(age) = self.age else { return };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &mut *kept;
        kept.last += 1;
        let answer = Answer {
            number: kept.last,
            since: Instant::now(),
            at: clock::now(),
            bytes: size(wanted) * 2 + found.results.iter().map(size_of_hit).sum::<usize>(),
            found: Arc::new(found.clone()),
        };
        kept.bytes += answer.bytes;
        kept.order.push_back((answer.number, wanted.clone()));
        if let Some(old) = kept.answers.insert(wanted.clone(), answer) {
            kept.bytes -= old.bytes;
        }
        kept.drop_old(age);
    }

    #[cfg(test)]
    fn length(&self) -> (usize, usize, usize) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.answers.len(), kept.order.len(), kept.bytes)
    }
}

impl Kept {
    /// Forgets the oldest while there are too many, and all that are too old.
    fn drop_old(&mut self, age: Duration) {
        if self.order.len() > 2 * MAX_ANSWERS {
            let answers = &self.answers;
            self.order.retain(|(number, wanted)| {
                answers.get(wanted).is_some_and(|answer| answer.number == *number)
            });
        }
        while let Some((number, wanted)) = self.order.front() {
            let answer = self.answers.get(wanted).filter(|answer| answer.number == *number);
            let Some(answer) = answer else {
                // Another answer has taken its place.
                self.order.pop_front();
                continue;
            };
            let is_over = answer.since.elapsed() >= age;
            if !is_over && self.answers.len() <= MAX_ANSWERS && self.bytes <= MAX_BYTES {
                return;
            }
            self.bytes -= answer.bytes;
            if let Some((_, wanted)) = self.order.pop_front() {
                self.answers.remove(&wanted);
            }
        }
    }
}

fn size(wanted: &Wanted) -> usize {
    let domains = wanted.domains.include.iter().chain(&wanted.domains.exclude);
    size_of::<Wanted>() + wanted.query.len() + domains.map(String::len).sum::<usize>()
}

fn size_of_hit(hit: &Hit) -> usize {
    let texts = [&hit.title, &hit.url, &hit.snippet, &hit.source];
    size_of::<Hit>() + texts.map(String::len).iter().sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(snippet: &str) -> Found {
        let hit = Hit {
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
    fn an_answer_is_found_again_with_its_time_and_only_for_the_same_question() {
        let cache = Cache::new(Some(Duration::from_mins(1)));
        let wanted = Wanted::new("words");
        cache.keep(&wanted, &found("a"));
        let again = cache.find(&wanted).unwrap();
        assert!(again.cached_at.is_some() && again.results == found("a").results);
        assert_eq!(cache.find(&Wanted { max_results: 3, ..wanted.clone() }), None);
        cache.keep(&wanted, &found("b"));
        assert_eq!(cache.find(&wanted).unwrap().results, found("b").results);
    }

    #[test]
    fn what_is_too_old_is_not_given_and_nothing_is_kept_without_an_age() {
        let cache = Cache::new(Some(Duration::ZERO));
        cache.keep(&Wanted::new("words"), &found("a"));
        assert_eq!(cache.find(&Wanted::new("words")), None);
        assert_eq!(cache.length(), (0, 0, 0));
        let cache = Cache::new(None);
        cache.keep(&Wanted::new("words"), &found("a"));
        assert_eq!((cache.find(&Wanted::new("words")), cache.length()), (None, (0, 0, 0)));
    }

    #[test]
    fn there_are_never_more_than_so_many_answers_and_so_many_bytes() {
        let cache = Cache::new(Some(Duration::from_mins(1)));
        for number in 0..MAX_ANSWERS + 7 {
            cache.keep(&Wanted::new(format!("{number}")), &found("a"));
        }
        assert_eq!(cache.length().0, MAX_ANSWERS);
        assert_eq!(cache.find(&Wanted::new("6")), None);
        assert!(cache.find(&Wanted::new("7")).is_some());
        for number in 0..40 {
            cache.keep(&Wanted::new(format!("{number}")), &found(&"x".repeat(MAX_BYTES / 10)));
            assert!(cache.length().2 <= MAX_BYTES);
        }
        assert_eq!(cache.length().0, 9);
    }

    #[test]
    fn asking_the_same_again_and_again_takes_no_room() {
        let cache = Cache::new(Some(Duration::from_mins(1)));
        for _ in 0..5000 {
            cache.keep(&Wanted::new("same"), &found("a"));
        }
        assert_eq!((cache.length().0, cache.length().1), (1, 1));
        cache.keep(&Wanted::new("first"), &found("a"));
        for _ in 0..5000 {
            cache.keep(&Wanted::new("same"), &found("a"));
        }
        let (answers, order, _) = cache.length();
        assert!(answers == 2 && order <= 2 * MAX_ANSWERS + 1, "{:?}", cache.length());
    }
}
