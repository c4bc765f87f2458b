//! Members and teams.

use ledger::{AccountKind, Budget, MemberId, Time};
use serde_json::{Value, json};

use crate::Error;
use crate::audit::AuditChange;
use crate::error::Result;

/// A member of the service, or a team of members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: MemberId,
    pub kind: AccountKind,
    pub name: String,
    pub created_at: Time,
    pub blocked: bool,
    pub budget: Option<Budget>,
    pub role: Role,
    /// The team that pays for the member's requests.
    pub team: Option<MemberId>,
}

ledger::named_enum! {
    /// What a member may do besides sending requests.
    #[derive(Default)]
    pub enum Role {
        #[default]
        Member = "member",
        /// Sees the usage of its team and sets the budgets of its members.
        Manager = "manager",
        /// May use the pages of operators.
        Operator = "operator",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberChange {
    Rename(String),
    Block,
    Unblock,
    /// Sets or removes the budget. A new one counts from now on.
    Budget(Option<Budget>),
    /// Of a member only. A manager must be in a team.
    Role(Role),
    /// Moves a member into a team, or out of its team. A manager becomes a member.
    Team(Option<MemberId>),
    /// Removes a team that has neither members nor money. Its postings remain.
    Remove,
}

impl Member {
    pub(crate) fn creation(&self) -> AuditChange {
        let detail = json!({ "name": self.name });
        let action = match self.kind {
            AccountKind::Member => "member.create",
            AccountKind::Team | AccountKind::RemovedTeam => "team.create",
        };
        AuditChange { action, subject: self.id.to_string(), detail }
    }

    /// Checks that a change fits to this account. The store checks other rows.
    pub(crate) fn check(&self, change: &MemberChange) -> Result<()> {
        match (self.kind, change) {
            (AccountKind::RemovedTeam, _) | (AccountKind::Member, MemberChange::Remove) => {
                Err(Error::Missing("team"))
            }
            (AccountKind::Team, MemberChange::Role(_) | MemberChange::Team(_)) => {
                Err(Error::Missing("member"))
            }
            (AccountKind::Member, MemberChange::Role(Role::Manager)) if self.team.is_none() => {
                let message = "a manager needs a team; add the member to a team first";
                Err(Error::Conflict(message))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn apply(&mut self, change: &MemberChange) -> AuditChange {
        let is_team = self.kind == AccountKind::Team;
        let either = |member, team| if is_team { team } else { member };
        let (action, detail) = match change {
            MemberChange::Rename(name) => {
                let before = std::mem::replace(&mut self.name, name.clone());
                let detail = json!({ "from": before, "to": name });
                (either("member.rename", "team.rename"), detail)
            }
            MemberChange::Block => {
                self.blocked = true;
                (either("member.block", "team.block"), json!({}))
            }
            MemberChange::Unblock => {
                self.blocked = false;
                (either("member.unblock", "team.unblock"), json!({}))
            }
            MemberChange::Budget(budget) => {
                self.budget = *budget;
                let detail = json!({ "budget": described_budget(*budget) });
                (either("member.budget", "team.budget"), detail)
            }
            MemberChange::Role(role) => {
                let before = std::mem::replace(&mut self.role, *role);
                ("member.role", json!({ "from": before.as_str(), "to": role.as_str() }))
            }
            MemberChange::Team(team) => {
                let before = std::mem::replace(&mut self.team, *team);
                // The manager of one team must not manage another one by moving there.
                if self.role == Role::Manager && before != *team {
                    self.role = Role::Member;
                }
                let id = |team: Option<MemberId>| team.map(|team| team.to_string());
                ("member.team", json!({ "from": id(before), "to": id(*team) }))
            }
            MemberChange::Remove => {
                self.kind = AccountKind::RemovedTeam;
                // The name becomes free.
                let name = format!("{} (removed {})", self.name, self.id);
                let before = std::mem::replace(&mut self.name, name);
                ("team.remove", json!({ "name": before }))
            }
        };
        AuditChange { action, subject: self.id.to_string(), detail }
    }
}

pub(crate) fn stored_budget(budget: Option<Budget>) -> (Option<i64>, Option<&'static str>) {
    (budget.map(|it| it.amount.get()), budget.map(|it| it.period.as_str()))
}

pub(crate) fn described_budget(budget: Option<Budget>) -> Value {
    let described = |budget: Budget| json!({ "amount_micros": budget.amount.get(), "period": budget.period.as_str() });
    budget.map_or(Value::Null, described)
}
