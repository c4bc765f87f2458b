//! Members.

use std::collections::HashMap;

use ledger::MemberId;
use tokio_postgres::Row;

use super::connection::PgConnection;
use super::error::exists;
use super::pool::pooled;
use super::rows::RowReader;
use super::statements::{now, set_budget};
use super::{Postgres, audit, rows};
use crate::error::Result;
use crate::key::stored_budget;
use crate::{Actor, Error, Member, MemberChange};

const CREATE: &str = concat!(
    "INSERT INTO members (name, created_at) VALUES ($1, ",
    now!(),
    ") RETURNING id, name, created_at, blocked, budget, budget_period"
);

const LOCK: &str = "SELECT id, name, created_at, blocked, budget, budget_period FROM members WHERE id = $1 FOR NO KEY UPDATE";

const UPDATE: &str = "UPDATE members SET name = $2, blocked = $3 WHERE id = $1";

const SET_BUDGET: &str = set_budget!("members");

const BY_ID: &str =
    "SELECT id, name, created_at, blocked, budget, budget_period FROM members WHERE id = $1";

const BY_NAME: &str =
    "SELECT id, name, created_at, blocked, budget, budget_period FROM members WHERE name = $1";

const NAMES: &str = "SELECT id, name FROM members WHERE id = ANY($1)";

const PAGE: &str = "SELECT id, name, created_at, blocked, budget, budget_period FROM members WHERE id > $1 ORDER BY id LIMIT $2";

impl Postgres {
    pub(crate) async fn create_member(&self, name: &str, by: &Actor) -> Result<Member> {
        pooled!(self, connection => create(connection, name, by))
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
        self.row(BY_ID, &[&id.0], rows::member).await
    }

    pub(crate) async fn member_by_name(&self, name: &str) -> Result<Option<Member>> {
        self.row(BY_NAME, &[&name], rows::member).await
    }

    pub(crate) async fn member_names(&self, ids: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
        let read = |row: &Row| {
            let mut columns = RowReader::new(row);
            Ok((MemberId(columns.take()?), columns.take()?))
        };
        Ok(self.rows(NAMES, &[&ids], read).await?.into_iter().collect())
    }

    pub(crate) async fn members(&self, after: MemberId, limit: u32) -> Result<Vec<Member>> {
        self.rows(PAGE, &[&after.0, &rows::page(limit)], rows::member).await
    }
}

async fn create(connection: &mut PgConnection, name: &str, by: &Actor) -> Result<Member> {
    let transaction = connection.client_mut().transaction().await?;
    let row = transaction.query_one(CREATE, &[&name]).await.map_err(exists("member"))?;
    let member = rows::member(&row)?;
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
    let transaction = connection.client_mut().transaction().await?;
    let row = transaction.query_opt(LOCK, &[&id.0]).await?;
    let mut member = rows::member(&row.ok_or(Error::Missing("member"))?)?;
    let audited = member.apply(change);
    let updated = transaction.execute(UPDATE, &[&id.0, &member.name, &member.blocked]).await;
    updated.map_err(exists("member"))?;
    let (budget, period) = stored_budget(member.budget);
    transaction.execute(SET_BUDGET, &[&id.0, &budget, &period]).await?;
    audit::append(&transaction, audited, by).await?;
    transaction.commit().await?;
    Ok(member)
}
