//! How research jobs are done: `research`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{Days, Hours, Seconds, WholeSeconds, section};

use super::price::Micros;
use super::secret::{MIN_SECRET_CHARS, Secret};

/// How research jobs are done. A job searches, reads pages and writes a report; every step is
/// stored, and any process on the same database continues where another one stopped.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = section::<Self>)]
pub struct Research {
    /// The model for jobs that ask for none. Without it, the first chat model that can be used.
    #[schemars(extend("x-wanted" = "the id of a chat model"))]
    pub model: Option<String>,
    /// How many jobs one process works on at once; 0 is none.
    #[schemars(range(min = 0, max = 1000))]
    pub workers: u32,
    /// How many jobs of one member may be queued or running at once; more are refused with 429.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_jobs_per_member: u32,
    /// How long a job is its worker's when nobody renews that, as after a crash.
    #[serde(rename = "lease_seconds", with = "WholeSeconds")]
    #[schemars(range(min = 1, max = 3600))]
    pub lease: Duration,
    /// How often a step is begun before its job fails and is refunded; at most 100.
    #[schemars(range(min = 1, max = 100))]
    pub attempts: u32,
    /// How long a job may wait and run; at most 720.
    #[serde(rename = "expire_hours", with = "Hours")]
    #[schemars(range(min = 1, max = 720))]
    pub expire: Duration,
    /// How long jobs are kept after their end; at most 3650.
    #[serde(rename = "keep_days", with = "Days")]
    #[schemars(range(min = 1, max = 3650))]
    pub kept: Duration,
    /// What webhooks are signed with, at least 32 characters; `whsec_` and base64, or any text.
    /// Without it there are no webhooks.
    #[schemars(length(min = MIN_SECRET_CHARS))]
    pub webhook_secret: Option<Secret>,
    /// How long after a webhook that failed it is tried again; four times as long each time.
    #[serde(with = "Seconds")]
    pub webhook_retry: Duration,
    /// A few pages.
    pub quick: Depth,
    /// Some more.
    pub standard: Depth,
    /// Many pages, in several rounds.
    pub deep: Depth,
}

/// How much a job of one depth may do: `quick`, `standard` or `deep`. When steps, pages, tokens or
/// time are used up, the report is written from what there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = section::<Self>)]
pub struct Depth {
    /// How often it plans: 1, 1, 3.
    #[schemars(range(min = 1, max = 10))]
    pub rounds: u32,
    /// How many searches each plan has: 2, 4, 5.
    #[schemars(range(min = 1, max = 20))]
    pub queries: u32,
    /// How many pages are read: 4, 8, 24.
    #[schemars(range(min = 1, max = 200))]
    pub pages: u32,
    /// How many steps there are in all: 20, 40, 120.
    #[schemars(range(min = 6, max = 1000))]
    pub steps: u32,
    /// How many tokens models may count: 100000, 300000, 1500000.
    #[schemars(range(min = 1000, max = 1_000_000_000))]
    pub tokens: u64,
    /// How long it may gather: 300, 900, 3600.
    #[serde(rename = "seconds", with = "Seconds")]
    pub time: Duration,
    /// What such a job costs, if not by the price list.
    #[schemars(with = "Option<Micros>")]
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
