//! Alerts of operators, and the outbox from which they are delivered. Any number of processes share
//! both.

use ledger::{MemberId, Micros, Time};

use super::{Store, page};
use crate::WebhookOutcome;
use crate::error::Result;
use crate::executor::{Executor, SKIP_LOCKED};
use crate::value::values;

/// Alerts older than this are deleted when a new one is written.
const ALERT_RETENTION_MICROS: i64 = 90 * 86_400 * 1_000_000;
/// A condition that recurs within this time after its end is not reported again.
const REPEAT_MICROS: i64 = 10 * 60 * 1_000_000;
const MAX_ERROR_CHARS: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAlert {
    /// `balance`, `key_limit`, `provider`, `ledger`, `test` …
    pub kind: String,
    /// The member, key or provider.
    pub subject: String,
    pub message: String,
    /// Names the condition, which is reported once until it has ended. `None` is always reported.
    pub key: Option<String>,
    pub channels: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    pub id: i64,
    pub at: Time,
    pub kind: String,
    pub subject: String,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertDelivery {
    pub alert: Alert,
    /// `None` for an alert that no channel delivers.
    pub channel: Option<String>,
    /// The number of tries so far: the fencing token of a claim.
    pub tries: u32,
    /// `delivered`, `given_up`, or `None` while it is pending.
    pub outcome: Option<String>,
    /// Why the last try failed; else empty.
    pub error: String,
}

/// The newest top-up or positive adjustment of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credit {
    pub posting: i64,
    /// The balance after it.
    pub balance: Micros,
}

const DELIVERY: &str = "SELECT a.id, a.at, a.kind, a.subject, a.message, d.channel, \
    coalesce(d.tries, 0), d.outcome, coalesce(d.error, '') \
    FROM alerts a LEFT JOIN alert_deliveries d ON d.alert = a.id";

const DUE: &str = "SELECT alert, channel FROM alert_deliveries \
    WHERE outcome IS NULL AND due_at <= {now} ORDER BY due_at LIMIT 1";

impl Store {
    /// Writes an alert and its deliveries, unless its condition is reported already; returns its number
    /// if it is new.
    pub async fn open_alert(&self, alert: &NewAlert) -> Result<Option<i64>> {
        let new = alert.clone();
        statements!(self.write, db => delete_old(db))?;
        transaction!(self.write, db => open(db, &new))
    }

    /// Ends the condition of an alert, so that it is reported if it recurs.
    pub async fn end_alert(&self, key: &str) -> Result<()> {
        let open = "SELECT true FROM alerts WHERE key = $1 AND ended_at IS NULL";
        // Usually it is not open, and the writer is not needed.
        if self.row::<bool>(open, values![key]).await?.is_some() {
            let sql = "UPDATE alerts SET ended_at = {now} WHERE key = $1 AND ended_at IS NULL";
            self.run(sql, values![key]).await?;
        }
        Ok(())
    }

    /// Claims a delivery that is due, until the lease is over.
    pub async fn claim_alert(&self, lease_micros: i64) -> Result<Option<AlertDelivery>> {
        // Usually nothing is due, and the writer is not needed.
        if self.row::<(i64, String)>(DUE, values![]).await?.is_none() {
            return Ok(None);
        }
        transaction!(self.write, db => claim(db, lease_micros))
    }

    /// Records the result of a delivery; returns whether the claim is still valid.
    pub async fn finish_alert(
        &self,
        delivery: &AlertDelivery,
        outcome: WebhookOutcome,
        error: &str,
    ) -> Result<bool> {
        let AlertDelivery { alert, channel, tries, .. } = delivery;
        let (outcome, after_micros) = outcome.stored();
        let error: String = error.chars().take(MAX_ERROR_CHARS).collect();
        let sql = "UPDATE alert_deliveries SET outcome = $4, due_at = {now} + $5, error = $6 \
                   WHERE alert = $1 AND channel = $2 AND tries = $3 AND outcome IS NULL";
        let values = values![alert.id, channel.as_deref(), *tries, outcome, after_micros, error];
        Ok(self.run(sql, values).await? > 0)
    }

    /// Lists alerts with an id below `before` and their deliveries, newest first.
    pub async fn alerts(&self, before: i64, limit: u32) -> Result<Vec<AlertDelivery>> {
        let sql = format!(
            "{DELIVERY} WHERE a.id IN (SELECT id FROM alerts WHERE id < $1 \
             ORDER BY id DESC LIMIT $2) ORDER BY a.id DESC, d.channel"
        );
        self.rows(sql, values![before, page(limit)]).await
    }

    /// Returns the newest top-up or positive adjustment of a member.
    pub async fn last_credit(&self, member: MemberId) -> Result<Option<Credit>> {
        self.write_deferred().await?;
        let sql = "SELECT id, balance FROM postings \
                   WHERE member = $1 AND kind <> 'charge' AND amount > 0 ORDER BY id DESC LIMIT 1";
        self.row(sql, values![member]).await
    }
}

async fn delete_old(db: &mut impl Executor) -> Result<()> {
    db.run("DELETE FROM alerts WHERE at < {now} - $1", values![ALERT_RETENTION_MICROS]).await?;
    let sql = "DELETE FROM alert_deliveries WHERE alert NOT IN (SELECT id FROM alerts)";
    db.run(sql, values![]).await.map(drop)
}

async fn open(db: &mut impl Executor, new: &NewAlert) -> Result<Option<i64>> {
    let NewAlert { kind, subject, message, key, channels } = new;
    let key = key.as_deref();
    let sql = "UPDATE alerts SET key = NULL WHERE key = $1 AND ended_at < {now} - $2";
    db.run(sql, values![key, REPEAT_MICROS]).await?;
    let sql = "INSERT INTO alerts (at, kind, subject, message, key) VALUES ({now}, $1, $2, $3, $4) \
               ON CONFLICT (key) DO NOTHING RETURNING id";
    let Some(id) = db.row::<i64>(sql, values![kind, subject, message, key]).await? else {
        db.run("UPDATE alerts SET ended_at = NULL WHERE key = $1", values![key]).await?;
        return Ok(None);
    };
    for channel in channels {
        let sql = "INSERT INTO alert_deliveries (alert, channel, due_at) VALUES ($1, $2, {now})";
        db.run(sql, values![id, channel]).await?;
    }
    Ok(Some(id))
}

async fn claim(db: &mut impl Executor, lease_micros: i64) -> Result<Option<AlertDelivery>> {
    let due = db.row::<(i64, String)>(&format!("{DUE} {SKIP_LOCKED}"), values![]).await?;
    let Some((alert, channel)) = due else { return Ok(None) };
    let sql = "UPDATE alert_deliveries SET tries = tries + 1, due_at = {now} + $3 \
               WHERE alert = $1 AND channel = $2";
    db.run(sql, values![alert, &channel, lease_micros]).await?;
    let sql = format!("{DELIVERY} WHERE a.id = $1 AND d.channel = $2");
    db.row(&sql, values![alert, channel]).await
}
