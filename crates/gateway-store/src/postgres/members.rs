//! Members.

use ledger::MemberId;
use serde_json::json;

use super::audit::{self, Change};
use super::fault::{exists, fault};
use super::link::Link;
use super::rows;
use super::statements::now;
use crate::backend::Result;
use crate::{Actor, Error, Member, MemberChange};

const CREATE: &str = concat!(
    "INSERT INTO members (name, created_at) VALUES ($1, ",
    now!(),
    ") RETURNING id, name, created_at, blocked"
);

const LOCK: &str =
    "SELECT id, name, created_at, blocked FROM members WHERE id = $1 FOR NO KEY UPDATE";

const RENAME: &str =
    "UPDATE members SET name = $2 WHERE id = $1 RETURNING id, name, created_at, blocked";

const SET_BLOCKED: &str =
    "UPDATE members SET blocked = $2 WHERE id = $1 RETURNING id, name, created_at, blocked";

const BY_ID: &str = "SELECT id, name, created_at, blocked FROM members WHERE id = $1";

const BY_NAME: &str = "SELECT id, name, created_at, blocked FROM members WHERE name = $1";

const PAGE: &str =
    "SELECT id, name, created_at, blocked FROM members WHERE id > $1 ORDER BY id LIMIT $2";

pub(super) async fn create(link: &mut Link, name: &str, by: &Actor) -> Result<Member> {
    let transaction = link.client_mut().transaction().await.map_err(fault)?;
    let row = transaction.query_one(CREATE, &[&name]).await.map_err(exists("member"))?;
    let member = rows::member(&row)?;
    let change = Change {
        action: "member.create",
        subject: member.id.to_string(),
        detail: json!({ "name": name }),
    };
    audit::append(&transaction, change, by).await?;
    transaction.commit().await.map_err(fault)?;
    Ok(member)
}

pub(super) async fn change(
    link: &mut Link,
    id: MemberId,
    change: &MemberChange,
    by: &Actor,
) -> Result<Member> {
    let transaction = link.client_mut().transaction().await.map_err(fault)?;
    let row = transaction.query_opt(LOCK, &[&id.0]).await.map_err(fault)?;
    let before = rows::member(&row.ok_or(Error::Missing("member"))?)?;
    let (row, action, detail) = match change {
        MemberChange::Rename(name) => {
            let row = transaction.query_one(RENAME, &[&id.0, name]).await;
            let detail = json!({ "from": before.name, "to": name });
            (row.map_err(exists("member"))?, "member.rename", detail)
        }
        MemberChange::Block | MemberChange::Unblock => {
            let blocked = *change == MemberChange::Block;
            let row = transaction.query_one(SET_BLOCKED, &[&id.0, &blocked]).await;
            let action = if blocked { "member.block" } else { "member.unblock" };
            (row.map_err(fault)?, action, json!({}))
        }
    };
    let change = Change { action, subject: id.to_string(), detail };
    audit::append(&transaction, change, by).await?;
    transaction.commit().await.map_err(fault)?;
    rows::member(&row)
}

pub(super) async fn by_id(link: &mut Link, id: MemberId) -> Result<Option<Member>> {
    link.row(BY_ID, &[&id.0]).await?.as_ref().map(rows::member).transpose()
}

pub(super) async fn by_name(link: &mut Link, name: &str) -> Result<Option<Member>> {
    link.row(BY_NAME, &[&name]).await?.as_ref().map(rows::member).transpose()
}

pub(super) async fn page(link: &mut Link, after: MemberId, limit: u32) -> Result<Vec<Member>> {
    let found = link.rows(PAGE, &[&after.0, &rows::page(limit)]).await?;
    found.iter().map(rows::member).collect()
}
