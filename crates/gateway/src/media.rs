//! Making media: images and speech that are checked, stored and charged.
//!
//! [`run`] is the whole of it, without HTTP. [`Keep`] holds the bytes, the store the rows that lead
//! to them. A provider that is a program is [`espeak`].

pub(crate) mod espeak;
mod input;
mod keep;
mod make;
mod run;

use std::sync::Arc;

use gateway_store::KeyRecord;
use ledger::HoldId;

use crate::catalogue::Model;
use crate::config::Capability;
use crate::failure::chain;
use crate::identity::{Caller, hex, may_use};
use crate::service::Service;

pub(crate) use input::{IMAGES_PATH, SPEECH_PATH};
pub(crate) use keep::Keep;
pub(crate) use run::{Ask, Context, Done, Finished, run};

/// What media can be made.
pub(crate) const CAPABILITIES: [Capability; 2] = [Capability::Image, Capability::Speech];
/// How many objects are removed before it is asked again which.
const MAX_REMOVED: u32 = 100;

/// The models that this key may use for making this, by their full ids. Each knows whether it is
/// usable and what it costs.
pub(crate) fn models(
    service: &Service,
    caller: &KeyRecord,
    capability: Capability,
) -> Vec<Arc<Model>> {
    let catalogue = service.catalogue.load();
    let is_offered = |model: &&Arc<Model>| {
        model.full_target().is_some() && model.is_for(capability) && may_use(caller, &model.id)
    };
    catalogue.models().filter(is_offered).cloned().collect()
}

/// Why a name is no full id of a model, with those that were probably meant.
fn not_found(service: &Service, caller: &Caller, asked: &str) -> String {
    const MAX_NAMED: usize = 3;
    let catalogue = service.catalogue.load();
    let makers = CAPABILITIES.map(|capability| models(service, caller, capability)).concat();
    let is_maker = |id: &str| makers.iter().any(|model| *model.id == *id);
    // What an alias leads to comes first, then what looks alike, then whatever there is.
    let alias = catalogue.model(asked).map(|alias| alias.groups.concat()).unwrap_or_default();
    let mut near: Vec<&str> = alias.iter().map(|target| &*target.id).collect();
    near.extend(catalogue.similar(asked));
    near.retain(|id| is_maker(id));
    if near.is_empty() {
        near.extend(makers.iter().map(|model| &*model.id));
    }
    near.dedup();
    near.truncate(MAX_NAMED);
    let shown: String = asked.chars().take(100).collect();
    if near.is_empty() {
        return format!("`{shown}` is no full id of a model, and there is none that makes media");
    }
    format!("`{shown}` is no full id of a model that makes media; there is `{}`", near.join("`, `"))
}

/// The name of the run that a hold pays for.
pub(crate) fn run_id(hold: HoldId) -> String {
    format!("run_{}", hold.to_string().trim_start_matches("req_"))
}

/// A name for bytes of this digest. No name is ever used for a second object: the first may be about
/// to be removed.
fn object_name(sha256: &[u8; 32]) -> String {
    let digits = hex(sha256);
    format!("{}/{digits}-{:08x}", &digits[..2], fastrand::u32(..))
}

/// Removes the bytes that nobody refers to any more, and then the rows that say so.
pub(crate) async fn sweep(service: &Service) {
    loop {
        let doomed = match service.store.deletable_objects(MAX_REMOVED).await {
            Ok(doomed) if doomed.is_empty() => return,
            Ok(doomed) => doomed,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "files that are over were not removed");
                return;
            }
        };
        for name in &doomed {
            if let Err(error) = service.artifacts.remove(name).await {
                tracing::warn!(%error, "a file that is over was not removed");
                return;
            }
        }
        if let Err(error) = service.store.delete_objects(&doomed).await {
            tracing::warn!(error = %chain(&error), "files that were removed were not forgotten");
            return;
        }
    }
}
