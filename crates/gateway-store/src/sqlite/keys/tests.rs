//! Tests of `keys`.

use rusqlite::StatementStatus;

use super::*;
use crate::StoreOptions;
use crate::sqlite::connection::{ConnectionMode, open};
use crate::sqlite::schema;

#[test]
fn looking_up_keys_prepares_one_statement() {
    let folder = tempfile::tempdir().unwrap();
    let (path, options) = (folder.path().join("gateway.db"), StoreOptions::default());
    schema::migrate(&path, &options).unwrap();
    let connection = open(&path, ConnectionMode::ReadOnly, &options).unwrap();
    for id in ["aaaa", "bbbb", "cccc"] {
        assert_eq!(by_id(&connection, id).unwrap(), None);
    }
    let query = connection.prepare_cached(&format!("{COLUMNS} WHERE keys.id = ?1")).unwrap();
    assert_eq!(query.get_status(StatementStatus::Run), 3);
    assert_eq!(query.get_status(StatementStatus::RePrepare), 0);
}
