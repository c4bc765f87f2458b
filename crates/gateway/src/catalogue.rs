//! The models that are offered, what they cost, and which upstreams answer for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use ledger::Micros;
use serde_json::Value;

use crate::config::{self, Capability, Caps, Config, Operation, Pattern};
use crate::provider::{MAX_MODEL_NAME, Provider};

pub(crate) const MEDIA_CAPABILITIES: [Capability; 3] =
    [Capability::Image, Capability::Speech, Capability::Transcription];

const MODEL_OPERATIONS: [Operation; 6] = [
    Operation::Chat,
    Operation::Responses,
    Operation::Media,
    Operation::Embeddings,
    Operation::Moderations,
    Operation::Rerank,
];

#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    models: BTreeMap<Arc<str>, Arc<Model>>,
    /// Aliases for all names that match, the longest pattern first.
    patterns: Vec<(Pattern, Model)>,
}

/// A model as members name it: a full id or an alias.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) id: Arc<str>,
    /// The id as a JSON string.
    pub(crate) quoted_id: Arc<str>,
    pub(crate) owned_by: String,
    pub(crate) created: i64,
    pub(crate) description: Option<String>,
    pub(crate) context_length: Option<u64>,
    pub(crate) capabilities: Vec<Capability>,
    /// Whether it can call tools, if known.
    pub(crate) tools: Option<bool>,
    pub(crate) caps: Caps,
    pub(crate) prices: ModelPrices,
    /// Groups in the order of preference; within a group, targets are drawn by weight.
    pub(crate) groups: Vec<Vec<Target>>,
}

#[derive(Debug, Clone)]
pub(crate) struct ModelPrices(Vec<(Operation, Micros)>);

impl ModelPrices {
    fn new(config: &Config, id: &str) -> Self {
        let price = |operation| (operation, Micros::new(config.price_micros(operation, id)));
        Self(MODEL_OPERATIONS.map(price).into())
    }

    pub(crate) fn of(&self, operation: Operation) -> Micros {
        let price = self.0.iter().find(|(known, _)| *known == operation);
        price.map_or(Micros::ZERO, |(_, price)| *price)
    }
}

/// One upstream's model.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) provider: Arc<Provider>,
    pub(crate) id: Arc<str>,
    /// The name at the upstream.
    pub(crate) name: String,
    /// The name as a JSON string.
    pub(crate) quoted_name: String,
    pub(crate) weight: u32,
}

impl Catalogue {
    pub(crate) fn new(models: impl IntoIterator<Item = Model>) -> Self {
        let models = models.into_iter().map(|model| (model.id.clone(), Arc::new(model)));
        Self { models: models.collect(), patterns: Vec::new() }
    }

    pub(crate) fn build(config: &Config, providers: &[Arc<Provider>], created: i64) -> Self {
        let mut models = Vec::new();
        for provider in providers {
            let Some(configured) = config.provider(&provider.name) else { continue };
            let found = provider.found.load();
            let known = |id: &str| configured.models.iter().any(|model| model.id == id);
            let found = found.iter().filter(|model| !known(&model.id));
            for model in configured.models.iter().chain(found) {
                models.push(of_provider(config, provider, model, created));
            }
        }
        let full: BTreeMap<&str, &Model> = models.iter().map(|model| (&*model.id, model)).collect();
        let aliases = config.aliases.iter().map(|alias| {
            (Pattern::new(alias.name.as_str()), of_alias(config, alias, &full, created))
        });
        let (mut patterns, aliases): (Vec<_>, Vec<_>) =
            aliases.partition(|(pattern, _)| pattern.is_glob());
        models.extend(aliases.into_iter().map(|(_, alias)| alias));
        patterns.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.as_str().len()));
        Self { patterns, ..Self::new(models) }
    }

    /// The model that a member means: by its id, by the upstream's name if exactly one usable model
    /// has it, or by an alias that is a pattern. The error is the list of several such models.
    pub(crate) fn find(
        &self,
        asked: &str,
        may_use: impl Fn(&str) -> bool,
    ) -> Result<Option<Arc<Model>>, Vec<Arc<str>>> {
        if let Some(model) = self.model(asked) {
            return Ok(Some(model.clone()));
        }
        if asked.len() > MAX_MODEL_NAME {
            return Ok(None);
        }
        let is_named = |model: &&Arc<Model>| {
            let of_config = model.id.split_once('/').map(|(_, name)| name);
            let target = model.full_target();
            target.is_some_and(|target| target.name == asked || of_config == Some(asked))
                && model.is_usable()
                && may_use(&model.id)
        };
        let mut named = self.models().filter(is_named);
        match (named.next(), named.next()) {
            (None, _) => {
                let found = self.patterns.iter().find(|(pattern, _)| pattern.matches(asked));
                let (id, quoted_id) = (asked.into(), quoted(asked).into());
                Ok(found.map(|(_, model)| Arc::new(Model { id, quoted_id, ..model.clone() })))
            }
            (Some(model), None) => Ok(Some(model.clone())),
            (Some(first), Some(second)) => Err([first, second]
                .into_iter()
                .chain(named)
                .map(|model| model.id.clone())
                .collect()),
        }
    }

    pub(crate) fn model(&self, id: &str) -> Option<&Arc<Model>> {
        self.models.get(id)
    }

    /// All models, ordered by name.
    pub(crate) fn models(&self) -> impl Iterator<Item = &Arc<Model>> {
        self.models.values()
    }

    pub(crate) fn similar(&self, id: &str) -> Vec<&str> {
        const MAX_SIMILAR: usize = 3;
        // The cost of a comparison grows with the length.
        if id.len() > MAX_MODEL_NAME {
            return Vec::new();
        }
        let mut found: Vec<(f64, &str)> = self
            .models
            .keys()
            .map(|name| {
                let tail = name.rsplit('/').next().unwrap_or(name);
                let closeness = strsim::jaro_winkler(id, name).max(strsim::jaro_winkler(id, tail));
                (closeness, &**name)
            })
            .filter(|(closeness, _)| *closeness > 0.8)
            .collect();
        found.sort_by(|left, right| right.0.total_cmp(&left.0));
        found.into_iter().take(MAX_SIMILAR).map(|(_, name)| name).collect()
    }
}

impl Model {
    pub(crate) fn is_for(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }

    /// The target of a full id; `None` for an alias.
    pub(crate) fn full_target(&self) -> Option<&Target> {
        let target = self.groups.first()?.first()?;
        (target.id == self.id).then_some(target)
    }

    /// The price of a request that uses its main capability.
    pub(crate) fn usual_price(&self) -> Micros {
        let operation = self.capabilities.iter().find_map(|capability| capability.operation());
        self.prices.of(operation.unwrap_or(Operation::Chat))
    }

    /// The targets to try, in order. If all of them are ejected, all are tried: failed requests alone
    /// never disable a model.
    pub(crate) fn candidates(&self) -> Vec<&Target> {
        let good = self.ordered(|target| !target.provider.health.is_ejected());
        if good.is_empty() { self.ordered(|_| true) } else { good }
    }

    /// The usable targets that pass, each group shuffled by weight.
    fn ordered(&self, passes: impl Fn(&Target) -> bool) -> Vec<&Target> {
        let mut targets = Vec::new();
        for group in &self.groups {
            let start = targets.len();
            targets.extend(group.iter().filter(|target| target.is_usable() && passes(target)));
            if let Some(group) = targets.get_mut(start..) {
                shuffle(group);
            }
        }
        targets
    }

    pub(crate) fn is_usable(&self) -> bool {
        self.groups.iter().flatten().any(Target::is_usable)
    }
}

impl Target {
    fn is_usable(&self) -> bool {
        self.provider.is_usable_for(&self.name)
    }
}

fn of_provider(
    config: &Config,
    provider: &Arc<Provider>,
    model: &config::Model,
    created: i64,
) -> Model {
    let id = format!("{}/{}", provider.name, model.id);
    let local = provider.local.as_ref();
    let (window, about) = local.map(|local| local.model_info(&model.upstream_name)).unzip();
    let target = Target {
        provider: provider.clone(),
        id: id.as_str().into(),
        name: model.upstream_name.clone(),
        quoted_name: quoted(&model.upstream_name),
        weight: 1,
    };
    Model {
        owned_by: provider.name.to_string(),
        created,
        description: model.description.clone().or(about.flatten()),
        // The window of a local model bounds its context.
        context_length: window.into_iter().chain(model.context_length).min(),
        capabilities: model.capabilities.clone(),
        tools: window.map(|_| false),
        caps: model.caps,
        prices: ModelPrices::new(config, &id),
        groups: vec![vec![target]],
        quoted_id: quoted(&id).into(),
        id: id.into(),
    }
}

/// An alias; targets that were not found (yet) are left out.
fn of_alias(
    config: &Config,
    alias: &config::Alias,
    models: &BTreeMap<&str, &Model>,
    created: i64,
) -> Model {
    let model_of = |target: &config::Target| {
        models.get(format!("{}/{}", target.provider, target.model).as_str()).copied()
    };
    let first = alias.groups.iter().flatten().find_map(model_of);
    let mut known = alias.groups.iter().flatten().filter_map(model_of).peekable();
    // If one of several targets can call tools, requests find it.
    let has_no_tools = known.peek().is_some() && known.all(|model| model.tools == Some(false));
    // The strictest cap applies, because any of the targets may answer.
    let of_targets = alias.groups.iter().flatten().filter_map(model_of).map(|model| model.caps);
    let of_targets = of_targets.fold(Caps::default(), Caps::stricter);
    let groups = alias.groups.iter().map(|group| {
        let targets = group.iter().filter_map(|target| {
            let found = model_of(target)?.groups.first()?.first()?.clone();
            Some(Target { weight: target.weight, ..found })
        });
        targets.collect()
    });
    Model {
        id: alias.name.as_str().into(),
        quoted_id: quoted(&alias.name).into(),
        owned_by: "alias".to_owned(),
        created,
        description: alias.description.clone(),
        context_length: alias.context_length.or_else(|| first?.context_length),
        capabilities: first.map(|model| model.capabilities.clone()).unwrap_or_default(),
        tools: has_no_tools.then_some(false),
        caps: alias.caps.or(of_targets),
        prices: ModelPrices::new(config, &alias.name),
        groups: groups.collect(),
    }
}

fn quoted(name: &str) -> String {
    Value::from(name).to_string()
}

/// Draws targets without replacement, each in proportion to its weight.
fn shuffle(targets: &mut [&Target]) {
    for start in 0..targets.len().saturating_sub(1) {
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
