//! Bodies of the caller's own record, and of receipts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::whole::whole;

/// Maximum amount of one transfer, in micro-credits: 10⁹ credits.
pub const MAX_AMOUNT_MICROS: i64 = 1_000_000_000_000_000;

/// `GET /v1/me`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Me {
    /// `member`.
    pub object: String,
    /// `mem_<number>`.
    pub id: String,
    /// What the operator calls the member.
    pub name: String,
    /// `member`, `manager` of the team, or `operator` of the service.
    #[serde(default)]
    pub role: String,
    /// The team that pays for requests instead of the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamAccount>,
    /// The balance of the member.
    pub balance_micros: i64,
    /// What is set aside for requests that run.
    pub held_micros: i64,
    /// What can be spent.
    pub available_micros: i64,
    /// The key that asks.
    pub key: KeyView,
    /// Charged requests of the member; in a team, also those that the team paid.
    pub usage: UsageView,
    /// Budgets that apply to this key, with what is left of them.
    #[serde(default)]
    pub budgets: Vec<BudgetView>,
}

/// The account of the member's team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamAccount {
    /// `mem_<number>`.
    pub id: String,
    /// The name that the operator chose.
    pub name: String,
    /// The balance of the team.
    pub balance_micros: i64,
    /// What is held for running requests of its members.
    pub held_micros: i64,
    /// What its members can spend.
    pub available_micros: i64,
    /// What the team may spend in each period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetView>,
}

/// An amount that may be spent in each day, week or month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetBody {
    /// The amount.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 0, max = MAX_AMOUNT_MICROS))]
    pub amount_micros: i64,
    /// How often it resets, in the time zone of the operator. Weeks start on Monday.
    pub period: PeriodWord,
}

/// How often a budget resets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum PeriodWord {
    /// At midnight.
    Day,
    /// On Monday.
    Week,
    /// On the first of the month.
    Month,
}

/// A budget with its use in the current period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetView {
    /// What it limits: `key`, `member` or `team`.
    pub scope: String,
    /// What may be spent in each period.
    pub amount_micros: i64,
    /// `day`, `week` or `month`.
    pub period: String,
    /// What is charged and held for requests of this period.
    pub used_micros: i64,
    /// What can still be spent in this period.
    pub left_micros: i64,
    /// When the next period begins, RFC 3339.
    pub resets_at: String,
}

/// A key as its holder may see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyView {
    /// The public part of the key.
    pub id: String,
    /// What the operator calls it.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<String>,
    /// Models it may use; null is all.
    pub models: Option<Vec<String>>,
    /// RFC 3339; null is never.
    pub expires_at: Option<String>,
    /// What it may spend in all; null is without limit.
    pub spend_limit_micros: Option<i64>,
    /// What it has spent, with all keys it was rotated from.
    pub spent_micros: i64,
    /// Null is without limit.
    pub requests_per_minute: Option<u32>,
    /// Requests at the same time; null is without limit.
    pub concurrency: Option<u32>,
}

/// Charged requests of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageView {
    /// This day, UTC.
    pub today: PeriodView,
    /// This month, UTC.
    pub month: PeriodView,
}

/// Charged requests of a day or month.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeriodView {
    /// How many.
    pub requests: i64,
    /// What they cost.
    pub charged_micros: i64,
}

/// `GET /v1/requests/{id}`: what became of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptView {
    /// `receipt`.
    pub object: String,
    /// The id of the request.
    pub id: String,
    /// What it was: `chat`, `responses` …
    pub operation: String,
    /// The model that answered, else the one that was asked for.
    pub model: Option<String>,
    /// `settled`, `released`, `expired`.
    pub outcome: String,
    /// Why it was charged or not.
    pub rule: String,
    /// What was charged.
    pub charge_micros: i64,
    /// The account that paid: that of the member, or of its team then.
    #[serde(default)]
    pub payer: String,
    /// RFC 3339.
    pub started_at: String,
    /// RFC 3339.
    pub ended_at: String,
    /// As the upstream counted, where it told.
    pub input_tokens: Option<i64>,
    /// As the upstream counted, where it told.
    pub output_tokens: Option<i64>,
    /// The upstreams that were asked, in order. Empty if none was, and for old receipts.
    #[serde(default)]
    pub attempts: Vec<AttemptView>,
    /// The request whose answer searched the web with this one.
    pub parent: Option<String>,
    /// The web searches of this request and the pages that they read, each charged separately.
    pub children: Vec<ChildReceipt>,
}

/// A request to one upstream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptView {
    /// The model, after the name of its provider.
    pub model: String,
    /// `answered`, or why it failed: `unreachable`, `late`, `busy`, `broken` …
    pub outcome: String,
    /// Milliseconds until it began to stream, had answered whole, or failed.
    pub took_ms: u64,
}

/// A request that belongs to another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildReceipt {
    /// The id of the request.
    pub id: String,
    /// What it was: `search`, `fetch`.
    pub operation: String,
    /// Why it was charged or not.
    pub rule: String,
    /// What was charged.
    pub charge_micros: i64,
}
