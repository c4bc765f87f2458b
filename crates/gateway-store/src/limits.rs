//! Limits that both databases share.

/// Maximum number of rows of one page.
pub(crate) const MAX_PAGE: u32 = 1000;
/// Maximum holds, idempotency keys, responses or media runs that expire in one transaction.
pub(crate) const MAX_EXPIRED: u32 = 1000;
/// Maximum research jobs that one call ends or deletes.
pub(crate) const MAX_ENDED_JOBS: u32 = 100;
