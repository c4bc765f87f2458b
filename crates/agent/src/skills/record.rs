//! The usage record of one skill, and its changes by events. Pure: [`super::log`] reads and
//! writes the file.

use serde::{Deserialize, Serialize};
use usage_metrics::catalogue::{Provenance, SkillAction};
use usage_metrics::clock::Timestamp;
use usage_metrics::mapping::skill::{LoadFacts, action, state_change};

use super::folder::Digests;

pub(crate) const STALE_DAYS: u32 = 90;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    #[default]
    Active,
    Stale,
    Archived,
}

impl State {
    pub(crate) fn as_str(self) -> &'static str {
        settings::word::<Self>(self as usize)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Installed {
    pub(crate) from: String,
    pub(crate) at_ms: i64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SkillRecord {
    pub(crate) seen_ms: i64,
    /// `None` if it was created by hand.
    pub(crate) installed: Option<Installed>,
    pub(crate) uses: u64,
    pub(crate) first_used_ms: Option<i64>,
    pub(crate) last_used_ms: Option<i64>,
    /// The time of the last noticed change.
    pub(crate) edited_ms: Option<i64>,
    /// The number of noticed changes.
    pub(crate) edits: u64,
    /// The value of `edits` at the last use.
    pub(crate) edits_when_used: u64,
    pub(crate) state: State,
    /// When last checked.
    #[serde(flatten)]
    pub(crate) digests: Digests,
}

impl SkillRecord {
    /// The record of a skill that is seen for the first time.
    pub(crate) fn new(digests: &Digests, now: Timestamp) -> Self {
        Self { seen_ms: now.as_ms(), digests: digests.clone(), ..Self::default() }
    }

    /// Compares it with the previous digests. New instructions are a patch; new files beside them
    /// are an edit.
    pub(crate) fn compare(&mut self, digests: &Digests, now: Timestamp) -> Option<SkillAction> {
        if self.digests == *digests {
            return None;
        }
        let raw = if self.digests.skill == digests.skill { "write_file" } else { "patch" };
        self.digests.clone_from(digests);
        self.edits += 1;
        self.edited_ms = Some(now.as_ms());
        action(raw)
    }

    pub(crate) fn replaced(&mut self, digests: &Digests, now: Timestamp) -> Option<SkillAction> {
        self.compare(digests, now).and(action("update"))
    }

    /// Records a use, and the change of the skill that was noticed with it.
    pub(crate) fn used(
        &mut self,
        digests: &Digests,
        now: Timestamp,
        provenance: Provenance,
    ) -> (LoadFacts, Option<SkillAction>) {
        let change = self.compare(digests, now);
        let is_reused = self.uses > 0;
        let is_after_change = is_reused && self.edits > self.edits_when_used;
        self.uses = self.uses.saturating_add(1);
        self.first_used_ms.get_or_insert(now.as_ms());
        self.last_used_ms = Some(now.as_ms());
        self.edits_when_used = self.edits;
        // A use reactivates a stale skill; that is no event.
        self.state = State::Active;
        let facts = LoadFacts {
            use_count: i64::try_from(self.uses).ok(),
            reused: Some(is_reused),
            reuse_after_patch: Some(is_after_change),
            provenance,
        };
        (facts, change)
    }

    /// Sets its state; returns the event to count.
    pub(crate) fn becomes(&mut self, state: State) -> Option<SkillAction> {
        let counted = state_change(self.state.as_str(), state.as_str());
        self.state = state;
        counted
    }

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
mod tests;
