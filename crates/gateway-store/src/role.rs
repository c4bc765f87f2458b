//! Roles of members.

/// What a member may do besides sending requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    #[default]
    Member,
    /// Sees the usage of its team and sets the budgets of its members.
    Manager,
    /// May use the pages of operators.
    Operator,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::Member, Self::Manager, Self::Operator];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Manager => "manager",
            Self::Operator => "operator",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }
}
