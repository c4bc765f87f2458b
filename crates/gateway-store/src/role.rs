//! Roles of members.

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
