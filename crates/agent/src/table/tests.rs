//! Tests of `table`.

use super::*;

#[test]
fn columns_are_as_wide_as_their_widest_cell() {
    let mut table = Table::new(["a", "n", "z"]).align_right(&["n"]);
    table.row(["long".to_owned(), "1".to_owned(), "x".to_owned()]);
    table.row(["b".to_owned(), "100".to_owned(), String::new()]);
    assert_eq!(table.text(), "a       n  z\nlong    1  x\nb     100\n");
}

#[test]
fn newlines_in_cells_are_escaped() {
    let mut table = Table::new(["a", "b"]);
    table.row(["x\ny\x1b[2J".to_owned(), "z".to_owned()]);
    assert_eq!(table.text().lines().count(), 2);
    assert!(!table.text().contains('\x1b'));
}

#[test]
fn thousands_are_separated_by_commas() {
    for (number, text) in [(0_u32, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
        assert_eq!(grouped(number), text);
    }
    assert_eq!((counted(1, "tool"), counted(0, "tool")), ("1 tool".into(), "0 tools".into()));
}

#[test]
fn amounts_have_the_fewest_digits() {
    assert_eq!(amount(12_345_678_901), "12.3 GB");
    assert_eq!(amount(999_999_999), "999 MB");
}

#[test]
fn a_table_without_room_for_its_last_column_becomes_blocks() {
    let rows = [["one", "5 MB", "a long description of it"], ["two", "", "short"]];
    let rows = rows.map(|row| row.map(str::to_owned));
    let table = Table::new(["name", "size", "description"]).rows(rows.into_iter());
    let block = "name         one\nsize         5 MB\ndescription  a long description of it\n";
    assert_eq!(table.lines(Some(30)), ["", block, "\nname         two\ndescription  short\n"]);
    assert_eq!(table.lines(Some(36)).concat().lines().count(), 3);
    assert_eq!(table.lines(Some(33)).concat().lines().count(), 4);
    assert_eq!(table.lines(Some(31))[0], "");
}
