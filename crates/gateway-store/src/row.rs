//! Rows of either database, and the types of their columns.

use std::borrow::Cow;
use std::sync::Arc;

use ledger::{
    AccountKind, ChargeRule, HoldId, LineageId, MemberId, Micros, Period, PostingKind, Time,
};
use rusqlite::types::ValueRef;
use tokio_postgres::types::{FromSql, Type};
use uuid::Uuid;

use crate::error::{Result, Source};
use crate::{Error, JobStatus, Role, Scope};

/// Reads the columns of a row in order.
pub(crate) struct Row<'a> {
    columns: Columns<'a>,
    next: usize,
}

#[derive(Clone, Copy)]
enum Columns<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a tokio_postgres::Row),
}

/// A value of one or more columns.
pub(crate) trait Read: Sized {
    /// The number of columns.
    const COLUMNS: usize = 1;

    fn read(row: &mut Row<'_>) -> Result<Self>;
}

impl<'a> From<&'a rusqlite::Row<'a>> for Row<'a> {
    fn from(row: &'a rusqlite::Row<'a>) -> Self {
        Self { columns: Columns::Sqlite(row), next: 0 }
    }
}

impl<'a> From<&'a tokio_postgres::Row> for Row<'a> {
    fn from(row: &'a tokio_postgres::Row) -> Self {
        Self { columns: Columns::Postgres(row), next: 0 }
    }
}

impl Row<'_> {
    pub(crate) fn take<T: Read>(&mut self) -> Result<T> {
        T::read(self)
    }

    /// A value that both drivers know.
    fn column<T>(&mut self) -> Result<T>
    where
        T: rusqlite::types::FromSql + for<'a> FromSql<'a>,
    {
        self.next += 1;
        match self.columns {
            Columns::Sqlite(row) => Ok(row.get(self.next - 1)?),
            Columns::Postgres(row) => Ok(row.try_get(self.next - 1)?),
        }
    }

    /// A list that SQLite stores as text.
    fn list(&mut self, parse: impl FnOnce(&str) -> Option<Vec<String>>) -> Result<Vec<String>> {
        if let Columns::Postgres(row) = self.columns {
            self.next += 1;
            return Ok(row.try_get(self.next - 1)?);
        }
        parse(&self.column::<String>()?).ok_or_else(|| damaged("a list"))
    }

    fn is_null(&self) -> Result<bool> {
        Ok(match self.columns {
            Columns::Sqlite(row) => row.get_ref(self.next)? == ValueRef::Null,
            Columns::Postgres(row) => row.try_get::<_, Option<AnyValue>>(self.next)?.is_none(),
        })
    }
}

/// The error for a value that no version of this program writes.
fn damaged(what: &str) -> Error {
    Error::Damaged(format!("{what} is invalid"))
}

impl<T: Read> Read for Option<T> {
    const COLUMNS: usize = T::COLUMNS;

    fn read(row: &mut Row<'_>) -> Result<Self> {
        if row.is_null()? {
            row.next += T::COLUMNS;
            return Ok(None);
        }
        T::read(row).map(Some)
    }
}

macro_rules! tuples {
    ($(($($kind:ident),*))*) => {
        $(impl<$($kind: Read),*> Read for ($($kind,)*) {
            const COLUMNS: usize = 0 $(+ $kind::COLUMNS)*;

            fn read(row: &mut Row<'_>) -> Result<Self> {
                Ok(($(row.take::<$kind>()?,)*))
            }
        })*
    };
}

tuples!((A, B)(A, B, C)(A, B, C, D)(A, B, C, D, E, F));

macro_rules! known_to_drivers {
    ($($kind:ty),*) => {
        $(impl Read for $kind {
            fn read(row: &mut Row<'_>) -> Result<Self> {
                row.column()
            }
        })*
    };
}

known_to_drivers!(bool, i32, i64, String, Vec<u8>);

/// Types of this program, each with the type that is stored and the conversion.
macro_rules! converted {
    ($($kind:ty: |$stored:ident: $from:ty| $value:expr;)*) => {
        $(impl Read for $kind {
            fn read(row: &mut Row<'_>) -> Result<Self> {
                let $stored: $from = row.column()?;
                let value: Option<Self> = $value;
                value.ok_or_else(|| damaged(stringify!($kind)))
            }
        })*
    };
}

converted! {
    u16: |number: i32| Self::try_from(number).ok();
    u32: |number: i64| Self::try_from(number).ok();
    u64: |number: i64| Self::try_from(number).ok();
    Cow<'static, str>: |text: String| Some(Self::Owned(text));
    Arc<str>: |text: String| Some(text.into());
    [u8; 32]: |digest: Vec<u8>| Self::try_from(digest).ok();
    HoldId: |id: Uuid| Some(Self::from_bytes(id.into_bytes()));
    LineageId: |id: i64| Some(Self(id));
    MemberId: |id: i64| Some(Self(id));
    Micros: |micros: i64| Some(Self::new(micros));
    Time: |micros: i64| Some(Self::from_micros(micros));
    AccountKind: |name: String| Self::parse(&name);
    ChargeRule: |name: String| Self::parse(&name);
    JobStatus: |name: String| Self::parse(&name);
    Period: |name: String| Self::parse(&name);
    PostingKind: |name: String| Self::parse(&name);
    Role: |name: String| Self::parse(&name);
}

/// An array, or JSON in SQLite.
impl Read for Vec<String> {
    fn read(row: &mut Row<'_>) -> Result<Self> {
        row.list(|text| serde_json::from_str(text).ok())
    }
}

/// An array, or words with spaces between them in SQLite.
impl Read for Vec<Scope> {
    fn read(row: &mut Row<'_>) -> Result<Self> {
        let words = row.list(|text| Some(text.split_whitespace().map(str::to_owned).collect()))?;
        words.iter().map(|name| Scope::parse(name).ok_or_else(|| damaged("a scope"))).collect()
    }
}

/// A value of PostgreSQL that is not null.
struct AnyValue;

impl<'a> FromSql<'a> for AnyValue {
    fn from_sql(_: &Type, _: &'a [u8]) -> std::result::Result<Self, Source> {
        Ok(Self)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
