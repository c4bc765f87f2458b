//! Members and teams.

use std::collections::HashMap;

use ledger::{AccountKind, Budget, MemberId, Micros};

use super::{Store, page};
use crate::audit_log;
use crate::error::Result;
use crate::executor::{Executor, LOCKED};
use crate::member::stored_budget;
use crate::value::values;
use crate::{Actor, Error, Member, MemberChange};

const MEMBER: &str =
    "SELECT id, name, created_at, blocked, budget, budget_period, kind, role, team FROM members";

impl Store {
    /// Creates a member without money. Names of members and teams are unique.
    pub async fn create_member(&self, name: &str, by: &Actor) -> Result<Member> {
        let (name, by) = (name.to_owned(), by.clone());
        transaction!(self.write, db => create(db, AccountKind::Member, &name, &by))
    }

    pub async fn create_team(&self, name: &str, by: &Actor) -> Result<Member> {
        let (name, by) = (name.to_owned(), by.clone());
        transaction!(self.write, db => create(db, AccountKind::Team, &name, &by))
    }

    pub async fn change_member(
        &self,
        id: MemberId,
        change: &MemberChange,
        by: &Actor,
    ) -> Result<Member> {
        let (change, by) = (change.clone(), by.clone());
        transaction!(self.write_ledger, db => change_member(db, id, &change, &by))
    }

    /// Returns a member or a team by id.
    pub async fn member(&self, id: MemberId) -> Result<Option<Member>> {
        self.row(format!("{MEMBER} WHERE id = $1"), values![id]).await
    }

    pub async fn member_by_name(&self, name: &str) -> Result<Option<Member>> {
        self.row(format!("{MEMBER} WHERE name = $1"), values![name]).await
    }

    /// Returns the names of members and teams; those that do not exist are missing.
    pub async fn member_names(&self, ids: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        let sql = "SELECT id, name FROM members WHERE id {in $1}";
        let names: Vec<(MemberId, String)> = self.rows(sql, values![ids]).await?;
        Ok(names.into_iter().collect())
    }

    /// Lists members with an id above `after`, in order.
    pub async fn members(&self, after: MemberId, limit: u32) -> Result<Vec<Member>> {
        let sql = format!("{MEMBER} WHERE kind = 'member' AND id > $1 ORDER BY id LIMIT $2");
        self.rows(sql, values![after, page(limit)]).await
    }

    /// Lists teams with an id above `after`, in order.
    pub async fn teams(&self, after: MemberId, limit: u32) -> Result<Vec<Member>> {
        // The index of teams is used only if the kind is part of the statement.
        let sql = format!("{MEMBER} WHERE kind = 'team' AND id > $1 ORDER BY id LIMIT $2");
        self.rows(sql, values![after, page(limit)]).await
    }

    /// Lists the members of a team with an id above `after`, in order.
    pub async fn team_members(
        &self,
        team: MemberId,
        after: MemberId,
        limit: u32,
    ) -> Result<Vec<Member>> {
        let sql = format!("{MEMBER} WHERE team = $1 AND id > $2 ORDER BY id LIMIT $3");
        self.rows(sql, values![team, after, page(limit)]).await
    }
}

async fn create(
    db: &mut impl Executor,
    kind: AccountKind,
    name: &str,
    by: &Actor,
) -> Result<Member> {
    let sql = "INSERT INTO members (kind, name, created_at) VALUES ($1, $2, {now})";
    db.execute(sql, values![kind.as_str(), name], Some("member")).await?;
    let member = db.row(&format!("{MEMBER} WHERE name = $1"), values![name]).await?;
    let member: Member = member.ok_or(Error::Missing("member"))?;
    audit_log::append(db, member.creation(), by).await?;
    Ok(member)
}

async fn change_member(
    db: &mut impl Executor,
    id: MemberId,
    change: &MemberChange,
    by: &Actor,
) -> Result<Member> {
    let team = match change {
        MemberChange::Team(team) => *team,
        _ => None,
    };
    // A member and its new team, in id order to avoid deadlocks.
    let sql = format!("{MEMBER} WHERE id IN ($1, $2) ORDER BY id {LOCKED}");
    let locked: Vec<Member> = db.rows(&sql, values![id, team]).await?;
    let is_team = |it: &Member| Some(it.id) == team && it.kind == AccountKind::Team;
    let is_known = team.is_none() || locked.iter().any(is_team);
    let member = locked.into_iter().find(|it| it.id == id);
    let mut member = member.ok_or(Error::Missing("member"))?;
    member.check(change)?;
    if !is_known {
        return Err(Error::Missing("team"));
    }
    if *change == MemberChange::Remove {
        check_removable(db, id).await?;
    }
    let audited = member.apply(change);
    let (kind, role) = (member.kind.as_str(), member.role.as_str());
    let sql = "UPDATE members SET name = $2, blocked = $3, kind = $4, role = $5, team = $6 \
               WHERE id = $1";
    let values = values![id, &member.name, member.blocked, kind, role, member.team];
    db.execute(sql, values, Some("member")).await?;
    set_budget(db, "members", id.0, member.budget).await?;
    audit_log::append(db, audited, by).await?;
    Ok(member)
}

/// Checks that a team has neither members nor money.
async fn check_removable(db: &mut impl Executor, id: MemberId) -> Result<()> {
    let sql = "SELECT true FROM members WHERE team = $1 LIMIT 1";
    if db.exists(sql, values![id]).await? {
        return Err(Error::Conflict("the team has members; move them out of it first"));
    }
    let sql = "SELECT balance, {held|coalesce((SELECT sum(amount) FROM holds WHERE payer = $1), 0)} \
               FROM members WHERE id = $1";
    let state: Option<(Micros, Micros)> = db.row(sql, values![id]).await?;
    let (balance, held) = state.ok_or(Error::Missing("team"))?;
    if held != Micros::ZERO {
        let message = "the team has requests that still run; wait until they end";
        return Err(Error::Conflict(message));
    }
    if balance != Micros::ZERO {
        let message = "the team has a balance; take it out with an adjustment first";
        return Err(Error::Conflict(message));
    }
    Ok(())
}

/// Sets or removes the budget of a row. A new one counts requests that begin after now.
pub(super) async fn set_budget(
    db: &mut impl Executor,
    table: &str,
    id: i64,
    budget: Option<Budget>,
) -> Result<()> {
    let if_new = |column: &str, value: &str| {
        format!("{column} = CASE WHEN budget IS NULL THEN {value} ELSE {column} END")
    };
    let (start, charged) = (if_new("budget_start", "{now} + 1"), if_new("budget_charged", "0"));
    // SQLite does not store what is held.
    let held = if_new("budget_held", "0");
    let sql = format!(
        "UPDATE {table} SET budget = $2, budget_period = $3, {start}, {charged} {{, {held}|}} \
         WHERE id = $1"
    );
    let (amount, period) = stored_budget(budget);
    db.run(&sql, values![id, amount, period]).await.map(drop)
}
