//! The models that are offered, what they cost, and which upstreams answer for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use ledger::Micros;

use crate::provider::Provider;

/// All models, by the name they are asked for.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    models: BTreeMap<String, Arc<Model>>,
}

/// A model as members ask for it: a full id, or an alias of the operator.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) id: String,
    pub(crate) owned_by: String,
    pub(crate) created: i64,
    pub(crate) description: Option<String>,
    pub(crate) context_length: Option<u64>,
    pub(crate) capabilities: Vec<Capability>,
    pub(crate) chat_price: Micros,
    pub(crate) responses_price: Micros,
    pub(crate) targets: Vec<Target>,
    pub(crate) order: Order,
}

/// What a model can be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capability {
    Chat,
    Responses,
    Image,
    Speech,
}

/// How the next upstream is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// As they stand.
    Fallback,
    /// By chance, in proportion to their weights.
    Weighted,
}

/// One upstream's model.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) provider: Arc<Provider>,
    /// The full id.
    pub(crate) id: String,
    /// What the upstream calls it.
    pub(crate) name: String,
    pub(crate) weight: u32,
}

impl Catalogue {
    pub(crate) fn new(models: impl IntoIterator<Item = Model>) -> Self {
        let models = models.into_iter().map(|model| (model.id.clone(), Arc::new(model)));
        Self { models: models.collect() }
    }

    /// A model by the name it is asked for.
    pub(crate) fn model(&self, id: &str) -> Option<&Arc<Model>> {
        self.models.get(id)
    }

    /// All models, by name.
    pub(crate) fn models(&self) -> impl Iterator<Item = &Arc<Model>> {
        self.models.values()
    }

    /// Names that are much like one that is not there.
    pub(crate) fn similar(&self, id: &str) -> Vec<&str> {
        const MAX_SIMILAR: usize = 3;
        let mut found: Vec<(f64, &str)> = self
            .models
            .keys()
            .map(|name| {
                let tail = name.rsplit('/').next().unwrap_or(name);
                let closeness = strsim::jaro_winkler(id, name).max(strsim::jaro_winkler(id, tail));
                (closeness, name.as_str())
            })
            .filter(|(closeness, _)| *closeness > 0.8)
            .collect();
        found.sort_by(|left, right| right.0.total_cmp(&left.0));
        found.into_iter().take(MAX_SIMILAR).map(|(_, name)| name).collect()
    }
}

impl Model {
    /// Whether it can be used for this.
    pub(crate) fn is_for(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }

    /// The upstreams worth asking, in the order in which to ask them.
    pub(crate) fn candidates(&self) -> Vec<&Target> {
        let mut usable: Vec<&Target> =
            self.targets.iter().filter(|target| target.provider.health.is_usable()).collect();
        if self.order == Order::Weighted && usable.len() > 1 {
            shuffle(&mut usable);
        }
        usable
    }
}

impl Capability {
    /// As it is shown.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Image => "image",
            Self::Speech => "speech",
        }
    }
}

/// Draws one after the other, each in proportion to its weight.
fn shuffle(targets: &mut [&Target]) {
    for start in 0..targets.len() {
        let Some(rest) = targets.get_mut(start..) else { return };
        let total: u64 = rest.iter().map(|target| u64::from(target.weight)).sum();
        let mut point = if total == 0 { 0 } else { fastrand::u64(0..total) };
        let chosen = rest.iter().position(|target| {
            let weight = u64::from(target.weight);
            let is_here = point < weight;
            point = point.saturating_sub(weight);
            is_here
        });
        rest.swap(0, chosen.unwrap_or(0));
    }
}
