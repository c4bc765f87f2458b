//! Teams, whose members share a balance and a budget.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_NAME_CHARS, PLAIN};
use crate::account::{BudgetBody, BudgetView};
use crate::whole::given;

/// A team to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTeam {
    /// A name that no other team or member has.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = PLAIN))]
    pub name: String,
}

/// A change of a team; missing fields stay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TeamPatch {
    /// Another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_NAME_CHARS), regex(pattern = PLAIN))]
    pub name: Option<String>,
    /// Whether requests of its members are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<bool>,
    /// What its members may spend together in each period; null is without limit.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BudgetBody>")]
    pub budget: Option<Option<BudgetBody>>,
}

/// A team as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamView {
    /// `team`.
    pub object: String,
    /// `mem_<number>`: a team has an account like a member.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether requests of its members are refused.
    pub blocked: bool,
    /// RFC 3339.
    pub created_at: String,
    /// The balance that its members share.
    pub balance_micros: i64,
    /// What is held for running requests.
    pub held_micros: i64,
    /// What can be spent.
    pub available_micros: i64,
    /// What may be spent in each period; null is without limit.
    pub budget: Option<BudgetView>,
}
