//! Bodies of usage: aggregated requests, tokens and charges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Default number of rows.
pub const DEFAULT_USAGE_LINES: u32 = 1000;
/// Exclusive maximum of the number of rows.
pub const MAX_USAGE_LINES: u32 = 10_000;

/// Usage, summed up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageList {
    /// `usage`.
    pub object: String,
    /// The first day, `YYYY-MM-DD`; days are UTC.
    pub from: String,
    /// The last day.
    pub to: String,
    /// What the lines are summed up by.
    pub by: Vec<String>,
    /// In the order of days, else of charges, the highest first.
    pub data: Vec<UsageEntry>,
    /// Whether there are more lines.
    pub has_more: bool,
    /// The sum over all lines, also those that are not shown.
    pub total: UsageSums,
}

/// A line. Fields that it is not summed up by are missing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct UsageEntry {
    /// `YYYY-MM-DD`, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// The member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<UsageOwner>,
    /// The team that paid; missing if the member paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<UsageOwner>,
    /// The key, or the newest one that it was rotated into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<UsageOwner>,
    /// What it was: `chat`, `responses` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The model that answered; empty if none was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider of the model; empty if none was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The sums.
    #[serde(flatten)]
    pub sums: UsageSums,
}

/// A member, a team or a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageOwner {
    /// `mem_<number>`, or the public part of the key.
    pub id: String,
    /// The name that the operator chose.
    pub name: String,
}

/// Sums over answered requests. Requests that failed cost nothing and are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct UsageSums {
    /// Number of requests.
    pub requests: i64,
    /// As far as providers reported them.
    pub input_tokens: i64,
    /// As far as providers reported them.
    pub output_tokens: i64,
    /// The sum of their charges.
    pub charged_micros: i64,
}
