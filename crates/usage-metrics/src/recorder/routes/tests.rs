//! Tests of `routes`.

use std::collections::BTreeMap;

use super::*;

fn drained(table: &RouteTable) -> BTreeMap<(String, String), u64> {
    let mut found = BTreeMap::new();
    table.drain(|counter, count| {
        if let Counter::Route { model, provider } = counter {
            *found.entry((model, provider)).or_default() += count;
        }
    });
    found
}

#[test]
fn raw_pairs_are_normalised_and_add_up() {
    let table = RouteTable::default();
    table.add("GPT-5", "OpenAI");
    table.add(" gpt-5 ", "openai");
    table.add("not an id!", "");
    let found = drained(&table);
    let pair = |model: &str, provider: &str| (model.to_owned(), provider.to_owned());
    assert_eq!(found[&pair("gpt-5", "openai")], 2);
    assert_eq!(found[&pair("unknown", "unknown")], 1);
    assert_eq!(found.len(), 2);
}

#[test]
fn pairs_beyond_the_limit_are_counted_as_unknown() {
    let table = RouteTable::default();
    for at in 0..MAX_ROUTES + 50 {
        table.add(&format!("model-{at}"), "lab");
    }
    let found = drained(&table);
    assert_eq!(found.values().sum::<u64>(), u64::try_from(MAX_ROUTES + 50).unwrap());
    assert_eq!(found[&("unknown".to_owned(), "unknown".to_owned())], 50);
}
