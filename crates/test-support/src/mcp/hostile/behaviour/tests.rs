//! Tests of `behaviour`.

use std::collections::BTreeSet;

use super::*;

#[test]
fn behaviour_names_are_unique() {
    let names: BTreeSet<&str> = Behaviour::ALL.iter().map(|one| one.name()).collect();
    assert_eq!(names.len(), Behaviour::ALL.len());
    for behaviour in Behaviour::ALL {
        assert_eq!(Behaviour::named(behaviour.name()), Some(*behaviour));
    }
    assert_eq!(Behaviour::named("kind"), None);
}
