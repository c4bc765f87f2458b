//! Resolves aliases and prices to existing models.

use std::collections::{BTreeMap, BTreeSet};

use settings::{Problem, Reader, nearest, quoted};

use super::super::price::Prices;
use super::super::provider::Provider;
use super::{Alias, MAX_TARGETS, Target, Written, WrittenTarget};

/// Maximum length of a chain of aliases.
const MAX_DEPTH: usize = 16;
/// Maximum names in a hint.
const MAX_NAMED: usize = 8;

/// Resolves every alias to existing models.
pub(in crate::config) fn resolve(
    reader: &mut Reader<'_>,
    written: &[Written],
    providers: &[Provider],
) -> Vec<Alias> {
    for one in written {
        refuse_names_of_providers(reader, one, providers);
    }
    let index = written.iter().map(|one| (one.alias.name.as_str(), one)).collect();
    let mut resolver = Resolver {
        reader,
        index,
        providers,
        done: BTreeMap::new(),
        depths: BTreeMap::new(),
        path: Vec::new(),
    };
    let aliases = written.iter().map(|one| {
        let groups = resolver.groups(one).unwrap_or_default();
        Alias { groups, ..one.alias.clone() }
    });
    aliases.collect()
}

/// An alias must not hide the models of a provider.
fn refuse_names_of_providers(reader: &mut Reader<'_>, written: &Written, providers: &[Provider]) {
    let name = &written.alias.name;
    let before = name.split_once('/').map(|(before, _)| before);
    if let Some(provider) = providers.iter().find(|one| before == Some(one.name.as_str())) {
        let message = format!(
            "starts with the name of the provider `{}` and would hide its model",
            provider.name
        );
        let problem = Problem::error(written.position, message);
        reader.report(&format!("models.{name}"), problem.hint("choose another name"));
    }
}

struct Resolver<'r, 's, 'w> {
    reader: &'r mut Reader<'s>,
    index: BTreeMap<&'w str, &'w Written>,
    providers: &'w [Provider],
    /// `None` after an error, which is reported only once.
    done: BTreeMap<&'w str, Option<Vec<Vec<Target>>>>,
    /// Length of the longest chain of aliases behind each resolved one.
    depths: BTreeMap<&'w str, usize>,
    /// Aliases being resolved.
    path: Vec<&'w str>,
}

impl<'w> Resolver<'_, '_, 'w> {
    fn groups(&mut self, written: &'w Written) -> Option<Vec<Vec<Target>>> {
        let name = written.alias.name.as_str();
        if let Some(done) = self.done.get(name) {
            return done.clone();
        }
        self.path.push(name);
        let groups =
            if written.is_weighted { self.by_weight(written) } else { self.in_order(written) };
        self.path.pop();
        let groups = groups.filter(|groups| !groups.is_empty());
        let count = groups.iter().flatten().map(Vec::len).sum::<usize>();
        let is_too_long = count > MAX_TARGETS;
        if is_too_long {
            let message = format!("resolves to {count} models; at most {MAX_TARGETS} are allowed");
            let problem = Problem::error(written.position, message);
            self.reader.report(&format!("models.{name}"), problem);
        }
        let groups = groups.filter(|_| !is_too_long);
        let below = written.targets.iter().filter_map(|target| self.depths.get(target.name()));
        let depth = 1 + below.max().copied().unwrap_or_default();
        self.depths.insert(name, depth);
        self.done.insert(name, groups.clone());
        groups
    }

    fn in_order(&mut self, written: &'w Written) -> Option<Vec<Vec<Target>>> {
        // All of them, so that all problems are reported.
        let found: Vec<_> = written.targets.iter().map(|named| self.one(named)).collect();
        let mut groups = found.into_iter().collect::<Option<Vec<_>>>()?.concat();
        let mut seen = BTreeSet::new();
        for group in &mut groups {
            // Skip a model that was tried already.
            group.retain(|target| seen.insert((target.provider.clone(), target.model.clone())));
        }
        groups.retain(|group| !group.is_empty());
        Some(groups)
    }

    fn by_weight(&mut self, written: &'w Written) -> Option<Vec<Vec<Target>>> {
        let weighted = |named: &'w WrittenTarget| {
            if let [target] = self.one(named)?.concat().as_slice() {
                let weight = named.weight.unwrap_or(target.weight);
                return Some(Target { weight, ..target.clone() });
            }
            let message = format!("{} resolves to several models", named.shown());
            self.refuse(named, message, "a weighted target must be a single model");
            None
        };
        let group: Vec<_> = written.targets.iter().map(weighted).collect();
        group.into_iter().collect::<Option<_>>().map(|group| vec![group])
    }

    fn refuse(&mut self, named: &WrittenTarget, message: String, hint: impl Into<String>) {
        let problem = Problem::error(named.model.position, message).hint(hint);
        self.reader.report(&named.model.key, problem);
    }

    /// Resolves a name: an alias first, else a model of a provider.
    fn one(&mut self, named: &'w WrittenTarget) -> Option<Vec<Vec<Target>>> {
        let name = named.name();
        if let Some(at) = self.path.iter().position(|above| *above == name) {
            let mut way = self.path[at..].to_vec();
            way.push(self.path[at]);
            let message = format!("the aliases form a cycle: {}", way.join(" → "));
            self.refuse(named, message, "make one of them name a model");
            return None;
        }
        if let Some(written) = self.index.get(name) {
            let below = self.depths.get(name).copied().unwrap_or(1);
            if self.path.len() + below > MAX_DEPTH {
                let message = format!("more than {MAX_DEPTH} aliases are chained");
                self.refuse(named, message, "name models instead of aliases");
                return None;
            }
            return self.groups(written);
        }
        match find(self.providers, name) {
            Ok(target) => Some(vec![vec![target]]),
            Err(missing) => {
                let aliases = self.index.keys().copied();
                let aliases = aliases.filter(|alias| !self.path.contains(alias));
                let hint = suggestion(self.providers, aliases, name);
                self.refuse(named, format!("{} {missing}", named.shown()), hint);
                None
            }
        }
    }
}

/// The model of a full id, or the error text after its name.
fn find(providers: &[Provider], id: &str) -> Result<Target, &'static str> {
    let Some((name, model)) = id.split_once('/') else {
        return Err("is not an alias or a full id `<provider>/<model>`");
    };
    let Some(provider) = providers.iter().find(|provider| provider.name == name) else {
        return Err("names an unknown provider");
    };
    let is_named = provider.models.iter().any(|known| known.id == model);
    if model.is_empty() || (!is_named && !provider.discover) {
        return Err("names a model that its provider does not list");
    }
    let (provider, weight) = (provider.name.clone(), provider.weight);
    Ok(Target { provider, model: model.to_owned(), weight })
}

/// The closest known name.
fn suggestion<'a>(
    providers: &[Provider],
    aliases: impl Iterator<Item = &'a str>,
    name: &str,
) -> String {
    let ids = providers.iter().flat_map(|provider| {
        provider.models.iter().map(|model| format!("{}/{}", provider.name, model.id))
    });
    let known: Vec<String> = ids.chain(aliases.map(str::to_owned)).collect();
    // The most common mistake is a model without its provider.
    let short = known.iter().find(|id| id.split_once('/').is_some_and(|(_, model)| model == name));
    let found = short
        .map(String::as_str)
        .or_else(|| nearest(name, known.iter().map(String::as_str)).map(|(_, known)| known));
    match found {
        Some(found) => format!("did you mean `{found}`?"),
        None if providers.is_empty() => "no `providers` are configured".to_owned(),
        None => {
            let of = name.split_once('/').map(|(provider, _)| provider);
            match providers.iter().find(|provider| of == Some(provider.name.as_str())) {
                Some(one) => {
                    format!("its models are {}", shortly(one.models.iter().map(|one| &one.id)))
                }
                None => {
                    format!("known providers: {}", shortly(providers.iter().map(|one| &one.name)))
                }
            }
        }
    }
}

/// The first few of some names.
fn shortly<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = if names.len() > MAX_NAMED { ", …" } else { "" };
    let names: Vec<_> = names.take(MAX_NAMED).map(|name| format!("`{name}`")).collect();
    names.join(", ") + more
}

/// Reports prices of models that do not exist, which would never apply.
pub(in crate::config) fn check_prices(
    reader: &mut Reader<'_>,
    prices: &Prices,
    providers: &[Provider],
    aliases: &[Alias],
) {
    let discovers = providers.iter().any(|provider| provider.discover);
    for (pattern, _) in prices.models() {
        let name = pattern.as_str();
        let key = format!("prices.models.{name}");
        if aliases.iter().any(|alias| alias.name == name) {
            continue;
        }
        if !pattern.is_glob() {
            if let Err(missing) = find(providers, name) {
                let hint = suggestion(providers, aliases.iter().map(|one| one.name.as_str()), name);
                let message = format!("{} {missing}", quoted(name));
                reader.refuse_key(&key, message, hint.as_str());
            }
            continue;
        }
        let matches = providers.iter().any(|provider| {
            let mut models = provider.models.iter();
            models.any(|model| pattern.matches(&format!("{}/{}", provider.name, model.id)))
        });
        if !matches && !discovers {
            reader.warn_of_key(&key, "matches no model", None);
        }
    }
}
