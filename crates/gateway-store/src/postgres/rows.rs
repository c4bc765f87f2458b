//! Reads rows, and converts values to parameters.

use bytes::BytesMut;
use ledger::{
    Hold, HoldId, HouseAccount, IdempotencyRecord, LineageId, MemberId, Posting, PostingKind,
};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

use crate::Error;
use crate::error::Result;
use crate::limits::MAX_PAGE;
use crate::records::{self, Column, Columns, HoldUuid};

type Failure = Box<dyn std::error::Error + Sync + Send>;

pub(super) fn page(limit: u32) -> i64 {
    i64::from(limit.min(MAX_PAGE))
}

pub(super) type Value<'a> = &'a (dyn ToSql + Sync);

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
}

impl Columns for RowReader<'_> {
    fn take<T: Column>(&mut self) -> Result<T> {
        RowReader::take(self)
    }

    fn digest(&mut self) -> Result<[u8; 32]> {
        let bytes: &[u8] = self.take()?;
        bytes.try_into().map_err(|_| damaged("a digest"))
    }

    fn scope_names(&mut self) -> Result<Vec<String>> {
        self.take()
    }

    fn models(&mut self) -> Result<Option<Vec<String>>> {
        self.take()
    }

    fn unknown(&self, what: &str, _: &str) -> Error {
        damaged(what)
    }
}

pub(super) fn first<T: Column>(row: &Row) -> Result<T> {
    RowReader::new(row).take()
}

/// `at, kind, member, house, amount, balance, hold, reason, reference`.
pub(super) fn posting(columns: &mut RowReader<'_>) -> Result<Posting> {
    Ok(Posting {
        at: columns.time()?,
        kind: columns.parsed("a kind", PostingKind::parse)?,
        member: MemberId(columns.take()?),
        house: columns.parsed("an account", HouseAccount::parse)?,
        amount: columns.micros()?,
        balance: columns.micros()?,
        hold: columns.take::<Option<HoldUuid>>()?.map(|uid| uid.0),
        reason: columns.take()?,
        reference: columns.take()?,
    })
}

/// A live hold and its idempotency record, if any: `id, member, payer,
/// lineage, amount, operation, model, owner, since, lease_until, idempotency, body_sha256,
/// answered`.
pub(super) fn hold(row: &Row) -> Result<(Hold, Option<IdempotencyRecord>)> {
    let mut columns = RowReader::new(row);
    let hold = records::hold(&mut columns)?;
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

fn damaged(what: &str) -> Error {
    Error::Damaged(format!("{what} is invalid"))
}
