//! Figures and identity of the store.

use std::path::PathBuf;

use rusqlite::OptionalExtension;
use serde::Serialize;

use super::{Result, Store, state};
use crate::clock::{Day, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub install_id: String,
    pub created: Timestamp,
    pub counters: u64,
    pub unpackaged: u64,
    pub counted: u64,
    pub days: Option<(Day, Day)>,
    pub packages: u64,
    pub unwritten: u64,
    pub lost: u64,
    pub active: Option<Timestamp>,
    pub set_aside_rows: Vec<RejectedCounter>,
    pub set_aside_stores: Vec<PathBuf>,
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RejectedCounter {
    pub day: String,
    pub name: String,
    pub dimensions: String,
    pub value: i64,
    pub reason: String,
}

impl Store {
    pub fn summary(&self) -> Result<Summary> {
        let sql = "SELECT count(*), CAST(min(total(value - packaged), 9e18) AS INTEGER),
                CAST(min(total(value), 9e18) AS INTEGER), min(day), max(day)
            FROM counter";
        let (counters, unpackaged, counted, first, last) =
            self.connection.query_row(sql, [], |row| row.try_into())?;
        let days = Option::zip(first, last);
        let sql = "SELECT count(*), count(*) FILTER (WHERE written_ms IS NULL) FROM outbox";
        let (packages, unwritten) = self.connection.query_row(sql, [], |row| row.try_into())?;
        let number = |number: i64| u64::try_from(number).unwrap_or(0);
        let state_ms = |key: &str| -> Result<Option<Timestamp>> {
            let value = self.state(key)?;
            Ok(value.map(Timestamp::from_ms))
        };
        let mut rows = self
            .connection
            .prepare("SELECT day, name, dimensions, value, reason FROM set_aside ORDER BY id")?;
        let set_aside_rows = rows
            .query_map([], |row| {
                Ok(RejectedCounter {
                    day: Day::from_number(row.get(0)?).to_string(),
                    name: row.get(1)?,
                    dimensions: row.get(2)?,
                    value: row.get(3)?,
                    reason: row.get(4)?,
                })
            })?
            .collect::<std::result::Result<_, _>>()?;
        Ok(Summary {
            install_id: self.install_id()?,
            created: state_ms("created_ms")?.unwrap_or(Timestamp::from_ms(0)),
            counters: number(counters),
            unpackaged: number(unpackaged),
            counted: number(counted),
            days: days.map(|(first, last)| (Day::from_number(first), Day::from_number(last))),
            packages: number(packages),
            unwritten: number(unwritten),
            lost: self.state("lost")?.map_or(0, number),
            active: state_ms("active_ms")?,
            set_aside_rows,
            set_aside_stores: self.folder.stores_set_aside(),
            bytes: std::fs::metadata(self.folder.database()).map_or(0, |file| file.len()),
        })
    }

    pub fn install_id(&self) -> Result<String> {
        state(&self.connection, "install_id")
    }

    /// Sets a new id of the installation and returns it. Existing packages keep theirs.
    pub fn reset_id(&mut self) -> Result<String> {
        self.writable()?;
        let id = (self.new_id)().to_string();
        self.connection.execute("UPDATE state SET value = ?1 WHERE key = 'install_id'", [&id])?;
        Ok(id)
    }

    /// Checks by a write that the store is writable.
    pub fn probe(&mut self, now: Timestamp) -> Result<()> {
        self.writable()?;
        self.connection.execute(
            "INSERT INTO state (key, value) VALUES ('probed_ms', ?1)
             ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            [now.as_ms()],
        )?;
        Ok(())
    }

    fn state(&self, key: &str) -> Result<Option<i64>> {
        let sql = "SELECT value FROM state WHERE key = ?1";
        let value = self.connection.query_row(sql, [key], |row| Ok(row.get(0).ok())).optional()?;
        Ok(value.flatten())
    }
}
