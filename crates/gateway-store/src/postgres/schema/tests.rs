//! Tests of `schema`.

use super::*;

#[test]
fn the_list_of_tables_is_complete() {
    let created: Vec<&str> = MIGRATIONS
        .iter()
        .flat_map(|migration| migration.lines())
        .filter_map(|line| line.strip_prefix("CREATE TABLE ")?.strip_suffix(" ("))
        .collect();
    assert_eq!(created, TABLES);
}
