//! Skills: what happened to them, where they came from, and how they were loaded.

use super::{bucket, normalise};
use crate::catalogue::{
    CountBucket, PostPatchState, Provenance, ReuseState, SkillAction, SkillLoad,
};

#[cfg(test)]
mod tests;

/// What an action on a skill counts as; nothing for one that is not counted, such as a deletion.
pub fn action(raw: &str) -> Option<SkillAction> {
    match normalise(raw).as_ref() {
        "patch" => Some(SkillAction::Patched),
        "edit" | "update" | "write_file" | "remove_file" => Some(SkillAction::Edited),
        name => SkillAction::parse(name),
    }
}

/// What a change of a skill's state counts as; nothing when the state stays the same or the
/// change is not counted. Only what was archived can be restored.
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

/// What is known about where a skill came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts of different places; any may hold alone")]
pub struct Origin {
    /// Its record names the agent as its maker.
    pub created_by_agent: bool,
    /// It was installed from a hub.
    pub installed_from_hub: bool,
    /// It lies in external directories and nowhere else.
    pub only_in_external_dirs: bool,
    /// It lies in the local tree of skills.
    pub in_local_tree: bool,
    /// There is a usage record of it.
    pub has_record: bool,
}

/// Where a skill came from. The maker is told before the way it arrived, and that before the
/// place where it lies.
pub fn provenance(origin: &Origin) -> Provenance {
    if origin.created_by_agent {
        Provenance::AgentCreated
    } else if origin.installed_from_hub {
        Provenance::Installed
    } else if origin.only_in_external_dirs {
        Provenance::External
    } else if origin.in_local_tree || origin.has_record {
        Provenance::Local
    } else {
        Provenance::Unknown
    }
}

/// What was reported when a skill was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadFacts {
    /// How often it has been used, this time included.
    pub use_count: Option<i64>,
    /// Whether it had been used before.
    pub reused: Option<bool>,
    /// Whether this is the first use after a patch of a skill that had been used before.
    pub reuse_after_patch: Option<bool>,
    /// Where it came from.
    pub provenance: Provenance,
}

/// What a load counts as; nothing when a fact is missing or the facts contradict one another.
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

/// Whether the dimensions of a load can belong together: the first use is use number 1 and has no
/// patch to speak of, every later one has a higher number and a patch state. A skill may have any
/// provenance.
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
