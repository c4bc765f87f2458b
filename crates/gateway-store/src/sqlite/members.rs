//! Members.

use ledger::{MemberId, Time};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::json;

use super::rows::{MAX_PAGE, time};
use super::{audit, failure};
use crate::backend::Result;
use crate::{Actor, Error, Member, MemberChange};

const COLUMNS: &str = "SELECT id, name, created_at, blocked FROM members";

pub(super) fn create(connection: &Connection, name: &str, by: &Actor, now: Time) -> Result<Member> {
    let mut insert =
        connection.prepare_cached("INSERT INTO members (name, created_at) VALUES (?1, ?2)")?;
    let id = MemberId(insert.insert(params![name, now.micros()]).map_err(taken)?);
    let entry = ("member.create", id.to_string(), &json!({ "name": name }));
    audit::append(connection, now, by, entry)?;
    Ok(Member { id, name: name.to_owned(), created_at: now, blocked: false })
}

pub(super) fn change(
    connection: &Connection,
    id: MemberId,
    change: &MemberChange,
    (by, now): (&Actor, Time),
) -> Result<Member> {
    let mut member = by_id(connection, id)?.ok_or(Error::Missing("member"))?;
    let (action, detail) = match change {
        MemberChange::Rename(name) => {
            let before = std::mem::replace(&mut member.name, name.clone());
            ("member.rename", json!({ "from": before, "to": name }))
        }
        MemberChange::Block => {
            member.blocked = true;
            ("member.block", json!({}))
        }
        MemberChange::Unblock => {
            member.blocked = false;
            ("member.unblock", json!({}))
        }
    };
    connection
        .prepare_cached("UPDATE members SET name = ?2, blocked = ?3 WHERE id = ?1")?
        .execute(params![id.0, member.name, member.blocked])
        .map_err(taken)?;
    audit::append(connection, now, by, (action, id.to_string(), &detail))?;
    Ok(member)
}

pub(super) fn by_id(connection: &Connection, id: MemberId) -> Result<Option<Member>> {
    let mut query = connection.prepare_cached(&format!("{COLUMNS} WHERE id = ?1"))?;
    Ok(query.query_row([id.0], read).optional()?)
}

pub(super) fn by_name(connection: &Connection, name: &str) -> Result<Option<Member>> {
    let mut query = connection.prepare_cached(&format!("{COLUMNS} WHERE name = ?1"))?;
    Ok(query.query_row([name], read).optional()?)
}

pub(super) fn list(connection: &Connection, after: MemberId, limit: u32) -> Result<Vec<Member>> {
    let mut query =
        connection.prepare_cached(&format!("{COLUMNS} WHERE id > ?1 ORDER BY id LIMIT ?2"))?;
    let rows = query.query_map(params![after.0, limit.min(MAX_PAGE)], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Member> {
    Ok(Member {
        id: MemberId(row.get(0)?),
        name: row.get(1)?,
        created_at: time(row, 2)?,
        blocked: row.get(3)?,
    })
}

fn taken(error: rusqlite::Error) -> Error {
    if failure::is_taken(&error) { Error::Exists("member") } else { error.into() }
}
