//! The schema and its migrations.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::connection::{self, ConnectionExt, ConnectionMode};
use super::error::file_error;
use crate::error::Result;
use crate::{Error, SchemaState, StoreOptions};

/// Each migration brings the schema from the version of its index to the next.
const MIGRATIONS: [&str; 16] = [
    include_str!("schema/001.sql"),
    include_str!("schema/002.sql"),
    include_str!("schema/003.sql"),
    include_str!("schema/004.sql"),
    include_str!("schema/005.sql"),
    include_str!("schema/006.sql"),
    include_str!("schema/007.sql"),
    include_str!("schema/008.sql"),
    include_str!("schema/009.sql"),
    include_str!("schema/010.sql"),
    include_str!("schema/011.sql"),
    include_str!("schema/012.sql"),
    include_str!("schema/013.sql"),
    include_str!("schema/014.sql"),
    include_str!("schema/015.sql"),
    include_str!("schema/016.sql"),
];

/// Marks files of this program: "agtw".
const APPLICATION_ID: i32 = 0x6167_7477;

/// The schema of a file; a missing file is empty.
pub(super) fn state(path: &Path, options: &StoreOptions) -> Result<SchemaState> {
    if !path.try_exists().map_err(file_error)? {
        return Ok(SchemaState::Empty);
    }
    state_of(&connection::open(path, ConnectionMode::ReadOnly, options)?)
}

/// Creates or migrates a file; returns the state before.
pub(super) fn migrate(path: &Path, options: &StoreOptions) -> Result<SchemaState> {
    create_private(path)?;
    let mut connection = connection::open(path, ConnectionMode::ReadWrite, options)?;
    let before = state_of(&connection)?;
    if matches!(before, SchemaState::Unknown(_)) {
        return Err(Error::Schema(before));
    }
    connection::use_wal(&connection)?;
    while !matches!(migrate_once(&mut connection)?, SchemaState::Current(_)) {}
    Ok(before)
}

/// Checks that the schema is exactly that of this program.
pub(super) fn verify(connection: &Connection) -> Result<()> {
    state_of(connection)?.require_current()?;
    let blank = Connection::open_in_memory()?;
    for migration in MIGRATIONS {
        blank.execute_batch(migration)?;
    }
    let (known, found) = (definitions(&blank)?, definitions(connection)?);
    if known == found {
        return Ok(());
    }
    let differs = |pair: &(&String, &String)| pair.0 != pair.1;
    let first = known.iter().zip(&found).find(differs).map_or("one is missing", |pair| pair.1);
    Err(Error::Damaged(format!("a table differs from its definition: {first}")))
}

fn state_of(connection: &Connection) -> Result<SchemaState> {
    // One statement, so that a migration that runs meanwhile is seen whole or not at all.
    let (application, version, tables): (i64, i64, i64) = connection.query_row(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) \
         FROM pragma_application_id, pragma_user_version",
        [],
        |row| row.try_into(),
    )?;
    Ok(match (application, version, tables) {
        (0, 0, 0) => SchemaState::Empty,
        (application, version, _) if application == i64::from(APPLICATION_ID) => {
            SchemaState::of(version, MIGRATIONS.len())
        }
        (_, version, _) => SchemaState::Unknown(version),
    })
}

/// Runs one migration in one transaction; returns the state after it.
fn migrate_once(connection: &mut Connection) -> Result<SchemaState> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let index = match state_of(&transaction)? {
        SchemaState::Empty => 0,
        SchemaState::Old(version) => usize::try_from(version).unwrap_or(usize::MAX),
        state @ SchemaState::Current(_) => return Ok(state),
        state @ SchemaState::Unknown(_) => return Err(Error::Schema(state)),
    };
    let Some(migration) = MIGRATIONS.get(index) else { return Err(Error::Closed) };
    transaction.execute_batch(migration)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(
        None,
        "user_version",
        i64::try_from(index + 1).unwrap_or(i64::MAX),
    )?;
    let after = state_of(&transaction)?;
    transaction.commit()?;
    Ok(after)
}

/// The definitions of all tables, without statistics that an operator may have gathered.
fn definitions(connection: &Connection) -> Result<Vec<String>> {
    let sql = "SELECT coalesce(sql, name) FROM sqlite_schema \
               WHERE name NOT LIKE 'sqlite_stat%' ORDER BY type, name";
    connection.rows(sql, [])
}

/// Creates an empty file that only its owner can read.
fn create_private(path: &Path) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(file_error(error)),
        _ => Ok(()),
    }
}
