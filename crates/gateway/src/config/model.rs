//! Models of a provider and their settings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{section, word};

use super::price::{Micros, Operation};

pub const MAX_MODELS: usize = 4096;
pub(super) const MAX_DESCRIPTION: usize = 2000;
pub(super) const MAX_CONTEXT: u64 = 1_000_000_000;

section! {
    /// Settings of a model. `models` may also be a list of ids, and a model without settings may
    /// have no value.
    #[derive(PartialEq, Eq)]
    #[schemars(extend("x-order" = [
        "name", "path", "context_length", "max_n", "max_tokens", "max_message_bytes", "max_images",
        "capabilities", "price_micros", "description",
    ]))]
    pub struct Model {
        /// What follows the name of the provider and a `/` in its full id.
        #[serde(skip)]
        pub id: String,
        /// The model's name at the provider. Default: its id.
        #[serde(rename = "name")]
        #[schemars(extend("default" = null, "x-wanted" = "the model's name at the provider"))]
        pub upstream_name: String,
        /// `local`: path of the model file, relative to the folder of this file. Default:
        /// `NAME.gguf` in `folder`.
        #[schemars(extend("format" = "path", "x-wanted" = "the path of a file"))]
        pub path: Option<PathBuf>,
        /// Context length in tokens.
        pub context_length: Option<u64> where 1..=MAX_CONTEXT,
        /// What the model can be used for: `chat`, `responses`, `research`, `image`, `speech`,
        /// `transcription`, `embeddings`, `moderation`, `rerank`, `web_search`, `web_fetch`.
        /// `espeak` voices support only `speech`; `local` models support no media.
        #[schemars(length(min = 1), extend("x-empty" = "must name at least one capability"))]
        pub capabilities: Vec<Capability> = vec![Capability::Chat, Capability::Responses],
        /// Price of a request. Default: from the price list.
        #[schemars(with = "Option<Micros>")]
        pub price_micros: Option<i64>,
        /// Description of the model, at most 2000 characters.
        #[schemars(length(max = MAX_DESCRIPTION), extend("x-wanted" = "a string"))]
        pub description: Option<String>,
        /// How much one request may ask of it.
        #[serde(flatten)]
        pub caps: Caps,
    }
}

section! {
    /// How much one request may ask of a model; `None` for no cap.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Caps {
        /// Maximum number of choices (`n`, `best_of`) per request. A request for more is rejected.
        #[serde(rename = "max_n")]
        pub n: Option<u32> where 1..=1000,
        /// Maximum number of tokens of a response (`max_tokens`, `max_completion_tokens`,
        /// `max_output_tokens`). A request for more is rejected; a request without a limit is sent
        /// with this one.
        #[serde(rename = "max_tokens")]
        pub tokens: Option<u64> where 1..=MAX_CONTEXT,
        /// Maximum size of a conversation in bytes of JSON, including images, earlier responses, and
        /// definitions of tools and formats.
        #[serde(rename = "max_message_bytes")]
        pub message_bytes: Option<u64> where 1..=(1024 * 1024 * 1024),
        /// Maximum number of images in a conversation.
        #[serde(rename = "max_images")]
        pub images: Option<u32> where 0..=10_000,
    }
}

impl Caps {
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            n: self.n.or(other.n),
            tokens: self.tokens.or(other.tokens),
            message_bytes: self.message_bytes.or(other.message_bytes),
            images: self.images.or(other.images),
        }
    }

    /// The stricter of both, cap by cap.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        fn least<N: Ord>(one: Option<N>, other: Option<N>) -> Option<N> {
            one.into_iter().chain(other).min()
        }
        Self {
            n: least(self.n, other.n),
            tokens: least(self.tokens, other.tokens),
            message_bytes: least(self.message_bytes, other.message_bytes),
            images: least(self.images, other.images),
        }
    }
}

/// What a model can be used for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    Chat,
    Responses,
    Research,
    Image,
    Speech,
    Transcription,
    Embeddings,
    Moderation,
    Rerank,
    WebSearch,
    WebFetch,
}

impl Capability {
    pub fn as_str(self) -> &'static str {
        word::<Self>(self as usize)
    }

    /// The operation that it is charged as, if one model provides it.
    pub fn operation(self) -> Option<Operation> {
        Some(match self {
            Self::Chat => Operation::Chat,
            Self::Responses => Operation::Responses,
            Self::Image | Self::Speech | Self::Transcription => Operation::Media,
            Self::Embeddings => Operation::Embeddings,
            Self::Moderation => Operation::Moderations,
            Self::Rerank => Operation::Rerank,
            Self::Research | Self::WebSearch | Self::WebFetch => return None,
        })
    }
}

impl Model {
    pub fn new(id: impl Into<String>) -> Self {
        let id = id.into();
        Self { upstream_name: id.clone(), id, ..Self::default() }
    }
}

/// `models` of a provider: a list of ids, or a mapping from ids.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum ModelsFile {
    Ids(
        #[schemars(length(min = 1, max = MAX_MODELS))]
        #[schemars(extend(
            "uniqueItems" = true,
            "items" = {"type": "string", "format": "model-id"},
            "x-size" = format!("must be at most {MAX_MODELS} models"),
            "x-empty" = NO_MODEL,
            "x-hint" = NAME_SOME,
        ))]
        Vec<String>,
    ),
    Details(
        #[schemars(with = "BTreeMap<String, Option<Model>>")]
        #[schemars(extend(
            "propertyNames" = {"type": "string", "format": "model-id"},
            "minProperties" = 1,
            "maxProperties" = MAX_MODELS,
            "x-items" = "models",
            "x-empty" = NO_MODEL,
            "x-hint" = NAME_SOME,
        ))]
        Vec<(String, Option<Model>)>,
    ),
}

const NO_MODEL: &str = "lists no models";
const NAME_SOME: &str = "list at least one model, or use `discover: true` instead";

impl From<ModelsFile> for Vec<Model> {
    fn from(file: ModelsFile) -> Self {
        match file {
            ModelsFile::Ids(ids) => ids.into_iter().map(Model::new).collect(),
            ModelsFile::Details(models) => models
                .into_iter()
                .map(|(id, model)| {
                    let mut model = model.unwrap_or_default();
                    model.capabilities.sort_unstable();
                    model.capabilities.dedup();
                    if model.upstream_name.is_empty() {
                        model.upstream_name.clone_from(&id);
                    }
                    Model { id, ..model }
                })
                .collect(),
        }
    }
}
