//! Settings of research jobs: `research`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{Days, Hours, Seconds, WholeSeconds, section};

use super::price::Micros;
use super::secret::{MIN_SECRET_CHARS, Secret};

section! {
    /// Research jobs. A job searches, reads pages and writes a report. Every step is stored, so any
    /// process on the same database can continue a job.
    #[derive(PartialEq)]
    pub struct Research {
        /// Model for jobs that do not name one. Default: the first usable chat model.
        #[schemars(extend("x-wanted" = "the id of a chat model"))]
        pub model: Option<String>,
        /// Number of jobs that one process runs at the same time; 0 runs none.
        pub workers: u32 where 0..=1000 = 2,
        /// Maximum number of queued and running jobs per member. Above this limit the service
        /// returns 429.
        pub max_jobs_per_member: u32 where 1..=1_000_000 = 10,
        /// How long a worker keeps a job without renewing its claim, for example after a crash.
        #[serde(rename = "lease_seconds", with = "WholeSeconds::<3600>")]
        pub lease: Duration = Duration::from_secs(30),
        /// Maximum number of attempts of a step before the job fails and is refunded; at most 100.
        pub attempts: u32 where 1..=100 = 3,
        /// Maximum time from creation to end of a job, in hours; at most 720.
        #[serde(rename = "expire_hours", with = "Hours::<720>")]
        pub expire: Duration = Duration::from_hours(24),
        /// How long to keep ended jobs, in days; at most 3650.
        #[serde(rename = "keep_days", with = "Days::<3650>")]
        pub kept: Duration = Duration::from_hours(30 * 24),
        /// Secret for signing webhooks, at least 32 characters: `whsec_` and base64, or any text.
        /// Without it, webhooks are disabled.
        #[schemars(length(min = MIN_SECRET_CHARS))]
        pub webhook_secret: Option<Secret>,
        /// Wait before the first retry of a failed webhook. Each further wait is four times as
        /// long.
        pub webhook_retry: Duration as "Seconds" = Duration::from_secs(5),
        /// A few pages.
        pub quick: Depth = depth([1, 2, 4], 20, 100_000, 5),
        /// A moderate number of pages.
        pub standard: Depth = depth([1, 4, 8], 40, 300_000, 15),
        /// Many pages, in several rounds.
        pub deep: Depth = depth([3, 5, 24], 120, 1_500_000, 60),
    }
}

fn depth([rounds, queries, pages]: [u32; 3], steps: u32, tokens: u64, minutes: u64) -> Depth {
    let time = Duration::from_mins(minutes);
    Depth { rounds, queries, pages, steps, tokens, time, price_micros: None }
}

/// Limits of a job by depth: `quick`, `standard` or `deep`. When the steps, pages, tokens or time
/// are used up, the report is written from the material found so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = section::<Self>)]
pub struct Depth {
    /// Number of planning rounds. Defaults: 1, 1, 3.
    #[schemars(range(min = 1, max = 10))]
    pub rounds: u32,
    /// Number of searches per round. Defaults: 2, 4, 5.
    #[schemars(range(min = 1, max = 20))]
    pub queries: u32,
    /// Maximum number of pages to read. Defaults: 4, 8, 24.
    #[schemars(range(min = 1, max = 200))]
    pub pages: u32,
    /// Maximum number of steps. Defaults: 20, 40, 120.
    #[schemars(range(min = 6, max = 1000))]
    pub steps: u32,
    /// Maximum number of model tokens. Defaults: 100000, 300000, 1500000.
    #[schemars(range(min = 1000, max = 1_000_000_000))]
    pub tokens: u64,
    /// Maximum time for gathering material. Defaults: 300, 900, 3600.
    #[serde(rename = "seconds", with = "Seconds")]
    pub time: Duration,
    /// Price of a job. Default: from the price list.
    #[schemars(with = "Option<Micros>")]
    pub price_micros: Option<i64>,
}

impl Research {
    pub fn depth(&self, depth: wire::research::Depth) -> &Depth {
        match depth {
            wire::research::Depth::Quick => &self.quick,
            wire::research::Depth::Standard => &self.standard,
            wire::research::Depth::Deep => &self.deep,
        }
    }
}
