//! Every row of the skill tables, and the edges between them.

use super::*;

#[test]
fn listed_actions_and_edits_count() {
    for expected in SkillAction::ALL {
        assert_eq!(action(expected.text()), Some(*expected));
    }
    assert_eq!(action("patch"), Some(SkillAction::Patched));
    for edit in ["edit", "update", "write_file", "remove_file", " Edit "] {
        assert_eq!(action(edit), Some(SkillAction::Edited), "{edit}");
    }
}

#[test]
fn unlisted_actions_are_dropped() {
    for raw in ["deleted", "delete", "view", "unknown", ""] {
        assert_eq!(action(raw), None, "{raw:?}");
    }
}

#[test]
fn only_state_changes_count() {
    let rows = [
        ("active", "archived", Some(SkillAction::Archived)),
        ("stale", "archived", Some(SkillAction::Archived)),
        ("active", "stale", Some(SkillAction::Stale)),
        ("archived", "stale", Some(SkillAction::Stale)),
        ("", "stale", Some(SkillAction::Stale)),
        ("archived", "active", Some(SkillAction::Restored)),
        (" Archived ", "ACTIVE", Some(SkillAction::Restored)),
        ("stale", "active", None),
        ("", "active", None),
        ("active", "active", None),
        ("archived", "archived", None),
        ("stale", " Stale ", None),
        ("active", "deleted", None),
        ("archived", "", None),
    ];
    for (from, to, expected) in rows {
        assert_eq!(state_change(from, to), expected, "{from:?} to {to:?}");
    }
}

fn facts(use_count: i64, reused: bool, reuse_after_patch: bool) -> LoadFacts {
    LoadFacts {
        use_count: Some(use_count),
        reused: Some(reused),
        reuse_after_patch: Some(reuse_after_patch),
        provenance: Provenance::Local,
    }
}

fn texts(load: SkillLoad) -> (&'static str, &'static str, &'static str) {
    (load.reuse_state.text(), load.post_patch_state.text(), load.use_count_bucket.text())
}

#[test]
fn load_has_reuse_patch_state_and_count() {
    let rows = [
        (facts(1, false, false), ("first_use", "not_applicable", "1")),
        (facts(2, true, false), ("reused", "no_new_patch", "2")),
        (facts(2, true, true), ("reused", "reused_after_patch", "2")),
        (facts(3, true, false), ("reused", "no_new_patch", "3_to_5")),
        (facts(5, true, true), ("reused", "reused_after_patch", "3_to_5")),
        (facts(6, true, false), ("reused", "no_new_patch", "6_to_10")),
        (facts(10, true, true), ("reused", "reused_after_patch", "6_to_10")),
        (facts(11, true, false), ("reused", "no_new_patch", "gte_11")),
        (facts(i64::MAX, true, true), ("reused", "reused_after_patch", "gte_11")),
    ];
    for (facts, expected) in rows {
        assert_eq!(load(&facts).map(texts), Some(expected), "{facts:?}");
    }
}

#[test]
fn load_keeps_its_provenance() {
    for provenance in Provenance::ALL {
        let facts = LoadFacts { provenance: *provenance, ..facts(1, false, false) };
        assert_eq!(load(&facts).map(|load| load.provenance), Some(*provenance));
    }
}

#[test]
fn load_with_a_missing_fact_is_dropped() {
    let whole = facts(2, true, false);
    assert!(load(&whole).is_some());
    assert_eq!(load(&LoadFacts { use_count: None, ..whole }), None);
    assert_eq!(load(&LoadFacts { reused: None, ..whole }), None);
    assert_eq!(load(&LoadFacts { reuse_after_patch: None, ..whole }), None);
}

#[test]
fn contradictory_load_is_dropped() {
    let contradictory = [
        facts(0, false, false),
        facts(-1, false, false),
        facts(0, true, false),
        facts(i64::MIN, true, true),
        facts(1, true, false),
        facts(1, true, true),
        facts(1, false, true),
        facts(2, false, false),
        facts(i64::MAX, false, false),
        facts(2, false, true),
    ];
    for facts in contradictory {
        assert_eq!(load(&facts), None, "{facts:?}");
    }
}

/// Every combination that the catalogue allows.
fn all_loads() -> Vec<SkillLoad> {
    let mut loads = Vec::new();
    for post_patch_state in PostPatchState::ALL {
        for provenance in Provenance::ALL {
            for reuse_state in ReuseState::ALL {
                for use_count_bucket in CountBucket::ALL {
                    loads.push(SkillLoad {
                        post_patch_state: *post_patch_state,
                        provenance: *provenance,
                        reuse_state: *reuse_state,
                        use_count_bucket: *use_count_bucket,
                    });
                }
            }
        }
    }
    loads
}

#[test]
fn of_180_combinations_45_are_coherent() {
    let loads = all_loads();
    assert_eq!(loads.len(), 180);
    assert_eq!(loads.iter().filter(|load| is_coherent(load)).count(), 45);
}

#[test]
fn coherent_combinations_are_the_producible_ones() {
    let mut made = Vec::new();
    for provenance in Provenance::ALL {
        for use_count in -1..=12 {
            for (reused, after_patch) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let facts =
                    LoadFacts { provenance: *provenance, ..facts(use_count, reused, after_patch) };
                made.extend(load(&facts));
            }
        }
    }
    for load in all_loads() {
        assert_eq!(made.contains(&load), is_coherent(&load), "{load:?}");
    }
}
