//! Tests of `executor`.

use rusqlite::StatementStatus;

use super::*;
use crate::executor::ready;
use crate::sqlite::connection::{ConnectionMode, open};
use crate::sqlite::schema;
use crate::store::KEY;
use crate::value::values;
use crate::{KeyRecord, StoreOptions};

#[test]
fn looking_up_keys_prepares_one_statement() {
    let folder = tempfile::tempdir().unwrap();
    let (path, options) = (folder.path().join("gateway.db"), StoreOptions::default());
    schema::migrate(&path, &options).unwrap();
    let connection = open(&path, ConnectionMode::ReadOnly, &options).unwrap();
    let mut executor = SqliteExecutor { db: &connection, now: Time::default() };
    let sql = format!("{KEY} WHERE k.id = $1");
    for id in ["aaaa", "bbbb", "cccc"] {
        assert_eq!(ready(executor.row::<KeyRecord>(&sql, values![id])).unwrap(), None);
    }
    let query = connection.prepare_cached(&for_sqlite(&sql, 2)).unwrap();
    assert_eq!(query.get_status(StatementStatus::Run), 3);
    assert_eq!(query.get_status(StatementStatus::RePrepare), 0);
}
