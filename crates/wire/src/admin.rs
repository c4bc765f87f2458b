//! Bodies of the admin API.
//!
//! Requests are strict: an unknown field is refused. Amounts are whole micro-credits.

mod team;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

pub use self::team::{NewTeam, TeamPatch, TeamView};
pub use crate::account::MAX_AMOUNT_MICROS;
use crate::account::{BudgetBody, BudgetView, ReceiptView};
use crate::whole::{given, given_whole, whole};

/// Longest name of a member or key, in characters.
pub const MAX_NAME_CHARS: usize = 200;
/// Longest reason of a transfer, in characters.
pub const MAX_REASON_CHARS: usize = 500;
/// Longest reference of a transfer, in characters.
pub const MAX_REFERENCE_CHARS: usize = 200;
/// Maximum models in the list of a key.
pub const MAX_KEY_MODELS: usize = 1000;
/// Maximum validity of a key after its rotation.
pub const MAX_OVERLAP_SECONDS: u32 = 30 * 24 * 3600;
/// Maximum rate limit and concurrency limit of a key.
pub const MAX_KEY_RATE: u32 = 10_000_000;

/// Part of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ListOf{T}")]
pub struct Page<T> {
    /// `list`.
    pub object: String,
    /// What was found.
    pub data: Vec<T>,
    /// Whether there is more; the id of the last one is the next cursor.
    pub has_more: bool,
}

/// A member to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMember {
    /// What to call it; no other member has this name.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = PLAIN))]
    pub name: String,
}

/// What is to be changed of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberPatch {
    /// Another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = PLAIN))]
    pub name: Option<String>,
    /// Whether its keys are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<bool>,
    /// What it may spend in each period; null is without limit. A new budget counts from now on.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BudgetBody>")]
    pub budget: Option<Option<BudgetBody>>,
    /// What it may do besides sending requests. A manager must be in a team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleWord>,
    /// The id of the team that pays from now on; null for none. A manager becomes a member.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", regex(pattern = MEMBER_ID))]
    pub team: Option<Option<String>>,
}

/// Id of a member or a team.
const MEMBER_ID: &str = "^mem_[1-9][0-9]{0,17}$";

/// What a member may do besides sending requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
#[schemars(inline)]
pub enum RoleWord {
    /// Nothing.
    Member,
    /// See the usage of its team and set budgets of its members, on the web pages.
    Manager,
    /// Use the web pages of operators.
    Operator,
}

/// Money that a member or a team paid in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopUp {
    /// How much.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 1, max = MAX_AMOUNT_MICROS))]
    pub amount_micros: i64,
    /// Why, for the statement.
    #[schemars(length(min = 1, max = MAX_REASON_CHARS), regex(pattern = PLAIN))]
    pub reason: String,
    /// A word for it: sent again with the same one, nothing is moved a second time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_REFERENCE_CHARS), regex(pattern = PLAIN))]
    pub reference: Option<String>,
}

/// A correction of a balance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adjustment {
    /// What the balance gains; below zero where it loses. Not zero.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = -MAX_AMOUNT_MICROS, max = MAX_AMOUNT_MICROS))]
    #[schemars(extend("not" = {"const": 0}))]
    pub amount_micros: i64,
    /// Why, for the statement.
    #[schemars(length(min = 1, max = MAX_REASON_CHARS), regex(pattern = PLAIN))]
    pub reason: String,
    /// A word for it: sent again with the same one, nothing is moved a second time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_REFERENCE_CHARS), regex(pattern = PLAIN))]
    pub reference: Option<String>,
}

/// No control characters.
const PLAIN: &str = r"^[^\s\u0000-\u001f\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f])?$";

/// What a key may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
#[schemars(inline)]
pub enum ScopeWord {
    /// Listing models.
    Models,
    /// Chat completions.
    Chat,
    /// Responses.
    Responses,
    /// Research jobs.
    Research,
    /// Media generation.
    Media,
    /// Web search.
    Search,
    /// Reading pages.
    Fetch,
    /// The MCP endpoint.
    Mcp,
}

/// A key to create or to change. What is absent stays; of a new key, it is everything, with the limits of
/// the configuration. A change of limits applies to all keys that it was rotated from or into.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KeyBody {
    /// What to call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = PLAIN))]
    pub name: Option<String>,
    /// What it may be used for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 8))]
    pub scopes: Option<Vec<ScopeWord>>,
    /// Models it may use; null is all.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<String>>")]
    #[schemars(length(min = 1, max = MAX_KEY_MODELS), inner(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = PLAIN)))]
    pub models: Option<Option<Vec<String>>>,
    /// RFC 3339; null is never.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub expires_at: Option<Option<String>>,
    /// What it may spend in all; null is without limit.
    #[serde(deserialize_with = "given_whole", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>", range(min = 0, max = MAX_AMOUNT_MICROS))]
    pub spend_limit_micros: Option<Option<i64>>,
    /// Requests a minute; null is without limit.
    #[serde(deserialize_with = "given_whole", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>", range(min = 1, max = MAX_KEY_RATE))]
    pub requests_per_minute: Option<Option<u32>>,
    /// Requests at the same time; null is without limit.
    #[serde(deserialize_with = "given_whole", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>", range(min = 1, max = MAX_KEY_RATE))]
    pub concurrency: Option<Option<u32>>,
    /// What it may spend in each period; null is without limit.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BudgetBody>")]
    pub budget: Option<Option<BudgetBody>>,
}

/// How a key is replaced by a new one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rotation {
    /// How long the old key is worth something yet.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 0, max = MAX_OVERLAP_SECONDS))]
    pub overlap_seconds: u32,
}

/// A member as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberView {
    /// `member`.
    pub object: String,
    /// `mem_<number>`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether its keys are refused.
    pub blocked: bool,
    /// `member`, `manager` or `operator`.
    #[serde(default)]
    pub role: String,
    /// The id of the team that pays for its requests; null if it pays itself.
    #[serde(default)]
    pub team: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// All there is.
    pub balance_micros: i64,
    /// What is set aside for requests that run.
    pub held_micros: i64,
    /// What can be spent.
    pub available_micros: i64,
    /// What it may spend in each period; null is without limit.
    pub budget: Option<BudgetView>,
}

/// A key as the operator sees it: never its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyRecordView {
    /// `key`.
    pub object: String,
    /// The public part of the key.
    pub id: String,
    /// Whose: `mem_<number>`.
    pub member: String,
    /// Its name.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<String>,
    /// Models it may use; null is all.
    pub models: Option<Vec<String>>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339; null is never.
    pub expires_at: Option<String>,
    /// RFC 3339; null is not.
    pub revoked_at: Option<String>,
    /// What it may spend in all; null is without limit.
    pub spend_limit_micros: Option<i64>,
    /// What it has spent, with all keys it was rotated from and into.
    pub spent_micros: i64,
    /// When the last charged request of these keys ended, RFC 3339; null if there was none.
    #[serde(default)]
    pub last_used_at: Option<String>,
    /// Null is without limit.
    pub requests_per_minute: Option<u32>,
    /// Requests at the same time; null is without limit.
    pub concurrency: Option<u32>,
    /// What it may spend in each period; null is without limit.
    pub budget: Option<BudgetView>,
}

/// A key that was just made. This is the only answer that has its secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssuedKey {
    /// What is known of it.
    #[serde(flatten)]
    pub record: KeyRecordView,
    /// The whole key, for its holder.
    pub key: String,
}

/// Hides the key.
impl std::fmt::Debug for IssuedKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("IssuedKey").field("id", &self.record.id).finish_non_exhaustive()
    }
}

/// Money that moved without a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostingView {
    /// `posting`.
    pub object: String,
    /// Whose: `mem_<number>`.
    pub member: String,
    /// `top_up` or `adjustment`.
    pub kind: String,
    /// What the balance gained.
    pub amount_micros: i64,
    /// The balance after it.
    pub balance_micros: i64,
    /// Why.
    pub reason: Option<String>,
    /// The word it was sent with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// RFC 3339.
    pub at: String,
}

/// One line of a member's statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatementView {
    /// Its number: the cursor.
    pub id: i64,
    /// RFC 3339.
    pub at: String,
    /// `charge`, `top_up`, `adjustment`.
    pub kind: String,
    /// What the balance gained; below zero where it lost.
    pub amount_micros: i64,
    /// The balance after it.
    pub balance_micros: i64,
    /// What a person gave as the reason.
    pub reason: Option<String>,
    /// The word by which it can be asked for again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The request that was charged.
    pub request: Option<String>,
    /// What it was for.
    pub operation: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// Of a charge: the member whose request it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
}

/// What became of a request, and whose it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberReceipt {
    /// What became of it.
    #[serde(flatten)]
    pub receipt: ReceiptView,
    /// Whose: `mem_<number>`.
    pub member: String,
}

/// One change that an operator made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditView {
    /// Its number, without gaps: the cursor.
    pub id: i64,
    /// RFC 3339.
    pub at: String,
    /// `cli:<user>`, `admin-api:<address>`, `console:<address>`, `member:<id>`, `service`.
    pub actor: String,
    /// The request it came with.
    pub request: Option<String>,
    /// What was done.
    pub action: String,
    /// To whom or what.
    pub subject: String,
    /// What changed.
    pub detail: serde_json::Map<String, serde_json::Value>,
    /// SHA-256 over the entry before it and this one, in hexadecimal digits.
    pub digest: String,
}

/// The books, added up again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerCheckView {
    /// `ledger.check`.
    pub object: String,
    /// Whether everything adds up.
    pub ok: bool,
    /// Members looked at.
    pub members: u64,
    /// Postings added up.
    pub postings: u64,
    /// Live holds.
    pub holds: u64,
    /// What all members have together.
    pub members_total_micros: i64,
    /// What the accounts of the house have.
    pub house: Vec<HouseView>,
    /// Sum over all accounts; zero when all is well.
    pub sum_micros: i64,
    /// How many things do not add up.
    pub wrong: u64,
    /// The first of them.
    pub findings: Vec<FindingView>,
}

/// An account of the house.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HouseView {
    /// Its name.
    pub account: String,
    /// What it has.
    pub total_micros: i64,
}

/// One thing that does not add up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingView {
    /// Which row.
    pub what: String,
    /// Which figure.
    pub figure: String,
    /// As it is stored.
    pub stored: i64,
    /// As it adds up.
    pub added_up: i64,
}

/// An upstream, without its address and its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderView {
    /// `provider`.
    pub object: String,
    /// Its name.
    pub id: String,
    /// `openai`, `anthropic`, `espeak`, `local`.
    pub kind: String,
    /// Whether it may be asked: its probes do not fail, and it is not drained.
    pub usable: bool,
    /// `usable`, `drained` by an operator, `key_refused` if it refuses the configured key, `ejected`
    /// after failures in a row (then others are preferred), `probe_failed`.
    pub health: String,
    /// Why it cannot be used, or not all of it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The last request of this process that failed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error_at: Option<String>,
    /// How much memory models take that this process computes itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The full ids of its models.
    pub models: Vec<String>,
}

/// A reload of the configuration that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReloadView {
    /// `reload`.
    pub object: String,
    /// The number of the reload. Other processes follow it within seconds.
    pub generation: i64,
    /// The top-level keys of the file that changed.
    pub changed: Vec<String>,
    /// Doubtful values of the file, each with its line and column.
    pub warnings: Vec<String>,
}

/// A condition that operators were told about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AlertView {
    /// `alert`.
    pub object: String,
    /// Its number.
    pub id: i64,
    /// When it was noticed.
    pub at: String,
    /// `balance`, `key_limit`, `provider`, `ledger`, `test`.
    pub kind: String,
    /// The member, key or provider.
    pub subject: String,
    /// For a person.
    pub message: String,
    /// One for each channel that was configured then.
    pub deliveries: Vec<DeliveryView>,
}

/// The delivery of an alert through one channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryView {
    /// `webhook` or `email`.
    pub channel: String,
    /// `pending`, `delivered` or `given_up`.
    pub state: String,
    /// How often it was tried.
    pub tries: u32,
    /// Why the last try failed; else empty.
    pub error: String,
}

/// A model, and who answers for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OfferedModel {
    /// `model`.
    pub object: String,
    /// The full id, or the alias.
    pub id: String,
    /// Whether any upstream of it can be asked now.
    pub usable: bool,
    /// What it can be used for.
    pub capabilities: Vec<String>,
    /// What a chat completion costs.
    pub chat_price_micros: i64,
    /// What a response costs.
    pub responses_price_micros: i64,
    /// How much it reads, in tokens, where known.
    pub context_length: Option<u64>,
    /// Groups in the order in which they are asked; within a group, chance decides by weight.
    pub targets: Vec<Vec<TargetView>>,
}

/// One upstream's model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetView {
    /// Its full id.
    pub model: String,
    /// Its part of the chances.
    pub weight: u32,
}

#[cfg(test)]
mod tests;
