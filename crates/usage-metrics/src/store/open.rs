//! Opens or creates the store, and replaces a damaged one.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use super::folder::{StoreFolder, restrict};
use super::{BUSY_WAIT, Error, ErrorKind, NewId, Result, Store};
use crate::clock::Timestamp;

/// Marks files of this program: "UMET".
const APPLICATION_ID: i64 = 0x554d_4554;

const VERSION: i64 = 1;

const TABLES: &str = "
    CREATE TABLE state (
        key TEXT PRIMARY KEY,
        value ANY NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE resource (
        id INTEGER PRIMARY KEY,
        agent_version TEXT NOT NULL,
        architecture TEXT NOT NULL,
        install_method TEXT NOT NULL,
        os_family TEXT NOT NULL,
        UNIQUE (agent_version, architecture, install_method, os_family)
    ) STRICT;

    -- The counters of one day and resource. What was packaged is remembered as a mark, so that a
    -- package is always the difference. touched_ms is the last time the counter rose.
    CREATE TABLE counter (
        day INTEGER NOT NULL,
        resource INTEGER NOT NULL REFERENCES resource (id),
        name TEXT NOT NULL,
        dimensions TEXT NOT NULL,
        value INTEGER NOT NULL,
        packaged INTEGER NOT NULL DEFAULT 0,
        touched_ms INTEGER NOT NULL,
        PRIMARY KEY (day, resource, name, dimensions)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE outbox (
        package_id TEXT PRIMARY KEY,
        sequence INTEGER NOT NULL UNIQUE,
        day INTEGER NOT NULL,
        created_ms INTEGER NOT NULL,
        written_ms INTEGER,
        payload BLOB NOT NULL
    ) STRICT;

    -- Rows that could not be packaged, kept for a person to look at.
    CREATE TABLE set_aside (
        id INTEGER PRIMARY KEY,
        at_ms INTEGER NOT NULL,
        day INTEGER NOT NULL,
        name TEXT NOT NULL,
        dimensions TEXT NOT NULL,
        value INTEGER NOT NULL,
        reason TEXT NOT NULL
    ) STRICT;
";

impl Store {
    /// Opens the store for counting. It is created if missing; a damaged store is set aside and
    /// replaced.
    pub fn open(folder: &StoreFolder, now: Timestamp, new_id: NewId) -> Result<Store> {
        folder.make()?;
        Store::open_in_place(folder, now, new_id)
    }

    /// Like [`open`](Store::open), but only if the folder exists, so that a purge is final.
    pub(crate) fn reopen(folder: &StoreFolder, now: Timestamp, new_id: NewId) -> Result<Store> {
        if !folder.exists() {
            return Err(Error::Gone);
        }
        Store::open_in_place(folder, now, new_id)
    }

    fn open_in_place(folder: &StoreFolder, now: Timestamp, new_id: NewId) -> Result<Store> {
        let _lock = folder.lock()?;
        if folder.fingerprint().is_some() {
            match connect(folder, new_id) {
                Err(error) if error.kind() == ErrorKind::Corrupt => drop(folder.move_aside(now)?),
                other => return other,
            }
        }
        create(folder, now, new_id)?;
        connect(folder, new_id)
    }

    /// Opens an existing store for reading and packaging; `None` if there is none.
    pub fn existing(folder: &StoreFolder, new_id: NewId) -> Result<Option<Store>> {
        if folder.fingerprint().is_none() {
            return Ok(None);
        }
        match connect(folder, new_id) {
            // A read-only store can still be read.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::ReadOnly | ErrorKind::Full | ErrorKind::Other
                ) =>
            {
                // SQLite only reports that it cannot open the file; the folder shows why.
                let error = folder.obstacle().unwrap_or(error);
                match connect_unchanging(folder, new_id) {
                    Ok(store) => Ok(Some(Store { obstacle: Some(error), ..store })),
                    Err(_) => Err(error),
                }
            }
            other => other.map(Some),
        }
    }

    pub fn folder(&self) -> &StoreFolder {
        &self.folder
    }

    /// Whether the file is unchanged since the last access. Otherwise it must be reopened, which
    /// checks it.
    pub(crate) fn is_current(&self) -> bool {
        self.fingerprint.is_some() && self.folder.fingerprint() == self.fingerprint
    }
}

fn connect(folder: &StoreFolder, new_id: NewId) -> Result<Store> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let store = connect_with(folder, new_id, &folder.database(), flags)?;
    // A store that was copied here may have wider permissions.
    restrict(&folder.database(), 0o600)?;
    Ok(store)
}

/// Reads a store on a read-only file system, without its journal.
fn connect_unchanging(folder: &StoreFolder, new_id: NewId) -> Result<Store> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let database = folder.database();
    let path = database.to_string_lossy();
    let escaped = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let uri = format!("file:{escaped}?immutable=1");
    connect_with(folder, new_id, Path::new(&uri), flags)
}

fn connect_with(
    folder: &StoreFolder,
    new_id: NewId,
    path: &Path,
    flags: OpenFlags,
) -> Result<Store> {
    // Taken before the check, so that later writes are detected.
    let fingerprint = folder.fingerprint();
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_WAIT)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    check(&connection)?;
    Ok(Store { connection, folder: folder.clone(), fingerprint, new_id, obstacle: None })
}

fn check(connection: &Connection) -> Result<()> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    if application != APPLICATION_ID {
        let detail = match application {
            0 => "it is empty or belongs to another program".to_owned(),
            other => format!("its application id is {other:#x}"),
        };
        return Err(Error::Corrupt { detail });
    }
    if version != VERSION {
        return Err(Error::Newer { found: version, known: VERSION });
    }
    let report: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if report == "ok" { Ok(()) } else { Err(Error::Corrupt { detail: report }) }
}

/// Creates a store under another name and renames it when it is complete.
fn create(folder: &StoreFolder, now: Timestamp, new_id: NewId) -> Result<()> {
    let database = folder.database();
    let draft = folder.root().join("metrics.sqlite3.new");
    StoreFolder::discard(&draft);
    let built = build(&draft, now, new_id).and_then(|()| {
        restrict(&draft, 0o600)?;
        std::fs::rename(&draft, &database).map_err(|source| Error::io(&database, source))
    });
    if built.is_err() {
        StoreFolder::discard(&draft);
    }
    built
}

fn build(draft: &Path, now: Timestamp, new_id: NewId) -> Result<()> {
    let mut connection = Connection::open(draft)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    {
        let mut insert = transaction.prepare("INSERT INTO state (key, value) VALUES (?1, ?2)")?;
        insert.execute(params!["install_id", new_id().to_string()])?;
        insert.execute(params!["created_ms", now.as_ms()])?;
        insert.execute(params!["sequence", 0])?;
        insert.execute(params!["lost", 0])?;
    }
    transaction.commit()?;
    connection.close().map_err(|(_, error)| error.into())
}
