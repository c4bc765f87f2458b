//! Deletes old packages that were written, and their counters.

use std::io;
use std::ops::RangeInclusive;

use rusqlite::params;

use super::{Error, Result, Store};
use crate::clock::Timestamp;

pub const DEFAULT_RETENTION_DAYS: u32 = 30;

pub const RETENTION_DAYS: RangeInclusive<u32> = 1..=365;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Packages with their files.
    pub packages: usize,
    /// Counters that are completely packaged.
    pub counters: usize,
}

impl Store {
    /// Deletes what is older than `days`, except counters and packages that are not written yet.
    pub fn prune(&mut self, now: Timestamp, days: u32) -> Result<Pruned> {
        let before = now.minus_days(days);
        let mut pruned = Pruned::default();
        let mut old = self.connection.prepare_cached(
            "SELECT package_id FROM outbox WHERE written_ms IS NOT NULL AND created_ms < ?1",
        )?;
        let ids: Vec<String> = old
            .query_map([before.as_ms()], |row| row.get(0))?
            .collect::<std::result::Result<_, _>>()?;
        drop(old);
        for package_id in ids {
            // The file first: a row without a file is written again, a file without a row would
            // stay.
            let path = self.folder.package(&package_id);
            match std::fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io(&path, source));
                }
                _ => {}
            }
            pruned.packages += self
                .connection
                .execute("DELETE FROM outbox WHERE package_id = ?1", params![package_id])?;
        }
        pruned.counters = self.connection.execute(
            "DELETE FROM counter WHERE day < ?1 AND packaged = value",
            [before.day().number()],
        )?;
        Ok(pruned)
    }
}
