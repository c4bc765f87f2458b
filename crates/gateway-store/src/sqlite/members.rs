//! Members and teams.

use std::collections::HashMap;

use ledger::{AccountKind, MemberId};
use rusqlite::{Connection, params};

use super::connection::ConnectionExt;
use super::error::exists;
use super::{Sqlite, audit, rows, save};
use crate::error::Result;
use crate::limits::MAX_PAGE;
use crate::member::TeamState;
use crate::records::{self, first};
use crate::{Actor, Error, Member, MemberChange};

const COLUMNS: &str =
    "SELECT id, name, created_at, blocked, budget, budget_period, kind, role, team FROM members";

impl Sqlite {
    pub(crate) async fn create_account(
        &self,
        kind: AccountKind,
        name: &str,
        by: &Actor,
    ) -> Result<Member> {
        let (name, by) = (name.to_owned(), by.clone());
        self.write(move |db, now| {
            let sql = "INSERT INTO members (kind, name, created_at) VALUES (?1, ?2, ?3)";
            let id = db.prepare_cached(sql)?.insert(params![kind.as_str(), name, now.micros()]);
            let id = id.map_err(exists("member"))?;
            let member = by_id(db, MemberId(id))?.ok_or(Error::Missing("member"))?;
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
            member.check(&change)?;
            check_others(db, id, &change)?;
            let audited = member.apply(&change);
            let sql = "UPDATE members SET name = ?2, blocked = ?3, kind = ?4, role = ?5, team = ?6 \
                       WHERE id = ?1";
            let team = member.team.map(|team| team.0);
            let (kind, role) = (member.kind.as_str(), member.role.as_str());
            db.prepare_cached(sql)?
                .execute(params![id.0, member.name, member.blocked, kind, role, team])
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
        self.read(move |db, _| {
            db.row(&format!("{COLUMNS} WHERE name = ?1"), [name], |row| records::member(row))
        })
        .await
    }

    pub(crate) async fn member_names(&self, ids: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        let ids = ids.to_vec();
        self.read(move |db, _| {
            let mut names = HashMap::new();
            for id in ids {
                let sql = "SELECT name FROM members WHERE id = ?1";
                if let Some(name) = db.row(sql, [id.0], |row| first(row))? {
                    names.insert(id, name);
                }
            }
            Ok(names)
        })
        .await
    }

    pub(crate) async fn accounts_of_kind(
        &self,
        kind: AccountKind,
        after: MemberId,
        limit: u32,
    ) -> Result<Vec<Member>> {
        self.read(move |db, _| {
            let kind = kind.as_str();
            // The index of teams is used only if the text is part of the statement.
            let sql = format!("{COLUMNS} WHERE kind = '{kind}' AND id > ?1 ORDER BY id LIMIT ?2");
            db.rows(&sql, params![after.0, limit.min(MAX_PAGE)], |row| records::member(row))
        })
        .await
    }

    pub(crate) async fn team_members(
        &self,
        team: MemberId,
        after: MemberId,
        limit: u32,
    ) -> Result<Vec<Member>> {
        self.read(move |db, _| {
            let sql = format!("{COLUMNS} WHERE team = ?1 AND id > ?2 ORDER BY id LIMIT ?3");
            db.rows(&sql, params![team.0, after.0, limit.min(MAX_PAGE)], |row| records::member(row))
        })
        .await
    }
}

fn check_others(db: &Connection, id: MemberId, change: &MemberChange) -> Result<()> {
    match change {
        MemberChange::Team(Some(team)) => {
            let found = by_id(db, *team)?.filter(|team| team.kind == AccountKind::Team);
            found.map(drop).ok_or(Error::Missing("team"))
        }
        MemberChange::Remove => {
            let account = rows::account(db, id)?.ok_or(Error::Missing("team"))?;
            let sql = "SELECT 1 FROM members WHERE team = ?1 LIMIT 1";
            let has_members = db.prepare_cached(sql)?.exists([id.0])?;
            let (balance, held) = (account.balance, account.held);
            TeamState { has_members, balance, held }.check_removable()
        }
        _ => Ok(()),
    }
}

pub(super) fn by_id(db: &Connection, id: MemberId) -> Result<Option<Member>> {
    db.row(&format!("{COLUMNS} WHERE id = ?1"), [id.0], |row| records::member(row))
}
