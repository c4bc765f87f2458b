//! Members.

use ledger::{Budget, MemberId, Time};
use serde_json::json;

use crate::audit::AuditChange;
use crate::key::described_budget;

/// A member of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: MemberId,
    /// The unique name that the operator chose.
    pub name: String,
    /// When the member was created.
    pub created_at: Time,
    /// Whether the operator blocked the member.
    pub blocked: bool,
    /// What the member may spend in each period.
    pub budget: Option<Budget>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberChange {
    /// Sets another name.
    Rename(String),
    /// Rejects further requests.
    Block,
    /// Accepts requests again.
    Unblock,
    /// Sets or removes the budget. A new one counts from now on.
    Budget(Option<Budget>),
}

impl Member {
    pub(crate) fn creation(&self) -> AuditChange {
        let detail = json!({ "name": self.name });
        AuditChange { action: "member.create", subject: self.id.to_string(), detail }
    }

    /// Applies a change and describes it for the audit log.
    pub(crate) fn apply(&mut self, change: &MemberChange) -> AuditChange {
        let (action, detail) = match change {
            MemberChange::Rename(name) => {
                let before = std::mem::replace(&mut self.name, name.clone());
                ("member.rename", json!({ "from": before, "to": name }))
            }
            MemberChange::Block => {
                self.blocked = true;
                ("member.block", json!({}))
            }
            MemberChange::Unblock => {
                self.blocked = false;
                ("member.unblock", json!({}))
            }
            MemberChange::Budget(budget) => {
                self.budget = *budget;
                ("member.budget", json!({ "budget": described_budget(*budget) }))
            }
        };
        AuditChange { action, subject: self.id.to_string(), detail }
    }
}
