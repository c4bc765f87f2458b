//! How research jobs are done: `research`.

use std::time::Duration;

use super::mapping::{Length, Mapping};
use super::secret::Secret;

const SECONDS_OF_AN_HOUR: u64 = 3600;
const SECONDS_OF_A_DAY: u64 = 86400;

/// How research jobs are done.
#[derive(Debug, Clone)]
pub struct Research {
    /// The model that works on jobs for which none is asked.
    pub model: Option<String>,
    /// How many jobs one process works on at once.
    pub workers: u32,
    /// How many jobs of one member may be queued or running at once.
    pub max_jobs_per_member: u32,
    /// How long a job is its worker's unless renewed.
    pub lease: Duration,
    /// How often a step is begun before its job fails.
    pub attempts: u32,
    /// How long a job may take, queued or running.
    pub expire: Duration,
    /// How long jobs are kept after their end.
    pub kept: Duration,
    /// What webhooks are signed with; without it there are none.
    pub webhook_secret: Option<Secret>,
    /// How long after a webhook that failed it is tried again.
    pub webhook_retry: Duration,
    /// The presets.
    pub quick: Depth,
    /// The presets.
    pub standard: Depth,
    /// The presets.
    pub deep: Depth,
}

/// How much a job of one depth may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Depth {
    /// How often it plans.
    pub rounds: u32,
    /// How many searches each plan has.
    pub queries: u32,
    /// How many pages are read.
    pub pages: u32,
    /// How many steps there are in all.
    pub steps: u32,
    /// How many tokens models may count before the report is written.
    pub tokens: u64,
    /// How long it may gather before the report is written.
    pub time: Duration,
    /// What such a job costs, if not by the price list.
    pub price_micros: Option<i64>,
}

impl Research {
    /// The preset of a depth.
    pub fn depth(&self, depth: wire::research::Depth) -> &Depth {
        match depth {
            wire::research::Depth::Quick => &self.quick,
            wire::research::Depth::Standard => &self.standard,
            wire::research::Depth::Deep => &self.deep,
        }
    }
}

impl Default for Research {
    fn default() -> Self {
        let depth = |(rounds, queries, pages), steps, tokens, minutes| Depth {
            rounds,
            queries,
            pages,
            steps,
            tokens,
            time: Duration::from_mins(minutes),
            price_micros: None,
        };
        Self {
            model: None,
            workers: 2,
            max_jobs_per_member: 10,
            lease: Duration::from_secs(30),
            attempts: 3,
            expire: Duration::from_hours(24),
            kept: Duration::from_hours(30 * 24),
            webhook_secret: None,
            webhook_retry: Duration::from_secs(5),
            quick: depth((1, 2, 4), 20, 100_000, 5),
            standard: depth((1, 4, 8), 40, 300_000, 15),
            deep: depth((3, 5, 24), 120, 1_500_000, 60),
        }
    }
}

/// Reads `research`.
pub(super) fn research(root: &mut Mapping<'_, '_, '_>) -> Research {
    let default = Research::default();
    let Some(field) = root.take("research") else { return default };
    let Some(mut map) = Mapping::open(root.reader, "research", &field) else { return default };
    let hours = map.whole("expire_hours", 1..=720, default.expire.as_secs() / SECONDS_OF_AN_HOUR);
    let days = map.whole("keep_days", 1..=3650, default.kept.as_secs() / SECONDS_OF_A_DAY);
    let research = Research {
        model: map.text("model", "the id of a chat model").map(|text| text.value().to_owned()),
        workers: map.whole("workers", 0..=1000, default.workers),
        max_jobs_per_member: map.whole(
            "max_jobs_per_member",
            1..=1_000_000,
            default.max_jobs_per_member,
        ),
        lease: Duration::from_secs(map.whole("lease_seconds", 1..=3600, default.lease.as_secs())),
        attempts: map.whole("attempts", 1..=100, default.attempts),
        expire: Duration::from_secs(hours * SECONDS_OF_AN_HOUR),
        kept: Duration::from_secs(days * SECONDS_OF_A_DAY),
        webhook_secret: map.secret("webhook_secret", Length::Guarded),
        webhook_retry: map.seconds("webhook_retry", default.webhook_retry),
        quick: depth(&mut map, "quick", default.quick),
        standard: depth(&mut map, "standard", default.standard),
        deep: depth(&mut map, "deep", default.deep),
    };
    map.close();
    research
}

fn depth(map: &mut Mapping<'_, '_, '_>, name: &str, default: Depth) -> Depth {
    let Some(field) = map.take(name) else { return default };
    let Some(mut map) = Mapping::open(map.reader, "research.*", &field) else { return default };
    let depth = Depth {
        rounds: map.whole("rounds", 1..=10, default.rounds),
        queries: map.whole("queries", 1..=20, default.queries),
        pages: map.whole("pages", 1..=200, default.pages),
        steps: map.whole("steps", 6..=1000, default.steps),
        tokens: map.whole("tokens", 1000..=1_000_000_000, default.tokens),
        time: map.seconds("seconds", default.time),
        price_micros: map.price("price_micros"),
    };
    map.close();
    depth
}
