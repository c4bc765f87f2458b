//! Tests of `record`.

use super::*;
use usage_metrics::mapping::skill::load;

const NOW: i64 = 1_785_240_000_000;
const DAY: i64 = 86_400_000;

fn digests(skill: &str, files: &str) -> Digests {
    Digests { skill: skill.to_owned(), files: files.to_owned() }
}

fn at(days: i64) -> Timestamp {
    Timestamp::from_ms(NOW + days * DAY)
}

/// The dimensions of a use, and the change that was noticed with it.
fn counted(
    (facts, change): (LoadFacts, Option<SkillAction>),
) -> (&'static str, &'static str, &'static str, Option<&'static str>) {
    let load = load(&facts).unwrap();
    (
        load.reuse_state.text(),
        load.post_patch_state.text(),
        load.use_count_bucket.text(),
        change.map(SkillAction::text),
    )
}

#[test]
fn first_use_reuse_and_reuse_after_patch_are_distinguished() {
    let mut record = SkillRecord::new(&digests("a", "f"), at(0));
    let mut used = |skill: &str, files: &str, day| {
        counted(record.used(&digests(skill, files), at(day), Provenance::Local))
    };
    assert_eq!(used("a", "f", 1), ("first_use", "not_applicable", "1", None));
    assert_eq!(used("a", "f", 2), ("reused", "no_new_patch", "2", None));
    assert_eq!(used("b", "f", 3), ("reused", "reused_after_patch", "3_to_5", Some("patched")));
    assert_eq!(used("b", "f", 4), ("reused", "no_new_patch", "3_to_5", None), "once a patch");
    assert_eq!(used("b", "g", 5), ("reused", "reused_after_patch", "3_to_5", Some("edited")));
    assert_eq!(used("c", "h", 6), ("reused", "reused_after_patch", "6_to_10", Some("patched")));
    assert_eq!((record.uses, record.edits), (6, 3));
    assert_eq!(record.first_used_ms, Some(at(1).as_ms()));
    assert_eq!(record.last_used_ms, Some(at(6).as_ms()));
    assert_eq!(record.edited_ms, Some(at(6).as_ms()));
}

#[test]
fn a_change_before_the_first_use_counts_as_an_edit() {
    let mut record = SkillRecord::new(&digests("a", "f"), at(0));
    let used = record.used(&digests("b", "f"), at(1), Provenance::Local);
    assert_eq!(counted(used), ("first_use", "not_applicable", "1", Some("patched")));
    let used = record.used(&digests("b", "f"), at(2), Provenance::Local);
    assert_eq!(counted(used), ("reused", "no_new_patch", "2", None));
}

#[test]
fn a_new_version_counts_as_an_edit_before_the_next_use() {
    let mut record = SkillRecord::new(&digests("a", "f"), at(0));
    record.used(&digests("a", "f"), at(1), Provenance::Local);
    assert_eq!(record.replaced(&digests("a", "f"), at(2)), None);
    assert_eq!(record.replaced(&digests("b", "g"), at(2)), Some(SkillAction::Edited));
    let used = record.used(&digests("b", "g"), at(3), Provenance::Local);
    assert_eq!(counted(used), ("reused", "reused_after_patch", "2", None));
}

#[test]
fn an_unused_skill_becomes_stale_once_after_ninety_days() {
    let stale = i64::from(STALE_DAYS);
    let mut record = SkillRecord::new(&digests("a", "f"), at(0));
    record.used(&digests("a", "f"), at(1), Provenance::Local);
    assert!(!record.is_becoming_stale(at(stale + 1)));
    assert!(record.is_becoming_stale(at(stale + 2)));
    assert_eq!(record.becomes(State::Stale), Some(SkillAction::Stale));
    assert!(!record.is_becoming_stale(at(stale + 3)), "it is already");
    record.used(&digests("a", "f"), at(stale + 4), Provenance::Local);
    assert_eq!(record.state, State::Active);
    assert!(record.is_becoming_stale(at(2 * stale + 5)));
}

#[test]
fn only_archived_skills_are_restored() {
    let mut record = SkillRecord::new(&digests("a", "f"), at(0));
    assert_eq!(record.becomes(State::Active), None);
    assert_eq!(record.becomes(State::Archived), Some(SkillAction::Archived));
    assert_eq!(record.becomes(State::Active), Some(SkillAction::Restored));
}

#[test]
fn records_of_other_versions_are_readable() {
    let record: SkillRecord = serde_json::from_str("{\"uses\": 3, \"later\": 1}").unwrap();
    assert_eq!((record.uses, record.state), (3, State::Active));
}
