//! Tests of `cells`.

use std::collections::HashMap;

use super::*;

#[test]
fn concurrent_counts_of_many_cells_are_exact() {
    let table = CellTable::default();
    let cells: Vec<_> =
        (0..20_000).map(|at| Cell::from_number(at * 1_301 % Cell::COUNT).unwrap()).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!(cells.iter().all(|cell| table.add(*cell))));
        }
    });
    let mut drained: HashMap<Cell, u64> = HashMap::new();
    table.drain(|cell, count| *drained.entry(cell).or_default() += count);
    assert_eq!(drained.len(), cells.len());
    assert!(drained.values().all(|count| *count == 4));
    table.drain(|cell, count| panic!("{cell:?} still holds {count}"));
}

#[test]
fn a_full_table_rejects_new_cells_and_keeps_counts() {
    let table = CellTable::default();
    let mut kept = 0_u64;
    let mut refused = 0_u64;
    for number in 0..u32::try_from(MAX_CELLS).unwrap() + 200_000 {
        if table.add(Cell::from_number(number).unwrap()) { kept += 1 } else { refused += 1 }
    }
    assert!(refused > 0 && kept > 1_000_000, "{kept} kept, {refused} refused");
    let mut total = 0;
    table.drain(|_, count| total += count);
    assert_eq!(total, kept);
}
