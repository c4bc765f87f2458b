//! Creates packages, writes their files, and deletes old ones.
//!
//! Marking the counters and inserting the package are one transaction; the file follows and can be
//! written again, byte for byte.

use std::io;
use std::ops::RangeInclusive;

use rusqlite::{TransactionBehavior, params};

use super::drafts::{PackageScope, RejectedRow, plan};
use super::folder::write_atomically;
use super::{Error, Result, Store};
use crate::clock::{Day, Timestamp};
use crate::package::Package;

pub const DEFAULT_RETENTION_DAYS: u32 = 30;

pub const RETENTION_DAYS: RangeInclusive<u32> = 1..=365;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Packages with their files.
    pub packages: usize,
    /// Counters that are completely packaged.
    pub counters: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPackage {
    pub package_id: String,
    pub day: Day,
    pub created: Timestamp,
    pub bytes: Vec<u8>,
}

/// All packages and drafts of one snapshot: no increment is missing or duplicated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreContents {
    pub made: Vec<StoredPackage>,
    pub next: Vec<Package>,
}

impl Store {
    pub fn contents(&self) -> Result<StoreContents> {
        let snapshot = self.connection.unchecked_transaction()?;
        let holdings =
            StoreContents { made: self.packages()?, next: self.drafts(PackageScope::All)? };
        snapshot.finish()?;
        Ok(holdings)
    }

    /// The packages that would be created now; nothing is changed.
    pub fn drafts(&self, scope: PackageScope) -> Result<Vec<Package>> {
        let plan = plan(&self.connection, scope)?;
        Ok(plan.drafts.into_iter().map(|draft| draft.package).collect())
    }

    /// Packages the counters that are not packaged yet. [`write_outbox`](Store::write_outbox)
    /// writes the files.
    pub fn package(&mut self, scope: PackageScope, now: Timestamp) -> Result<Vec<StoredPackage>> {
        self.writable()?;
        // Packages must survive a power loss; counters need not.
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        let made = self.package_now(scope, now);
        self.connection.pragma_update(None, "synchronous", "NORMAL")?;
        made
    }

    fn package_now(&mut self, scope: PackageScope, now: Timestamp) -> Result<Vec<StoredPackage>> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let plan = plan(&transaction, scope)?;
        if plan.drafts.is_empty() && plan.poison.is_empty() {
            return Ok(Vec::new());
        }
        for RejectedRow { key, value, reason } in &plan.poison {
            let name = String::from_utf8_lossy(&key.name);
            let dimensions = String::from_utf8_lossy(&key.dimensions);
            transaction.execute(
                "INSERT INTO set_aside (at_ms, day, name, dimensions, value, reason)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![now.as_ms(), key.day, name, dimensions, value, reason],
            )?;
            transaction.execute(
                "DELETE FROM counter WHERE day = ?1 AND resource = ?2
                     AND name = CAST(?3 AS TEXT) AND dimensions = CAST(?4 AS TEXT)",
                params![key.day, key.resource, key.name, key.dimensions],
            )?;
        }
        {
            let mut mark = transaction.prepare_cached(
                "UPDATE counter SET packaged = value WHERE day = ?1 AND resource = ?2
                     AND name = CAST(?3 AS TEXT) AND dimensions = CAST(?4 AS TEXT)",
            )?;
            for key in &plan.packaged {
                mark.execute(params![key.day, key.resource, key.name, key.dimensions])?;
            }
        }
        let mut made = Vec::with_capacity(plan.drafts.len());
        for draft in plan.drafts {
            let package_id = draft.package.package_id;
            transaction.execute(
                "INSERT INTO outbox (package_id, sequence, day, created_ms, payload)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![package_id, draft.sequence, draft.day, now.as_ms(), draft.bytes],
            )?;
            transaction
                .execute("UPDATE state SET value = ?1 WHERE key = 'sequence'", [draft.sequence])?;
            let day = Day::from_number(draft.day);
            made.push(StoredPackage { package_id, day, created: now, bytes: draft.bytes });
        }
        transaction.commit()?;
        Ok(made)
    }

    pub fn packages(&self) -> Result<Vec<StoredPackage>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT package_id, day, created_ms, payload FROM outbox ORDER BY sequence",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(StoredPackage {
                package_id: row.get(0)?,
                day: Day::from_number(row.get(1)?),
                created: Timestamp::from_ms(row.get(2)?),
                bytes: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<std::result::Result<_, _>>()?)
    }

    /// Writes missing and incomplete files of packages; returns how many.
    pub fn write_outbox(&mut self, now: Timestamp) -> Result<usize> {
        let mut written = 0;
        self.folder.make_outbox()?;
        for package in self.packages()? {
            let path = self.folder.package(&package.package_id);
            let whole = std::fs::read(&path).is_ok_and(|bytes| bytes == package.bytes);
            if !whole {
                write_atomically(&path, &package.bytes)?;
                written += 1;
            }
            self.connection.execute(
                "UPDATE outbox SET written_ms = ?2 WHERE package_id = ?1 AND written_ms IS NULL",
                params![package.package_id, now.as_ms()],
            )?;
        }
        Ok(written)
    }

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
