//! Actions on skills, and their loads.

use super::{bucket, normalise};
use crate::catalogue::{
    CountBucket, PostPatchState, Provenance, ReuseState, SkillAction, SkillLoad,
};

#[cfg(test)]
mod tests;

/// The counted action; `None` for actions that are not counted, such as deletion.
pub fn action(raw: &str) -> Option<SkillAction> {
    match normalise(raw).as_ref() {
        "patch" => Some(SkillAction::Patched),
        "edit" | "update" | "write_file" | "remove_file" => Some(SkillAction::Edited),
        name => SkillAction::parse(name),
    }
}

/// The counted action of a state change; `None` if the state does not change or the change is not
/// counted. Only archived skills can be restored.
pub fn state_change(from: &str, to: &str) -> Option<SkillAction> {
    let (from, to) = (normalise(from), normalise(to));
    if from == to {
        return None;
    }
    match (from.as_ref(), to.as_ref()) {
        (_, "archived") => Some(SkillAction::Archived),
        (_, "stale") => Some(SkillAction::Stale),
        ("archived", "active") => Some(SkillAction::Restored),
        _ => None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadFacts {
    /// The number of uses, including this one.
    pub use_count: Option<i64>,
    pub reused: Option<bool>,
    /// Whether this is the first use after a patch of a used skill.
    pub reuse_after_patch: Option<bool>,
    pub provenance: Provenance,
}

/// The counted load; `None` if a fact is missing or facts contradict each other.
pub fn load(facts: &LoadFacts) -> Option<SkillLoad> {
    let (reuse_state, post_patch_state) = match (facts.reused?, facts.reuse_after_patch?) {
        (false, false) => (ReuseState::FirstUse, PostPatchState::NotApplicable),
        (true, false) => (ReuseState::Reused, PostPatchState::NoNewPatch),
        (true, true) => (ReuseState::Reused, PostPatchState::ReusedAfterPatch),
        (false, true) => return None,
    };
    let load = SkillLoad {
        post_patch_state,
        provenance: facts.provenance,
        reuse_state,
        use_count_bucket: bucket::count(facts.use_count?),
    };
    is_coherent(&load).then_some(load)
}

/// Whether the dimensions of a load are consistent: the first use has number 1 and no patch state,
/// later uses have a higher number and a patch state. Any provenance is possible.
pub fn is_coherent(load: &SkillLoad) -> bool {
    matches!(
        (load.reuse_state, load.post_patch_state, load.use_count_bucket),
        (ReuseState::FirstUse, PostPatchState::NotApplicable, CountBucket::One)
            | (
                ReuseState::Reused,
                PostPatchState::NoNewPatch | PostPatchState::ReusedAfterPatch,
                CountBucket::Two
                    | CountBucket::From3To5
                    | CountBucket::From6To10
                    | CountBucket::Gte11,
            )
    )
}
