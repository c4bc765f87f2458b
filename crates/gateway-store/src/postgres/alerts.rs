//! Alerts and their outbox. Any number of processes share it.

use ledger::MemberId;

use super::Postgres;
use super::connection::PgConnection;
use super::pool::pooled;
use super::rows::{self, Value};
use crate::alert::{ALERT_RETENTION_MICROS, REPEAT_MICROS, StoredOutcome};
use crate::error::Result;
use crate::records::{self, alert_delivery};
use crate::{AlertDelivery, Credit, NewAlert, WebhookOutcome};

macro_rules! columns {
    () => {
        "SELECT a.id, a.at, a.kind, a.subject, a.message, d.channel, coalesce(d.tries, 0), \
         d.outcome, coalesce(d.error, '') \
         FROM alerts a LEFT JOIN alert_deliveries d ON d.alert = a.id"
    };
}

const DELETE_OLD: &str = "WITH old AS (DELETE FROM alerts WHERE at < {now} - $1::bigint RETURNING \
    id) DELETE FROM alert_deliveries WHERE alert IN (SELECT id FROM old)";

const FREE_KEY: &str =
    "UPDATE alerts SET key = NULL WHERE key = $1 AND ended_at < {now} - $2::bigint";

const OPEN: &str = "WITH alert AS ( \
        INSERT INTO alerts (at, kind, subject, message, key) VALUES ({now}, $1, $2, $3, $4) ON \
        CONFLICT (key) DO NOTHING RETURNING id, at), \
    delivery AS ( \
        INSERT INTO alert_deliveries (alert, channel, due_at) \
        SELECT id, channel, at FROM alert, unnest($5::text[]) AS channel) \
    SELECT id FROM alert";

const END: &str = "UPDATE alerts SET ended_at = {now} WHERE key = $1 AND ended_at IS NULL";

const CLAIM: &str = "WITH due AS ( \
        SELECT alert, channel FROM alert_deliveries WHERE outcome IS NULL AND due_at <= {now} \
        ORDER BY due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) \
    UPDATE alert_deliveries d SET tries = d.tries + 1, due_at = {now} + $1::bigint FROM due, \
    alerts a \
      WHERE d.alert = due.alert AND d.channel = due.channel AND a.id = d.alert \
    RETURNING a.id, a.at, a.kind, a.subject, a.message, d.channel, d.tries, d.outcome, d.error";

const FINISH: &str = "UPDATE alert_deliveries SET outcome = $4, due_at = {now} + $5::bigint, \
    error = $6 \
      WHERE alert = $1 AND channel = $2 AND tries = $3 AND outcome IS NULL";

const LIST: &str = concat!(
    columns!(),
    " WHERE a.id IN (SELECT id FROM alerts WHERE id < $1 ORDER BY id DESC LIMIT $2) \
     ORDER BY a.id DESC, d.channel"
);

const LAST_CREDIT: &str = "SELECT id, balance FROM postings \
    WHERE member = $1 AND kind <> 'charge' AND amount > 0 ORDER BY id DESC LIMIT 1";

impl Postgres {
    pub(crate) async fn open_alert(&self, new: &NewAlert) -> Result<Option<i64>> {
        pooled!(self, connection => open(connection, new))
    }

    pub(crate) async fn end_alert(&self, key: &str) -> Result<()> {
        self.run(END, &[&key]).await.map(drop)
    }

    pub(crate) async fn claim_alert(&self, lease_micros: i64) -> Result<Option<AlertDelivery>> {
        self.row(CLAIM, &[&lease_micros], |row| alert_delivery(row)).await
    }

    pub(crate) async fn finish_alert(
        &self,
        delivery: &AlertDelivery,
        outcome: WebhookOutcome,
        error: &str,
    ) -> Result<bool> {
        let StoredOutcome { outcome, after_micros, error } = StoredOutcome::new(outcome, error);
        let tries = i64::from(delivery.tries);
        let values: [Value<'_>; 6] =
            [&delivery.alert.id, &delivery.channel, &tries, &outcome, &after_micros, &error];
        Ok(self.run(FINISH, &values).await? > 0)
    }

    pub(crate) async fn alerts(&self, before: i64, limit: u32) -> Result<Vec<AlertDelivery>> {
        self.rows(LIST, &[&before, &rows::page(limit)], |row| alert_delivery(row)).await
    }

    pub(crate) async fn last_credit(&self, member: MemberId) -> Result<Option<Credit>> {
        self.row(LAST_CREDIT, &[&member.0], |row| records::credit(row)).await
    }
}

async fn open(connection: &mut PgConnection, new: &NewAlert) -> Result<Option<i64>> {
    connection.run(DELETE_OLD, &[&ALERT_RETENTION_MICROS]).await?;
    connection.run(FREE_KEY, &[&new.key, &REPEAT_MICROS]).await?;
    let values: [Value<'_>; 5] = [&new.kind, &new.subject, &new.message, &new.key, &new.channels];
    let Some(row) = connection.row(OPEN, &values).await? else {
        connection.run("UPDATE alerts SET ended_at = NULL WHERE key = $1", &[&new.key]).await?;
        return Ok(None);
    };
    rows::first(&row).map(Some)
}
