//! Adds counts to the store in one transaction.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use super::{Error, Result, Store};
use crate::catalogue::{Cell, ClientActive};
use crate::clock::Timestamp;
use crate::consent::Mode;
use crate::package::{Counter, Resource};

/// The interval in which a client is counted as active at most once.
pub const ACTIVE_INTERVAL_MS: i64 = 24 * 60 * 60 * 1000;

#[derive(Debug, Clone)]
pub struct CounterBatch {
    /// The time when the counts were taken; this day is the period.
    pub at: Timestamp,
    pub resource: Resource,
    pub counts: BTreeMap<Counter, u64>,
    pub active: bool,
    pub lost: u64,
}

const ADD: &str = "
    INSERT INTO counter (day, resource, name, dimensions, value, touched_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (day, resource, name, dimensions) DO UPDATE SET
        value = CASE WHEN value > 9223372036854775807 - excluded.value
            THEN 9223372036854775807 ELSE value + excluded.value END,
        touched_ms = max(touched_ms, excluded.touched_ms)";

/// A client is active once a day, however often it is counted.
const ADD_ACTIVE: &str = "
    INSERT INTO counter (day, resource, name, dimensions, value, touched_ms)
    VALUES (?1, ?2, ?3, ?4, 1, ?5)
    ON CONFLICT (day, resource, name, dimensions) DO NOTHING";

impl Store {
    /// Adds all batches or none. Fails while recording is turned off.
    pub fn add<'a>(&mut self, batches: impl IntoIterator<Item = &'a CounterBatch>) -> Result<()> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if is_stopped(&transaction)? {
            return Err(Error::Stopped);
        }
        for batch in batches {
            add_batch(&transaction, batch)?;
        }
        transaction.commit()?;
        // The commit may have moved the journal into the file.
        self.fingerprint = self.folder.fingerprint();
        Ok(())
    }

    /// Turns recording on or off for all processes at their next flush.
    pub fn set_recording(&mut self, mode: Mode) -> Result<()> {
        self.writable()?;
        let sql = match mode {
            Mode::Local => "DELETE FROM state WHERE key = 'stopped'",
            Mode::Off => "INSERT OR IGNORE INTO state (key, value) VALUES ('stopped', 1)",
        };
        self.connection.execute(sql, [])?;
        Ok(())
    }
}

fn add_batch(transaction: &Transaction<'_>, batch: &CounterBatch) -> Result<()> {
    let resource = resource_id(transaction, &batch.resource)?;
    let (day, at) = (batch.at.day().number(), batch.at.as_ms());
    {
        let mut add = transaction.prepare_cached(ADD)?;
        for (counter, count) in &batch.counts {
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            let (name, dimensions) = (counter.kind().name(), counter.dimensions_json());
            add.execute(params![day, resource, name, dimensions, count, at])?;
        }
    }
    if batch.active && active_is_due(transaction, batch.at)? {
        let counter = Counter::Cell(Cell::of(&ClientActive {}));
        let (name, dimensions) = (counter.kind().name(), counter.dimensions_json());
        transaction.execute(ADD_ACTIVE, params![day, resource, name, dimensions, at])?;
    }
    if batch.lost > 0 {
        let lost = i64::try_from(batch.lost).unwrap_or(i64::MAX);
        transaction.execute("UPDATE state SET value = value + ?1 WHERE key = 'lost'", [lost])?;
    }
    Ok(())
}

fn is_stopped(transaction: &Transaction<'_>) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM state WHERE key = 'stopped')";
    Ok(transaction.query_row(sql, [], |row| row.get(0))?)
}

fn resource_id(transaction: &Transaction<'_>, resource: &Resource) -> Result<i64> {
    let values = resource.fields().map(|(_, value)| value);
    transaction.execute(
        "INSERT OR IGNORE INTO resource (agent_version, architecture, install_method, os_family)
         VALUES (?1, ?2, ?3, ?4)",
        values,
    )?;
    let id = transaction.query_row(
        "SELECT id FROM resource WHERE agent_version = ?1 AND architecture = ?2
             AND install_method = ?3 AND os_family = ?4",
        values,
        |row| row.get(0),
    )?;
    Ok(id)
}

/// Whether the client counts as active now; if so, stores the time.
///
/// If the clock was set back, the last time is in the future: it is set to now and nothing is
/// counted, so that the 24 hours start again.
fn active_is_due(transaction: &Transaction<'_>, now: Timestamp) -> Result<bool> {
    let last: Option<i64> = transaction
        .query_row("SELECT value FROM state WHERE key = 'active_ms'", [], |row| {
            // Any other value was not written by this program and is ignored.
            Ok(row.get::<_, i64>(0).ok())
        })
        .optional()?
        .flatten();
    let due = last.is_none_or(|last| now.as_ms() - last >= ACTIVE_INTERVAL_MS);
    if due || last.is_some_and(|last| last > now.as_ms()) {
        transaction.execute(
            "INSERT INTO state (key, value) VALUES ('active_ms', ?1)
             ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            [now.as_ms()],
        )?;
    }
    Ok(due)
}
