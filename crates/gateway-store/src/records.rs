//! Records, read from the columns of a row.

use ledger::{
    Account, Budget, BudgetUse, Hold, IdempotencyRecord, LimitStatus, Limits, Lineage, Posting,
    PostingKind, Receipt, TokenCounts, Usage, UsagePeriod,
};

use crate::audit::AuditTail;
use crate::error::Result;
use crate::row::{Read, Row};
use crate::{
    Actor, Alert, AlertDelivery, Artifact, AuditEntry, Credit, JobEvent, JobStep, Key, KeyRecord,
    MediaRun, Member, ProcessReport, Progress, ResearchJob, ResponseEvent, SavedAnswer,
    StatementLine, StoredResponse, UsageCounts, UsageLine, WebSession,
};

/// Records whose columns are their fields, in this order. The last field may have a value instead.
macro_rules! records {
    ($($record:ident { $($field:ident),* $(; $derived:ident = $value:expr)? })*) => {
        $(impl Read for $record {
            fn read(row: &mut Row<'_>) -> Result<Self> {
                $(let $field = row.take()?;)*
                Ok(Self { $($field,)* $($derived: $value)? })
            }
        })*
    };
}

records! {
    Account { id, balance, held, blocked, usage, budget, budget_use, kind, team }
    Actor { name, request }
    Alert { id, at, kind, subject, message }
    AlertDelivery { alert, channel, tries, outcome, error }
    Artifact { id, object, media_type, bytes, sha256 }
    AuditTail { id, digest }
    AuditEntry { id, at, actor, action, subject, detail, digest }
    BudgetUse { start, charged, held }
    Credit { posting, balance }
    Hold {
        id, member, payer, lineage, amount, operation, model, owner, since, lease_until, idempotency;
        limits = LimitStatus::default()
    }
    IdempotencyRecord { lineage, key, body_sha256, hold, answered }
    JobEvent { sequence, at, kind, data }
    JobStep { number, kind, attempt, detail, output, started_at, finished_at }
    Key { id, hash, member, lineage, name, scopes, models, created_at, expires_at, revoked_at }
    KeyRecord { key, limits, member_name, member_blocked, role, team }
    Limits { spend, requests_per_minute, concurrency, budget }
    Lineage { id, member, limits, budget_use, spent, held, running, next_arrival, last_used }
    MediaRun {
        id, member, hold, model, capability, charge, created_at, expires_at; artifacts = Vec::new()
    }
    Member { id, name, created_at, blocked, budget, kind, role, team }
    Posting {
        at, kind, member, amount, balance, hold, reason, reference;
        house = PostingKind::house(kind)
    }
    ProcessReport { owner, name, generation, problems }
    Progress { step, done, total }
    Receipt {
        id, member, lineage, charged, rule, operation, model, tokens, since, at, payer, attempts
    }
    ResearchJob {
        id, member, lineage, status, query, model, request, attempt, tries, max_tries, progress,
        created_at, started_at, finished_at, deadline, result, error, charged
    }
    ResponseEvent { sequence, event }
    SavedAnswer { status, content_type, body }
    StatementLine { id, posting, operation, model, asked_by }
    StoredResponse {
        id, member, lineage, hold, status, body, input, previous, background, created_at, expires_at
    }
    TokenCounts { input, output }
    Usage { day, month }
    UsageCounts { requests, input_tokens, output_tokens, charged }
    UsageLine { day, member, team, lineage, operation, model, provider, counts }
    UsagePeriod { number, requests, charged }
    WebSession { hash, member, key, client, address, created_at, seen_at, idle_until, ends_at }
}

impl Read for Budget {
    const COLUMNS: usize = 2;

    fn read(row: &mut Row<'_>) -> Result<Self> {
        Ok(Self { amount: row.take()?, period: row.take()? })
    }
}
