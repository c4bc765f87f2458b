//! Limits that both databases share.

/// The most rows of one page of a list.
pub(crate) const MAX_PAGE: u32 = 1000;
/// The most holds, idempotency keys, responses or media runs that expire in one transaction.
pub(crate) const MAX_EXPIRED: u32 = 1000;
/// The most research jobs that one call ends or deletes.
pub(crate) const MAX_ENDED_JOBS: u32 = 100;
