//! Who sends a request to an upstream.

use ledger::MemberId;

use crate::trace::SpanContext;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sender {
    pub(crate) owner: Owner,
    /// The span of the request, if it is traced.
    pub(crate) span: Option<SpanContext>,
}

/// Whose request it is: what was computed for one owner is never reused for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The member that pays for it.
    Member(MemberId),
    Operator,
}
