//! Reads records from rows of either database: each function takes the columns that its comment
//! names, in order.

use ledger::{
    Account, AccountKind, Budget, BudgetUse, ChargeRule, Hold, HoldId, LimitStatus, Limits,
    Lineage, LineageId, MemberId, Micros, Period, Receipt, Time, TokenCounts, Usage, UsagePeriod,
};

use crate::error::Result;
use crate::{
    Actor, Alert, AlertDelivery, Artifact, AuditEntry, Credit, DrainedProvider, Error, JobEvent,
    JobStatus, JobStep, Key, KeyRecord, MediaRun, Member, ProcessReport, Progress, ResearchJob,
    ResponseEvent, Role, SavedAnswer, Scope, StoredResponse, UsageCounts, UsageDimension,
    UsageLine, WebSession,
};

/// The id of a hold, stored as a `uuid` or as 16 bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HoldUuid(pub(crate) HoldId);

impl rusqlite::types::FromSql for HoldUuid {
    fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
        <[u8; 16]>::column_result(value).map(|bytes| Self(HoldId::from_bytes(bytes)))
    }
}

/// A value that both databases can read.
pub(crate) trait Column:
    rusqlite::types::FromSql + for<'a> tokio_postgres::types::FromSql<'a>
{
}

impl<T: rusqlite::types::FromSql + for<'a> tokio_postgres::types::FromSql<'a>> Column for T {}

/// Reads the columns of a row in order.
pub(crate) trait Columns {
    fn take<T: Column>(&mut self) -> Result<T>;

    fn digest(&mut self) -> Result<[u8; 32]>;

    fn scope_names(&mut self) -> Result<Vec<String>>;

    fn models(&mut self) -> Result<Option<Vec<String>>>;

    /// The error for a value of the last column that no version of this program writes.
    fn unknown(&self, what: &str, value: &str) -> Error;

    fn parsed<T>(&mut self, what: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T> {
        let text: String = self.take()?;
        parse(&text).ok_or_else(|| self.unknown(what, &text))
    }

    fn micros(&mut self) -> Result<Micros> {
        self.take().map(Micros::new)
    }

    fn time(&mut self) -> Result<Time> {
        self.take().map(Time::from_micros)
    }

    fn optional_time(&mut self) -> Result<Option<Time>> {
        Ok(self.take::<Option<i64>>()?.map(Time::from_micros))
    }

    fn count(&mut self) -> Result<u32> {
        let count: i64 = self.take()?;
        u32::try_from(count).map_err(|_| self.unknown("a count", &count.to_string()))
    }

    fn hold_id(&mut self) -> Result<HoldId> {
        self.take::<HoldUuid>().map(|id| id.0)
    }

    fn optional_member(&mut self) -> Result<Option<MemberId>> {
        Ok(self.take::<Option<i64>>()?.map(MemberId))
    }

    fn limit(&mut self) -> Result<Option<u32>> {
        let limit: Option<i64> = self.take()?;
        let in_range = limit.map(u32::try_from).transpose();
        in_range.map_err(|_| self.unknown("a limit", &limit.unwrap_or_default().to_string()))
    }

    fn limits(&mut self) -> Result<Limits> {
        Ok(Limits {
            spend: self.take::<Option<i64>>()?.map(Micros::new),
            requests_per_minute: self.limit()?,
            concurrency: self.limit()?,
            budget: self.budget()?,
        })
    }

    fn budget(&mut self) -> Result<Option<Budget>> {
        let (amount, period): (Option<i64>, Option<String>) = (self.take()?, self.take()?);
        let (Some(amount), Some(period)) = (amount, period) else { return Ok(None) };
        let period = Period::parse(&period).ok_or_else(|| self.unknown("a period", &period))?;
        Ok(Some(Budget { amount: Micros::new(amount), period }))
    }

    fn budget_use(&mut self) -> Result<BudgetUse> {
        Ok(BudgetUse { start: self.time()?, charged: self.micros()?, held: self.micros()? })
    }

    fn period(&mut self) -> Result<UsagePeriod> {
        Ok(UsagePeriod { number: self.take()?, requests: self.take()?, charged: self.micros()? })
    }
}

pub(crate) fn first<T: Column>(columns: &mut impl Columns) -> Result<T> {
    columns.take()
}

pub(crate) fn hold_id(columns: &mut impl Columns) -> Result<HoldId> {
    columns.hold_id()
}

/// `id, balance, held, blocked`, day and month, budget and its use, `kind, team`.
pub(crate) fn account(columns: &mut impl Columns) -> Result<Account> {
    Ok(Account {
        id: MemberId(columns.take()?),
        balance: columns.micros()?,
        held: columns.micros()?,
        blocked: columns.take()?,
        usage: Usage { day: columns.period()?, month: columns.period()? },
        budget: columns.budget()?,
        budget_use: columns.budget_use()?,
        kind: columns.parsed("a kind", AccountKind::parse)?,
        team: columns.optional_member()?,
    })
}

/// `id, member`, limits, use of the budget, `spent, held, running, next_arrival,
/// last_used`.
pub(crate) fn lineage(columns: &mut impl Columns) -> Result<Lineage> {
    Ok(Lineage {
        id: LineageId(columns.take()?),
        member: MemberId(columns.take()?),
        limits: columns.limits()?,
        budget_use: columns.budget_use()?,
        spent: columns.micros()?,
        held: columns.micros()?,
        running: columns.count()?,
        next_arrival: columns.time()?,
        last_used: columns.time()?,
    })
}

/// `id, member, payer, lineage, amount, operation, model, owner, since, lease_until, idempotency`.
pub(crate) fn hold(columns: &mut impl Columns) -> Result<Hold> {
    let (id, member) = (columns.hold_id()?, MemberId(columns.take()?));
    Ok(Hold {
        id,
        member,
        payer: columns.optional_member()?.unwrap_or(member),
        lineage: LineageId(columns.take()?),
        amount: columns.micros()?,
        operation: columns.take::<String>()?.into(),
        model: columns.take::<Option<String>>()?.map(Into::into),
        owner: columns.take()?,
        since: columns.time()?,
        lease_until: columns.time()?,
        idempotency: columns.take()?,
        limits: LimitStatus::default(),
    })
}

/// `id, member, lineage, charged, rule, operation, model, input_tokens, output_tokens, since, at,
/// payer, attempts`.
pub(crate) fn receipt(columns: &mut impl Columns) -> Result<Receipt> {
    let (id, member) = (columns.hold_id()?, MemberId(columns.take()?));
    Ok(Receipt {
        id,
        member,
        lineage: LineageId(columns.take()?),
        charged: columns.micros()?,
        rule: columns.parsed("a rule", ChargeRule::parse)?,
        operation: columns.take::<String>()?.into(),
        model: columns.take::<Option<String>>()?.map(Into::into),
        tokens: TokenCounts { input: columns.take()?, output: columns.take()? },
        since: columns.time()?,
        at: columns.time()?,
        payer: columns.optional_member()?.unwrap_or(member),
        attempts: columns.take::<Option<String>>()?.map(Into::into),
    })
}

/// `status, content_type, body`.
pub(crate) fn answer(columns: &mut impl Columns) -> Result<SavedAnswer> {
    let status: i32 = columns.take()?;
    Ok(SavedAnswer {
        status: u16::try_from(status)
            .map_err(|_| columns.unknown("a status", &status.to_string()))?,
        content_type: columns.take()?,
        body: columns.take()?,
    })
}

/// `id, name, created_at, blocked, budget, budget_period, kind, role, team`.
pub(crate) fn member(columns: &mut impl Columns) -> Result<Member> {
    Ok(Member {
        id: MemberId(columns.take()?),
        name: columns.take()?,
        created_at: columns.time()?,
        blocked: columns.take()?,
        budget: columns.budget()?,
        kind: columns.parsed("a kind", AccountKind::parse)?,
        role: columns.parsed("a role", Role::parse)?,
        team: columns.optional_member()?,
    })
}

/// `id, hash, member, lineage, name, scopes, models, created_at, expires_at, revoked_at`, limits,
/// the member's `name, blocked, role, team`.
pub(crate) fn key_record(columns: &mut impl Columns) -> Result<KeyRecord> {
    let key = Key {
        id: columns.take()?,
        hash: columns.digest()?,
        member: MemberId(columns.take()?),
        lineage: LineageId(columns.take()?),
        name: columns.take()?,
        scopes: scopes(columns)?,
        models: columns.models()?,
        created_at: columns.time()?,
        expires_at: columns.optional_time()?,
        revoked_at: columns.optional_time()?,
    };
    Ok(KeyRecord {
        key,
        limits: columns.limits()?,
        member_name: columns.take()?,
        member_blocked: columns.take()?,
        role: columns.parsed("a role", Role::parse)?,
        team: columns.optional_member()?,
    })
}

fn scopes(columns: &mut impl Columns) -> Result<Vec<Scope>> {
    let names = columns.scope_names()?;
    let scope = |name: &String| Scope::parse(name).ok_or_else(|| columns.unknown("a scope", name));
    names.iter().map(scope).collect()
}

/// `hash, member, key, client, address, created_at, seen_at, idle_until, ends_at`.
pub(crate) fn session(columns: &mut impl Columns) -> Result<WebSession> {
    Ok(WebSession {
        hash: columns.digest()?,
        member: columns.optional_member()?,
        key: columns.take()?,
        client: columns.take()?,
        address: columns.take()?,
        created_at: columns.time()?,
        seen_at: columns.time()?,
        idle_until: columns.time()?,
        ends_at: columns.time()?,
    })
}

/// `id, member, lineage, hold, status, body, input, previous, background, created_at, expires_at`.
pub(crate) fn response(columns: &mut impl Columns) -> Result<StoredResponse> {
    Ok(StoredResponse {
        id: columns.take()?,
        member: MemberId(columns.take()?),
        lineage: LineageId(columns.take()?),
        hold: columns.hold_id()?,
        status: columns.take()?,
        body: columns.take()?,
        input: columns.take()?,
        previous: columns.take()?,
        background: columns.take()?,
        created_at: columns.time()?,
        expires_at: columns.time()?,
    })
}

/// `sequence, event`.
pub(crate) fn response_event(columns: &mut impl Columns) -> Result<ResponseEvent> {
    Ok(ResponseEvent { sequence: columns.take()?, event: columns.take()? })
}

/// `id, member, hold, model, capability, charge, created_at, expires_at`.
pub(crate) fn media_run(columns: &mut impl Columns) -> Result<MediaRun> {
    Ok(MediaRun {
        id: columns.take()?,
        member: MemberId(columns.take()?),
        hold: columns.hold_id()?,
        model: columns.take()?,
        capability: columns.take()?,
        charge: columns.micros()?,
        created_at: columns.time()?,
        expires_at: columns.time()?,
        artifacts: Vec::new(),
    })
}

/// `id, object, media_type, bytes, sha256`.
pub(crate) fn artifact(columns: &mut impl Columns) -> Result<Artifact> {
    Ok(Artifact {
        id: columns.take()?,
        object: columns.take()?,
        media_type: columns.take()?,
        bytes: columns.take::<i64>()?.unsigned_abs(),
        sha256: columns.digest()?,
    })
}

/// `id, at, actor, request, action, subject, detail, digest`.
pub(crate) fn audit_entry(columns: &mut impl Columns) -> Result<AuditEntry> {
    Ok(AuditEntry {
        id: columns.take()?,
        at: columns.time()?,
        actor: Actor { name: columns.take()?, request: columns.take()? },
        action: columns.take()?,
        subject: columns.take()?,
        detail: columns.take()?,
        digest: columns.digest()?,
    })
}

/// `id, at, kind, subject, message, channel, tries, outcome, error`.
pub(crate) fn alert_delivery(columns: &mut impl Columns) -> Result<AlertDelivery> {
    Ok(AlertDelivery {
        alert: Alert {
            id: columns.take()?,
            at: columns.time()?,
            kind: columns.take()?,
            subject: columns.take()?,
            message: columns.take()?,
        },
        channel: columns.take()?,
        tries: columns.count()?,
        outcome: columns.take()?,
        error: columns.take()?,
    })
}

/// `id, balance`.
pub(crate) fn credit(columns: &mut impl Columns) -> Result<Credit> {
    Ok(Credit { posting: columns.take()?, balance: columns.micros()? })
}

/// `owner, name, generation, problems`.
pub(crate) fn process_report(columns: &mut impl Columns) -> Result<ProcessReport> {
    Ok(ProcessReport {
        owner: columns.take()?,
        name: columns.take()?,
        generation: columns.take()?,
        problems: columns.take()?,
    })
}

/// `name, since, actor`.
pub(crate) fn drained_provider(columns: &mut impl Columns) -> Result<DrainedProvider> {
    Ok(DrainedProvider { name: columns.take()?, since: columns.time()?, actor: columns.take()? })
}

/// `id, member, lineage, status, query, model, request, attempt, tries, max_tries, step, done, total,
/// created_at, started_at, finished_at, deadline, result, error, charged`.
pub(crate) fn job(columns: &mut impl Columns) -> Result<ResearchJob> {
    Ok(ResearchJob {
        id: columns.hold_id()?,
        member: MemberId(columns.take()?),
        lineage: LineageId(columns.take()?),
        status: job_status(columns)?,
        query: columns.take()?,
        model: columns.take()?,
        request: columns.take()?,
        attempt: columns.take()?,
        tries: columns.count()?,
        max_tries: columns.count()?,
        progress: Progress {
            step: columns.take()?,
            done: columns.count()?,
            total: columns.count()?,
        },
        created_at: columns.time()?,
        started_at: columns.optional_time()?,
        finished_at: columns.optional_time()?,
        deadline: columns.time()?,
        result: columns.take()?,
        error: columns.take()?,
        charged: columns.take::<Option<i64>>()?.map(Micros::new),
    })
}

pub(crate) fn job_status(columns: &mut impl Columns) -> Result<JobStatus> {
    columns.parsed("the status of a job", JobStatus::parse)
}

/// `number, kind, attempt, detail, output, started_at, finished_at`.
pub(crate) fn job_step(columns: &mut impl Columns) -> Result<JobStep> {
    Ok(JobStep {
        number: columns.count()?,
        kind: columns.take()?,
        attempt: columns.take()?,
        detail: columns.take()?,
        output: columns.take()?,
        started_at: columns.time()?,
        finished_at: columns.time()?,
    })
}

/// `sequence, at, kind, data`.
pub(crate) fn job_event(columns: &mut impl Columns) -> Result<JobEvent> {
    Ok(JobEvent {
        sequence: columns.take()?,
        at: columns.time()?,
        kind: columns.take()?,
        data: columns.take()?,
    })
}

/// The dimensions, then the counts.
pub(crate) fn usage_line(columns: &mut impl Columns, by: &[UsageDimension]) -> Result<UsageLine> {
    let mut line = UsageLine::default();
    for dimension in by {
        match dimension {
            UsageDimension::Day => line.day = columns.take()?,
            UsageDimension::Member => line.member = Some(MemberId(columns.take()?)),
            UsageDimension::Team => line.team = Some(MemberId(columns.take()?)),
            UsageDimension::Key => line.lineage = Some(LineageId(columns.take()?)),
            UsageDimension::Operation => line.operation = columns.take()?,
            UsageDimension::Model => line.model = columns.take()?,
            UsageDimension::Provider => line.provider = columns.take()?,
        }
    }
    line.counts = UsageCounts {
        requests: columns.take()?,
        input_tokens: columns.take()?,
        output_tokens: columns.take()?,
        charged: columns.micros()?,
    };
    Ok(line)
}
