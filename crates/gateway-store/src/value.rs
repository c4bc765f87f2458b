//! Values of parameters, for both databases.

use std::borrow::Cow;

use bytes::BytesMut;
use ledger::{HoldId, LineageId, MemberId, Micros, Time};
use rusqlite::types::ToSqlOutput;
use serde_json::json;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use crate::error::Source;

#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    Null,
    Bool(bool),
    /// An `integer` or a `bigint`.
    Number(i64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    /// A `uuid`, or 16 bytes.
    Id(Uuid),
    /// An array, or words with spaces between them in SQLite.
    Words(Vec<&'static str>),
    /// Other lists are arrays, or JSON in SQLite.
    Texts(Vec<String>),
    Numbers(Vec<i64>),
    Ids(Vec<Uuid>),
}

macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::value::Value::from($value)),*] };
}
pub(crate) use values;

macro_rules! conversions {
    ($($kind:ty: $value:ident => $converted:expr;)*) => {
        $(impl<'a> From<$kind> for Value<'a> {
            fn from($value: $kind) -> Self {
                $converted
            }
        })*
    };
}

conversions! {
    bool: value => Self::Bool(value);
    i32: value => Self::Number(value.into());
    i64: value => Self::Number(value);
    u16: value => Self::Number(value.into());
    u32: value => Self::Number(value.into());
    &'a str: value => Self::Text(value.into());
    &'a String: value => Self::Text(value.into());
    String: value => Self::Text(value.into());
    &'a [u8]: value => Self::Bytes(value.into());
    &'a [u8; 32]: value => Self::Bytes(value[..].into());
    &'a Vec<u8>: value => Self::Bytes(value.into());
    Vec<u8>: value => Self::Bytes(value.into());
    HoldId: value => Self::Id(uuid(value));
    MemberId: value => Self::Number(value.0);
    LineageId: value => Self::Number(value.0);
    Micros: value => Self::Number(value.get());
    Time: value => Self::Number(value.micros());
    &'a [MemberId]: value => Self::Numbers(value.iter().map(|id| id.0).collect());
    &'a [LineageId]: value => Self::Numbers(value.iter().map(|id| id.0).collect());
    &'a [HoldId]: value => Self::Ids(value.iter().copied().map(uuid).collect());
    &'a [String]: value => Self::Texts(value.to_vec());
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The id of a hold as a `uuid`, or 16 bytes.
pub(crate) fn uuid(id: HoldId) -> Uuid {
    Uuid::from_bytes(id.to_bytes())
}

impl Value<'_> {
    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Number(value) => Value::Number(value),
            Self::Text(value) => Value::Text(value.into_owned().into()),
            Self::Bytes(value) => Value::Bytes(value.into_owned().into()),
            Self::Id(value) => Value::Id(value),
            Self::Words(value) => Value::Words(value),
            Self::Texts(value) => Value::Texts(value),
            Self::Numbers(value) => Value::Numbers(value),
            Self::Ids(value) => Value::Ids(value),
        }
    }
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let owned = match self {
            Self::Null => rusqlite::types::Value::Null,
            Self::Bool(value) => (*value).into(),
            Self::Number(value) => (*value).into(),
            Self::Text(value) => return Ok(ToSqlOutput::from(&**value)),
            Self::Bytes(value) => return Ok(ToSqlOutput::from(&**value)),
            Self::Id(id) => return Ok(ToSqlOutput::from(&id.as_bytes()[..])),
            Self::Words(words) => words.join(" ").into(),
            Self::Texts(texts) => json!(texts).to_string().into(),
            Self::Numbers(numbers) => json!(numbers).to_string().into(),
            Self::Ids(ids) => {
                let digits: Vec<String> = ids.iter().map(|id| id.simple().to_string()).collect();
                json!(digits).to_string().into()
            }
        };
        Ok(ToSqlOutput::Owned(owned))
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Source> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Bool(value) => value.to_sql_checked(kind, out),
            Self::Number(value) if *kind == Type::INT4 => {
                i32::try_from(*value)?.to_sql_checked(kind, out)
            }
            Self::Number(value) => value.to_sql_checked(kind, out),
            Self::Text(value) => value.to_sql_checked(kind, out),
            Self::Bytes(value) => value.to_sql_checked(kind, out),
            Self::Id(value) => value.to_sql_checked(kind, out),
            Self::Words(value) => value.to_sql_checked(kind, out),
            Self::Texts(value) => value.to_sql_checked(kind, out),
            Self::Numbers(value) => value.to_sql_checked(kind, out),
            Self::Ids(value) => value.to_sql_checked(kind, out),
        }
    }

    /// The type is checked with the value.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
