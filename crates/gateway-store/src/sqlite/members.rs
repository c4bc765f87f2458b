//! Members.

use std::collections::HashMap;

use ledger::MemberId;
use rusqlite::{Connection, Row, params};

use super::connection::ConnectionExt;
use super::error::exists;
use super::rows::{budget, time};
use super::{Sqlite, audit, save};
use crate::error::Result;
use crate::limits::MAX_PAGE;
use crate::{Actor, Error, Member, MemberChange};

const COLUMNS: &str = "SELECT id, name, created_at, blocked, budget, budget_period FROM members";

impl Sqlite {
    pub(crate) async fn create_member(&self, name: &str, by: &Actor) -> Result<Member> {
        let (name, by) = (name.to_owned(), by.clone());
        self.write(move |db, now| {
            let sql = "INSERT INTO members (name, created_at) VALUES (?1, ?2)";
            let id = db.prepare_cached(sql)?.insert(params![name, now.micros()]);
            let id = MemberId(id.map_err(exists("member"))?);
            let member = Member { id, name, created_at: now, blocked: false, budget: None };
            audit::append(db, member.creation(), now, &by)?;
            Ok(member)
        })
        .await
    }

    pub(crate) async fn change_member(
        &self,
        id: MemberId,
        change: &MemberChange,
        by: &Actor,
    ) -> Result<Member> {
        let (change, by) = (change.clone(), by.clone());
        self.write_ledger(move |db, now| {
            let mut member = by_id(db, id)?.ok_or(Error::Missing("member"))?;
            let audited = member.apply(&change);
            db.prepare_cached("UPDATE members SET name = ?2, blocked = ?3 WHERE id = ?1")?
                .execute(params![id.0, member.name, member.blocked])
                .map_err(exists("member"))?;
            save::set_budget(db, "members", id.0, member.budget, now)?;
            audit::append(db, audited, now, &by)?;
            Ok(member)
        })
        .await
    }

    pub(crate) async fn member(&self, id: MemberId) -> Result<Option<Member>> {
        self.read(move |db, _| by_id(db, id)).await
    }

    pub(crate) async fn member_by_name(&self, name: &str) -> Result<Option<Member>> {
        let name = name.to_owned();
        self.read(move |db, _| db.row(&format!("{COLUMNS} WHERE name = ?1"), [name], read)).await
    }

    pub(crate) async fn member_names(&self, ids: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        let ids = ids.to_vec();
        self.read(move |db, _| {
            let mut names = HashMap::new();
            for id in ids {
                let sql = "SELECT name FROM members WHERE id = ?1";
                if let Some(name) = db.row(sql, [id.0], |row| row.get(0))? {
                    names.insert(id, name);
                }
            }
            Ok(names)
        })
        .await
    }

    pub(crate) async fn members(&self, after: MemberId, limit: u32) -> Result<Vec<Member>> {
        self.read(move |db, _| {
            let sql = format!("{COLUMNS} WHERE id > ?1 ORDER BY id LIMIT ?2");
            db.rows(&sql, params![after.0, limit.min(MAX_PAGE)], read)
        })
        .await
    }
}

pub(super) fn by_id(db: &Connection, id: MemberId) -> Result<Option<Member>> {
    db.row(&format!("{COLUMNS} WHERE id = ?1"), [id.0], read)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Member> {
    Ok(Member {
        id: MemberId(row.get(0)?),
        name: row.get(1)?,
        created_at: time(row, 2)?,
        blocked: row.get(3)?,
        budget: budget(row, 4)?,
    })
}
