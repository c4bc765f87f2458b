//! What is kept of one skill, and what follows from it when something happens to the skill.
//! Pure: the file is the diary's.

use serde::{Deserialize, Serialize};
use usage_metrics::catalogue::{Provenance, SkillAction};
use usage_metrics::clock::Timestamp;
use usage_metrics::mapping::skill::{LoadFacts, action, state_change};

use super::folder::Digests;

/// After how many days without use a skill is stale.
pub(crate) const STALE_DAYS: u32 = 90;

/// How a skill stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    #[default]
    Active,
    /// It was not used for long.
    Stale,
    /// It was put away.
    Archived,
}

impl State {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Stale => "stale",
            Self::Archived => "archived",
        }
    }
}

/// That a skill was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Installed {
    /// The folder it was copied from.
    pub(crate) from: String,
    pub(crate) at_ms: i64,
}

/// What is kept of one skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SkillRecord {
    /// When it was seen first.
    pub(crate) seen_ms: i64,
    /// Nothing if it was made by hand.
    pub(crate) installed: Option<Installed>,
    pub(crate) uses: u64,
    pub(crate) first_used_ms: Option<i64>,
    pub(crate) last_used_ms: Option<i64>,
    /// When a change of it was noticed last.
    pub(crate) edited_ms: Option<i64>,
    /// How often a change of it was noticed.
    pub(crate) edits: u64,
    /// How many of these it had when it was used last.
    pub(crate) edits_when_used: u64,
    pub(crate) state: State,
    /// Of `SKILL.md`, when it was looked at last.
    pub(crate) digest: String,
    /// Of the further files.
    pub(crate) files_digest: String,
}

/// A use of a skill, as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SkillUse {
    /// The change that was noticed with it.
    pub(crate) change: Option<SkillAction>,
    uses: u64,
    is_reused: bool,
    is_after_change: bool,
}

impl SkillUse {
    pub(crate) fn facts(&self, provenance: Provenance) -> LoadFacts {
        LoadFacts {
            use_count: i64::try_from(self.uses).ok(),
            reused: Some(self.is_reused),
            reuse_after_patch: Some(self.is_after_change),
            provenance,
        }
    }
}

impl SkillRecord {
    /// Of a skill that is seen for the first time.
    pub(crate) fn new(digests: &Digests, now: Timestamp) -> Self {
        let mut record = Self { seen_ms: now.as_ms(), ..Self::default() };
        record.hold(digests);
        record
    }

    fn hold(&mut self, digests: &Digests) {
        self.digest.clone_from(&digests.skill);
        self.files_digest.clone_from(&digests.files);
    }

    /// Compares it with what was there before. New instructions are a patch; new files beside them
    /// are an edit.
    pub(crate) fn compare(&mut self, digests: &Digests, now: Timestamp) -> Option<SkillAction> {
        let raw = match (self.digest == digests.skill, self.files_digest == digests.files) {
            (true, true) => return None,
            (false, _) => "patch",
            (true, false) => "write_file",
        };
        self.changed(digests, now);
        action(raw)
    }

    /// Another version of it was installed in its place.
    pub(crate) fn replaced(&mut self, digests: &Digests, now: Timestamp) -> Option<SkillAction> {
        if self.digest == digests.skill && self.files_digest == digests.files {
            return None;
        }
        self.changed(digests, now);
        action("update")
    }

    fn changed(&mut self, digests: &Digests, now: Timestamp) {
        self.hold(digests);
        self.edits += 1;
        self.edited_ms = Some(now.as_ms());
    }

    /// It is loaded.
    pub(crate) fn used(&mut self, digests: &Digests, now: Timestamp) -> SkillUse {
        let change = self.compare(digests, now);
        let is_reused = self.uses > 0;
        let is_after_change = is_reused && self.edits > self.edits_when_used;
        self.uses = self.uses.saturating_add(1);
        self.first_used_ms.get_or_insert(now.as_ms());
        self.last_used_ms = Some(now.as_ms());
        self.edits_when_used = self.edits;
        // A stale skill comes back by being used; that is no event.
        self.state = State::Active;
        SkillUse { change, uses: self.uses, is_reused, is_after_change }
    }

    /// Its state is this from now on; what that counts as.
    pub(crate) fn becomes(&mut self, state: State) -> Option<SkillAction> {
        let counted = state_change(self.state.word(), state.word());
        self.state = state;
        counted
    }

    /// When something was last done with it, whatever it was.
    pub(crate) fn touched_ms(&self) -> i64 {
        let installed = self.installed.as_ref().map(|installed| installed.at_ms);
        let moments = [self.last_used_ms, self.edited_ms, installed];
        moments.into_iter().flatten().fold(self.seen_ms, i64::max)
    }

    /// Whether it should be stale and is not yet.
    pub(crate) fn is_becoming_stale(&self, now: Timestamp) -> bool {
        self.state == State::Active && self.touched_ms() < now.minus_days(STALE_DAYS).as_ms()
    }
}

#[cfg(test)]
mod tests {
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
    fn counted(used: SkillUse) -> (&'static str, &'static str, &'static str, Option<&'static str>) {
        let load = load(&used.facts(Provenance::Local)).unwrap();
        (
            load.reuse_state.text(),
            load.post_patch_state.text(),
            load.use_count_bucket.text(),
            used.change.map(SkillAction::text),
        )
    }

    #[test]
    fn a_first_use_a_reuse_and_a_reuse_after_a_patch_are_three_things() {
        let mut record = SkillRecord::new(&digests("a", "f"), at(0));
        let mut used =
            |skill: &str, files: &str, day| counted(record.used(&digests(skill, files), at(day)));
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
    fn a_change_before_the_first_use_is_a_change_and_the_use_is_the_first() {
        let mut record = SkillRecord::new(&digests("a", "f"), at(0));
        let used = record.used(&digests("b", "f"), at(1));
        assert_eq!(counted(used), ("first_use", "not_applicable", "1", Some("patched")));
        let used = record.used(&digests("b", "f"), at(2));
        assert_eq!(counted(used), ("reused", "no_new_patch", "2", None));
    }

    #[test]
    fn a_new_version_is_an_edit_and_the_next_use_comes_after_it() {
        let mut record = SkillRecord::new(&digests("a", "f"), at(0));
        record.used(&digests("a", "f"), at(1));
        assert_eq!(record.replaced(&digests("a", "f"), at(2)), None);
        assert_eq!(record.replaced(&digests("b", "g"), at(2)), Some(SkillAction::Edited));
        let used = record.used(&digests("b", "g"), at(3));
        assert_eq!(counted(used), ("reused", "reused_after_patch", "2", None));
    }

    #[test]
    fn a_skill_is_stale_after_ninety_days_once_and_fresh_when_used() {
        let stale = i64::from(STALE_DAYS);
        let mut record = SkillRecord::new(&digests("a", "f"), at(0));
        record.used(&digests("a", "f"), at(1));
        assert!(!record.is_becoming_stale(at(stale + 1)));
        assert!(record.is_becoming_stale(at(stale + 2)));
        assert_eq!(record.becomes(State::Stale), Some(SkillAction::Stale));
        assert!(!record.is_becoming_stale(at(stale + 3)), "it is already");
        record.used(&digests("a", "f"), at(stale + 4));
        assert_eq!(record.state, State::Active);
        assert!(record.is_becoming_stale(at(2 * stale + 5)));
    }

    #[test]
    fn only_what_was_put_away_is_restored() {
        let mut record = SkillRecord::new(&digests("a", "f"), at(0));
        assert_eq!(record.becomes(State::Active), None);
        assert_eq!(record.becomes(State::Archived), Some(SkillAction::Archived));
        assert_eq!(record.becomes(State::Active), Some(SkillAction::Restored));
    }

    #[test]
    fn a_record_of_another_version_can_be_read() {
        let record: SkillRecord = serde_json::from_str("{\"uses\": 3, \"later\": 1}").unwrap();
        assert_eq!((record.uses, record.state), (3, State::Active));
    }
}
