//! Reads rows, and converts values to parameters.

use bytes::BytesMut;
use ledger::{
    Account, AccountKind, Budget, BudgetUse, ChargeRule, Hold, HoldId, HouseAccount,
    IdempotencyRecord, LimitStatus, Limits, Lineage, LineageId, MemberId, Micros, Period, Posting,
    PostingKind, Receipt, Time, TokenCounts, Usage, UsagePeriod,
};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

use crate::error::Result;
use crate::limits::MAX_PAGE;
use crate::{
    Artifact, AuditEntry, Error, Key, KeyRecord, MediaRun, Member, Role, SavedAnswer, Scope,
    StoredResponse,
};

type Failure = Box<dyn std::error::Error + Sync + Send>;

pub(super) fn page(limit: u32) -> i64 {
    i64::from(limit.min(MAX_PAGE))
}

pub(super) type Value<'a> = &'a (dyn ToSql + Sync);

/// The id of a hold, stored as a `uuid`.
#[derive(Debug, Clone, Copy)]
pub(super) struct HoldUuid(pub(super) HoldId);

impl ToSql for HoldUuid {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Failure> {
        out.extend_from_slice(&self.0.to_bytes());
        Ok(IsNull::No)
    }

    accepts!(UUID);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for HoldUuid {
    fn from_sql(_: &Type, raw: &'a [u8]) -> std::result::Result<Self, Failure> {
        Ok(Self(HoldId::from_bytes(raw.try_into()?)))
    }

    accepts!(UUID);
}

/// Reads the columns of a row in order.
pub(super) struct RowReader<'a> {
    row: &'a Row,
    next: usize,
}

impl<'a> RowReader<'a> {
    pub(super) fn new(row: &'a Row) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn take<T: FromSql<'a>>(&mut self) -> Result<T> {
        let index = self.next;
        self.next += 1;
        Ok(self.row.try_get(index)?)
    }

    fn micros(&mut self) -> Result<Micros> {
        self.take().map(Micros::new)
    }

    pub(super) fn time(&mut self) -> Result<Time> {
        self.take().map(Time::from_micros)
    }

    pub(super) fn optional_time(&mut self) -> Result<Option<Time>> {
        Ok(self.take::<Option<i64>>()?.map(Time::from_micros))
    }

    pub(super) fn count(&mut self) -> Result<u32> {
        u32::try_from(self.take::<i64>()?).map_err(|_| damaged("a count"))
    }

    pub(super) fn hold_id(&mut self) -> Result<HoldId> {
        self.take::<HoldUuid>().map(|uid| uid.0)
    }

    pub(super) fn digest(&mut self) -> Result<[u8; 32]> {
        let bytes: &[u8] = self.take()?;
        bytes.try_into().map_err(|_| damaged("a digest"))
    }

    fn limit(&mut self) -> Result<Option<u32>> {
        let limit: Option<i64> = self.take()?;
        limit.map(u32::try_from).transpose().map_err(|_| damaged("a limit"))
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
        let (amount, period): (Option<i64>, Option<&str>) = (self.take()?, self.take()?);
        let (Some(amount), Some(period)) = (amount, period) else { return Ok(None) };
        let period = Period::parse(period).ok_or_else(|| damaged("a period"))?;
        Ok(Some(Budget { amount: Micros::new(amount), period }))
    }

    fn budget_use(&mut self) -> Result<BudgetUse> {
        Ok(BudgetUse { start: self.time()?, charged: self.micros()?, held: self.micros()? })
    }

    fn kind(&mut self) -> Result<AccountKind> {
        AccountKind::parse(self.take()?).ok_or_else(|| damaged("a kind"))
    }

    fn role(&mut self) -> Result<Role> {
        Role::parse(self.take()?).ok_or_else(|| damaged("a role"))
    }

    fn optional_member(&mut self) -> Result<Option<MemberId>> {
        Ok(self.take::<Option<i64>>()?.map(MemberId))
    }

    fn period(&mut self) -> Result<UsagePeriod> {
        Ok(UsagePeriod { number: self.take()?, requests: self.take()?, charged: self.micros()? })
    }
}

/// Reads the first column.
pub(super) fn first<T: for<'a> FromSql<'a>>(row: &Row) -> Result<T> {
    RowReader::new(row).take()
}

/// `id, balance, held, blocked`, day and month, budget and its use, `kind, team`.
pub(super) fn account(row: &Row) -> Result<Account> {
    let mut columns = RowReader::new(row);
    Ok(Account {
        id: MemberId(columns.take()?),
        balance: columns.micros()?,
        held: columns.micros()?,
        blocked: columns.take()?,
        usage: Usage { day: columns.period()?, month: columns.period()? },
        budget: columns.budget()?,
        budget_use: columns.budget_use()?,
        kind: columns.kind()?,
        team: columns.optional_member()?,
    })
}

/// `at, kind, member, house, amount, balance, hold, reason, reference`.
pub(super) fn posting(columns: &mut RowReader<'_>) -> Result<Posting> {
    Ok(Posting {
        at: columns.time()?,
        kind: PostingKind::parse(columns.take()?).ok_or_else(|| damaged("a kind"))?,
        member: MemberId(columns.take()?),
        house: HouseAccount::parse(columns.take()?).ok_or_else(|| damaged("an account"))?,
        amount: columns.micros()?,
        balance: columns.micros()?,
        hold: columns.take::<Option<HoldUuid>>()?.map(|uid| uid.0),
        reason: columns.take()?,
        reference: columns.take()?,
    })
}

/// `id, member`, limits, use of the budget, `spent, held, running, next_arrival,
/// last_used`.
pub(super) fn lineage(row: &Row) -> Result<Lineage> {
    let mut columns = RowReader::new(row);
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

/// A live hold and its idempotency record, if any: `id, member, payer,
/// lineage, amount, operation, model, owner, since, lease_until, idempotency, body_sha256,
/// answered`.
pub(super) fn hold(row: &Row) -> Result<(Hold, Option<IdempotencyRecord>)> {
    let mut columns = RowReader::new(row);
    let (id, member) = (columns.hold_id()?, MemberId(columns.take()?));
    let hold = Hold {
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
    };
    let (body, answered): (Option<&[u8]>, Option<bool>) = (columns.take()?, columns.take()?);
    let (Some(body), Some(answered), Some(key)) = (body, answered, &hold.idempotency) else {
        return Ok((hold, None));
    };
    let body_sha256 = body.try_into().map_err(|_| damaged("a digest"))?;
    let (lineage, key) = (hold.lineage, key.clone());
    let record = IdempotencyRecord { lineage, key, body_sha256, hold: hold.id, answered };
    Ok((hold, Some(record)))
}

/// `lineage, word, body_sha256, hold, answered`.
pub(super) fn idempotency_record(row: &Row) -> Result<IdempotencyRecord> {
    let mut columns = RowReader::new(row);
    Ok(IdempotencyRecord {
        lineage: LineageId(columns.take()?),
        key: columns.take()?,
        body_sha256: columns.digest()?,
        hold: columns.hold_id()?,
        answered: columns.take()?,
    })
}

/// `id, member, lineage, charged, rule, operation, model, input_tokens, output_tokens, since, at, payer, attempts`.
pub(super) fn receipt(row: &Row) -> Result<Receipt> {
    let mut columns = RowReader::new(row);
    let (id, member) = (columns.hold_id()?, MemberId(columns.take()?));
    Ok(Receipt {
        id,
        member,
        lineage: LineageId(columns.take()?),
        charged: columns.micros()?,
        rule: ChargeRule::parse(columns.take()?).ok_or_else(|| damaged("a rule"))?,
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
pub(super) fn answer(row: &Row) -> Result<SavedAnswer> {
    let mut columns = RowReader::new(row);
    let status: i32 = columns.take()?;
    Ok(SavedAnswer {
        status: u16::try_from(status).map_err(|_| damaged("a status"))?,
        content_type: columns.take()?,
        body: columns.take()?,
    })
}

/// `id, name, created_at, blocked, budget, budget_period, kind, role, team`.
pub(super) fn member(row: &Row) -> Result<Member> {
    let mut columns = RowReader::new(row);
    Ok(Member {
        id: MemberId(columns.take()?),
        name: columns.take()?,
        created_at: columns.time()?,
        blocked: columns.take()?,
        budget: columns.budget()?,
        kind: columns.kind()?,
        role: columns.role()?,
        team: columns.optional_member()?,
    })
}

/// `id, hash, member, lineage, name, scopes, models, created_at, expires_at, revoked_at`, limits,
/// the member's `name, blocked, role, team`.
pub(super) fn key_record(row: &Row) -> Result<KeyRecord> {
    let mut columns = RowReader::new(row);
    let key = Key {
        id: columns.take()?,
        hash: columns.digest()?,
        member: MemberId(columns.take()?),
        lineage: LineageId(columns.take()?),
        name: columns.take()?,
        scopes: scopes(&columns.take::<Vec<&str>>()?)?,
        models: columns.take()?,
        created_at: columns.time()?,
        expires_at: columns.optional_time()?,
        revoked_at: columns.optional_time()?,
    };
    let limits = columns.limits()?;
    Ok(KeyRecord {
        key,
        limits,
        member_name: columns.take()?,
        member_blocked: columns.take()?,
        role: columns.role()?,
        team: columns.optional_member()?,
    })
}

fn scopes(names: &[&str]) -> Result<Vec<Scope>> {
    names.iter().map(|name| Scope::parse(name).ok_or_else(|| damaged("a scope"))).collect()
}

/// `id, member, lineage, hold, status, body, input, previous, background, created_at, expires_at`.
pub(super) fn response(row: &Row) -> Result<StoredResponse> {
    let mut columns = RowReader::new(row);
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

/// `id, member, hold, model, capability, charge, created_at, expires_at`.
pub(super) fn media_run(row: &Row) -> Result<MediaRun> {
    let mut columns = RowReader::new(row);
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
pub(super) fn artifact(row: &Row) -> Result<Artifact> {
    let mut columns = RowReader::new(row);
    Ok(Artifact {
        id: columns.take()?,
        object: columns.take()?,
        media_type: columns.take()?,
        bytes: columns.take::<i64>()?.unsigned_abs(),
        sha256: columns.digest()?,
    })
}

/// `id, at, actor, request, action, subject, detail, digest`.
pub(super) fn audit_entry(row: &Row) -> Result<AuditEntry> {
    let mut columns = RowReader::new(row);
    Ok(AuditEntry {
        id: columns.take()?,
        at: columns.time()?,
        actor: crate::Actor { name: columns.take()?, request: columns.take()? },
        action: columns.take()?,
        subject: columns.take()?,
        detail: columns.take()?,
        digest: columns.digest()?,
    })
}

pub(super) fn damaged(what: &str) -> Error {
    Error::Damaged(format!("{what} is invalid"))
}
