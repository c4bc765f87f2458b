//! Members and teams.

use std::collections::HashMap;

use ledger::{AccountKind, MemberId};
use tokio_postgres::Transaction;

use super::connection::PgConnection;
use super::error::exists;
use super::pool::pooled;
use super::rows::{RowReader, Value};
use super::statements::{set_budget, with_clock};
use super::{Postgres, audit, rows};
use crate::error::Result;
use crate::key::stored_budget;
use crate::member::TeamState;
use crate::records::{self, Columns};
use crate::{Actor, Error, Member, MemberChange};

macro_rules! columns {
    () => {
        "id, name, created_at, blocked, budget, budget_period, kind, role, team"
    };
}

const CREATE: &str = concat!(
    "INSERT INTO members (kind, name, created_at) VALUES ($1, $2, {now}) RETURNING ",
    columns!()
);

/// A member and its new team, in id order to avoid deadlocks.
const LOCK: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM members WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE"
);

const UPDATE: &str =
    "UPDATE members SET name = $2, blocked = $3, kind = $4, role = $5, team = $6 WHERE id = $1";

const SET_BUDGET: &str = set_budget!("members");

const TEAM_STATE: &str = "SELECT EXISTS (SELECT FROM members WHERE team = $1), balance, held \
    FROM members WHERE id = $1";

const BY_ID: &str = concat!("SELECT ", columns!(), " FROM members WHERE id = $1");

const BY_NAME: &str = concat!("SELECT ", columns!(), " FROM members WHERE name = $1");

const NAMES: &str = "SELECT id, name FROM members WHERE id = ANY($1)";

const MEMBERS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM members WHERE kind = 'member' AND id > $1 ORDER BY id LIMIT $2"
);

const TEAMS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM members WHERE kind = 'team' AND id > $1 ORDER BY id LIMIT $2"
);

const OF_TEAM: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM members WHERE team = $1 AND id > $2 ORDER BY id LIMIT $3"
);

impl Postgres {
    pub(crate) async fn create_account(
        &self,
        kind: AccountKind,
        name: &str,
        by: &Actor,
    ) -> Result<Member> {
        pooled!(self, connection => create(connection, kind, name, by))
    }

    pub(crate) async fn change_member(
        &self,
        id: MemberId,
        member_change: &MemberChange,
        by: &Actor,
    ) -> Result<Member> {
        pooled!(self, connection => change(connection, id, member_change, by))
    }

    pub(crate) async fn member(&self, id: MemberId) -> Result<Option<Member>> {
        self.row(BY_ID, &[&id.0], |row| records::member(row)).await
    }

    pub(crate) async fn member_by_name(&self, name: &str) -> Result<Option<Member>> {
        self.row(BY_NAME, &[&name], |row| records::member(row)).await
    }

    pub(crate) async fn member_names(&self, ids: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
        let read = |columns: &mut RowReader<'_>| Ok((MemberId(columns.take()?), columns.take()?));
        Ok(self.rows(NAMES, &[&ids], read).await?.into_iter().collect())
    }

    pub(crate) async fn accounts_of_kind(
        &self,
        kind: AccountKind,
        after: MemberId,
        limit: u32,
    ) -> Result<Vec<Member>> {
        let sql = if kind == AccountKind::Member { MEMBERS } else { TEAMS };
        self.rows(sql, &[&after.0, &rows::page(limit)], |row| records::member(row)).await
    }

    pub(crate) async fn team_members(
        &self,
        team: MemberId,
        after: MemberId,
        limit: u32,
    ) -> Result<Vec<Member>> {
        self.rows(OF_TEAM, &[&team.0, &after.0, &rows::page(limit)], |row| records::member(row))
            .await
    }
}

async fn create(
    connection: &mut PgConnection,
    kind: AccountKind,
    name: &str,
    by: &Actor,
) -> Result<Member> {
    let transaction = connection.client.transaction().await?;
    let created = transaction.query_one(&with_clock(CREATE), &[&kind.as_str(), &name]).await;
    let member = records::member(&mut RowReader::new(&created.map_err(exists("member"))?))?;
    audit::append(&transaction, member.creation(), by).await?;
    transaction.commit().await?;
    Ok(member)
}

async fn change(
    connection: &mut PgConnection,
    id: MemberId,
    change: &MemberChange,
    by: &Actor,
) -> Result<Member> {
    let transaction = connection.client.transaction().await?;
    let team = match change {
        MemberChange::Team(team) => *team,
        _ => None,
    };
    let ids: Vec<i64> = std::iter::once(id).chain(team).map(|id| id.0).collect();
    let locked = transaction.query(LOCK, &[&ids]).await?;
    let read = |row| records::member(&mut RowReader::new(row));
    let locked: Vec<Member> = locked.iter().map(read).collect::<Result<_>>()?;
    let is_team = |it: &Member| Some(it.id) == team && it.kind == AccountKind::Team;
    let is_known = team.is_none() || locked.iter().any(is_team);
    let member = locked.into_iter().find(|it| it.id == id);
    let mut member = member.ok_or(Error::Missing("member"))?;
    member.check(change)?;
    if !is_known {
        return Err(Error::Missing("team"));
    }
    if *change == MemberChange::Remove {
        team_state(&transaction, id).await?.check_removable()?;
    }
    let audited = member.apply(change);
    let (kind, role) = (member.kind.as_str(), member.role.as_str());
    let team = member.team.map(|team| team.0);
    let values: [Value<'_>; 6] = [&id.0, &member.name, &member.blocked, &kind, &role, &team];
    transaction.execute(UPDATE, &values).await.map_err(exists("member"))?;
    let (budget, period) = stored_budget(member.budget);
    transaction.execute(&with_clock(SET_BUDGET), &[&id.0, &budget, &period]).await?;
    audit::append(&transaction, audited, by).await?;
    transaction.commit().await?;
    Ok(member)
}

async fn team_state(transaction: &Transaction<'_>, id: MemberId) -> Result<TeamState> {
    let row = transaction.query_one(TEAM_STATE, &[&id.0]).await?;
    let mut columns = RowReader::new(&row);
    Ok(TeamState {
        has_members: columns.take()?,
        balance: columns.micros()?,
        held: columns.micros()?,
    })
}
