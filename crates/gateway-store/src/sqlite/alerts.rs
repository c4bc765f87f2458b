//! Alerts and their outbox.

use ledger::{MemberId, Time};
use rusqlite::{Connection, params};

use super::Sqlite;
use super::connection::ConnectionExt;
use crate::alert::{ALERT_RETENTION_MICROS, REPEAT_MICROS, StoredOutcome};
use crate::error::Result;
use crate::limits::MAX_PAGE;
use crate::records::{self, alert_delivery, first};
use crate::{AlertDelivery, Credit, NewAlert, WebhookOutcome};

impl Sqlite {
    pub(crate) async fn open_alert(&self, new: &NewAlert) -> Result<Option<i64>> {
        let new = new.clone();
        self.write(move |db, now| open(db, &new, now)).await
    }

    pub(crate) async fn end_alert(&self, key: &str) -> Result<()> {
        let key = key.to_owned();
        let is_open = {
            let key = key.clone();
            move |db: &Connection, _: Time| {
                let sql = "SELECT 1 FROM alerts WHERE key = ?1 AND ended_at IS NULL";
                Ok(db.prepare_cached(sql)?.exists([key])?)
            }
        };
        if !self.read(is_open).await? {
            return Ok(());
        }
        self.write(move |db, now| {
            let sql = "UPDATE alerts SET ended_at = ?2 WHERE key = ?1 AND ended_at IS NULL";
            db.run(sql, params![key, now.micros()]).map(drop)
        })
        .await
    }

    pub(crate) async fn claim_alert(&self, lease_micros: i64) -> Result<Option<AlertDelivery>> {
        let is_due = |db: &Connection, now: Time| {
            let sql =
                "SELECT 1 FROM alert_deliveries WHERE outcome IS NULL AND due_at <= ?1 LIMIT 1";
            Ok(db.prepare_cached(sql)?.exists([now.micros()])?)
        };
        if !self.read(is_due).await? {
            return Ok(None);
        }
        self.write(move |db, now| {
            let sql = "UPDATE alert_deliveries SET tries = tries + 1, due_at = ?2 \
                       WHERE (alert, channel) = (SELECT alert, channel FROM alert_deliveries \
                       WHERE outcome IS NULL AND due_at <= ?1 ORDER BY due_at LIMIT 1) \
                       RETURNING alert, channel";
            let until = now.plus_micros(lease_micros).micros();
            let claimed: Option<(i64, String)> =
                db.row(sql, params![now.micros(), until], |row| Ok((row.take()?, row.take()?)))?;
            let Some((alert, channel)) = claimed else { return Ok(None) };
            let sql = format!("{COLUMNS} WHERE a.id = ?1 AND d.channel = ?2");
            db.row(&sql, params![alert, channel], |row| alert_delivery(row))
        })
        .await
    }

    pub(crate) async fn finish_alert(
        &self,
        delivery: &AlertDelivery,
        outcome: WebhookOutcome,
        error: &str,
    ) -> Result<bool> {
        let (id, channel, tries) = (delivery.alert.id, delivery.channel.clone(), delivery.tries);
        let StoredOutcome { outcome, after_micros, error } = StoredOutcome::new(outcome, error);
        self.write(move |db, now| {
            let sql = "UPDATE alert_deliveries SET outcome = ?4, due_at = ?5, error = ?6 \
                       WHERE alert = ?1 AND channel = ?2 AND tries = ?3 AND outcome IS NULL";
            let due_at = now.plus_micros(after_micros).micros();
            Ok(db.run(sql, params![id, channel, tries, outcome, due_at, error])? > 0)
        })
        .await
    }

    pub(crate) async fn alerts(&self, before: i64, limit: u32) -> Result<Vec<AlertDelivery>> {
        self.read(move |db, _| {
            let sql = format!(
                "{COLUMNS} WHERE a.id IN (SELECT id FROM alerts WHERE id < ?1 \
                 ORDER BY id DESC LIMIT ?2) ORDER BY a.id DESC, d.channel"
            );
            db.rows(&sql, params![before, limit.min(MAX_PAGE)], |row| alert_delivery(row))
        })
        .await
    }

    pub(crate) async fn last_credit(&self, member: MemberId) -> Result<Option<Credit>> {
        self.write_deferred().await?;
        self.read(move |db, _| {
            let sql = "SELECT id, balance FROM postings WHERE member = ?1 AND kind <> 'charge' \
                       AND amount > 0 ORDER BY id DESC LIMIT 1";
            db.row(sql, [member.0], |row| records::credit(row))
        })
        .await
    }
}

const COLUMNS: &str = "SELECT a.id, a.at, a.kind, a.subject, a.message, d.channel, \
    coalesce(d.tries, 0), d.outcome, coalesce(d.error, '') \
    FROM alerts a LEFT JOIN alert_deliveries d ON d.alert = a.id";

fn open(db: &Connection, new: &NewAlert, now: Time) -> Result<Option<i64>> {
    let old = now.plus_micros(-ALERT_RETENTION_MICROS).micros();
    db.run("DELETE FROM alerts WHERE at < ?1", [old])?;
    db.run("DELETE FROM alert_deliveries WHERE alert NOT IN (SELECT id FROM alerts)", [])?;
    let ended = now.plus_micros(-REPEAT_MICROS).micros();
    let sql = "UPDATE alerts SET key = NULL WHERE key = ?1 AND ended_at < ?2";
    db.run(sql, params![new.key, ended])?;
    let sql = "INSERT INTO alerts (at, kind, subject, message, key) VALUES (?1, ?2, ?3, ?4, ?5) \
               ON CONFLICT (key) DO NOTHING RETURNING id";
    let values = params![now.micros(), new.kind, new.subject, new.message, new.key];
    let Some(id) = db.row(sql, values, |row| first::<i64>(row))? else {
        db.run("UPDATE alerts SET ended_at = NULL WHERE key = ?1", [&new.key])?;
        return Ok(None);
    };
    for channel in &new.channels {
        let sql = "INSERT INTO alert_deliveries (alert, channel, due_at) VALUES (?1, ?2, ?3)";
        db.run(sql, params![id, channel, now.micros()])?;
    }
    Ok(Some(id))
}
