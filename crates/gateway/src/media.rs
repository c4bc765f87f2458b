//! Making media: images and speech that are checked, stored and charged.

mod artifact_store;
mod make;
mod run;

use std::sync::Arc;

use document_parser::Pool;
use gateway_store::{Artifact, KeyRecord, MediaRun};
use ledger::MemberId;
use wire::media as view;

use crate::billing::Billing;
use crate::catalogue::{MEDIA_CAPABILITIES, Model};
use crate::clock;
use crate::config::{Capability, Config};
use crate::failure::{ApiError, ApiResult, chain};
use crate::identity::{Caller, hex, may_use};
use crate::provider::{Failure, Provider};
use crate::upstreams::Upstreams;

pub(crate) use artifact_store::{ArtifactStore, FilePart};
pub(crate) use run::{Done, Finished, MediaRequest, RunContext};

const MAX_REMOVED: u32 = 100;

/// Runs media without HTTP: [`Media::run`].
pub(crate) struct Media {
    pub(crate) config: Arc<Config>,
    pub(crate) billing: Arc<Billing>,
    pub(crate) upstreams: Arc<Upstreams>,
    pub(crate) parser: Pool,
    pub(crate) artifacts: ArtifactStore,
}

impl Media {
    /// The error message if a name is not the full id of a media model, with suggestions.
    fn not_found(&self, caller: &Caller, asked: &str) -> String {
        const MAX_NAMED: usize = 3;
        let catalogue = self.upstreams.catalogue.load();
        let makers = MEDIA_CAPABILITIES.map(|it| models(&self.upstreams, caller, it)).concat();
        let is_maker = |id: &str| makers.iter().any(|model| *model.id == *id);
        // The targets of an alias first, then similar names, then any.
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
            return format!("unknown model `{shown}`, and no model for media is available");
        }
        let near = near.join("`, `");
        format!("`{shown}` is not the full id of a media model; available models: `{near}`")
    }

    pub(crate) fn check_image_count(&self, count: &str) -> ApiResult<()> {
        let max = self.config.media.max_images;
        if count.parse().is_ok_and(|count: u32| (1..=max).contains(&count)) {
            return Ok(());
        }
        Err(ApiError::invalid("n", format!("`n` must be from 1 to {max}")))
    }

    /// Checks the images in an answer of the OpenAI API: one that cannot be decoded is not paid.
    pub(crate) async fn check_images(
        &self,
        provider: &Provider,
        member: MemberId,
        answer: &[u8],
    ) -> Result<(), Failure> {
        let max_bytes = usize::try_from(self.config.artifacts.max_bytes).unwrap_or(usize::MAX);
        for image in make::images(answer)? {
            let bytes =
                image.bytes(provider, max_bytes).await.map_err(|failure| match failure {
                    // The member can ask for bytes instead; a retry would fail again.
                    Failure::Malformed(what @ make::ELSEWHERE) => {
                        Failure::Unfit(ApiError::invalid(
                            "response_format",
                            format!("{what}; nothing was charged"),
                        ))
                    }
                    failure => failure,
                })?;
            let checked = self.parser.image(Some(member.0), &bytes).await;
            checked.map_err(|error| make::invalid(&error))?;
        }
        Ok(())
    }

    pub(crate) fn check_speech(&self, text: &str) -> ApiResult<()> {
        let max = self.config.media.max_text_chars;
        if u32::try_from(text.chars().count()).is_ok_and(|count| count <= max) {
            return Ok(());
        }
        Err(ApiError::invalid("input", format!("`input` must be at most {max} characters")))
    }

    pub(crate) fn view(&self, run: &MediaRun) -> view::MediaRun {
        let base = self.config.base_url();
        let artifact = |artifact: &Artifact| view::Artifact {
            id: artifact.id.clone(),
            url: format!("{base}/v1/media/artifacts/{}", artifact.id),
            media_type: artifact.media_type.clone(),
            bytes: artifact.bytes,
            sha256: hex(&artifact.sha256),
        };
        view::MediaRun {
            object: "media.run".to_owned(),
            id: run.id.clone(),
            model: run.model.clone(),
            capability: run.capability.clone(),
            artifacts: run.artifacts.iter().map(artifact).collect(),
            charge_micros: run.charge.get(),
            created_at: clock::rfc3339(run.created_at),
            expires_at: clock::rfc3339(run.expires_at),
        }
    }

    /// Removes objects without rows that refer to them, then their rows.
    pub(crate) async fn sweep(&self) {
        let store = &self.billing.store;
        loop {
            let doomed = match store.deletable_objects(MAX_REMOVED).await {
                Ok(doomed) if doomed.is_empty() => return,
                Ok(doomed) => doomed,
                Err(error) => {
                    tracing::warn!(error = %chain(&error), "expired files not removed");
                    return;
                }
            };
            for name in &doomed {
                if let Err(error) = self.artifacts.remove(name).await {
                    tracing::warn!(%error, "expired file not removed");
                    return;
                }
            }
            if let Err(error) = store.delete_objects(&doomed).await {
                tracing::warn!(error = %chain(&error), "rows of removed files not deleted");
                return;
            }
        }
    }
}

pub(crate) fn models(
    upstreams: &Upstreams,
    caller: &KeyRecord,
    capability: Capability,
) -> Vec<Arc<Model>> {
    let catalogue = upstreams.catalogue.load();
    let is_offered = |model: &&Arc<Model>| {
        model.full_target().is_some() && model.is_for(capability) && may_use(caller, &model.id)
    };
    catalogue.models().filter(is_offered).cloned().collect()
}

/// A name for an object of this digest. No name is used twice: the first object of the name may be
/// about to be removed.
fn object_name(sha256: &[u8; 32]) -> String {
    let digits = hex(sha256);
    format!("{}/{digits}-{:08x}", &digits[..2], fastrand::u32(..))
}
