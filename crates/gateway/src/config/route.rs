//! Other names for models: one model, several in the order they are tried, or several by weight.
//!
//! An alias may name aliases. What remains is groups of models: the first group is tried first, and
//! within a group the weights decide.

use std::collections::{BTreeMap, BTreeSet};

use settings::{Field, Key, Node, Problem, Reader, Value, nearest, quoted};

use super::mapping::Mapping;
use super::model::{self, MAX_CONTEXT};
use super::price::Listed;
use super::provider::{MAX_WEIGHT, Provider};

/// The most aliases of one file.
pub const MAX_ALIASES: usize = 1024;
/// The most models that one alias may lead to.
pub const MAX_TARGETS: usize = 64;
/// How many aliases may stand one behind the other.
const MAX_DEPTH: usize = 16;
/// The most names that a hint lists.
const MAX_NAMED: usize = 8;
/// The longest name of an alias, in characters.
const MAX_NAME: usize = 128;

/// Another name for models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The name that clients give.
    pub name: String,
    /// What it leads to: groups in the order they are tried. None is empty.
    pub groups: Vec<Vec<Target>>,
    /// What one request costs, where it differs from the price list.
    pub price_micros: Option<i64>,
    /// What it is, in words.
    pub description: Option<String>,
    /// How many tokens can be looked at.
    pub context_length: Option<u64>,
}

/// A model that an alias leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The name of its provider.
    pub provider: String,
    /// Its id at that provider.
    pub model: String,
    /// Its share among those of its group.
    pub weight: u32,
}

/// An alias as it was written.
pub(super) struct Written<'n> {
    alias: Alias,
    place: settings::Place,
    targets: Vec<(Field<'n>, String, Option<u32>)>,
    order: Order,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// One after the other.
    Fallback,
    /// By weight.
    Weighted,
}

/// Reads `models`.
pub(super) fn written<'n>(root: &mut Mapping<'_, '_, 'n>) -> Vec<Written<'n>> {
    let Some(field) = root.take("models") else { return Vec::new() };
    let entries = root.reader.named_values(&field, MAX_ALIASES, "aliases").unwrap_or_default();
    entries.iter().filter_map(|(key, node)| alias(root.reader, &field, key, node)).collect()
}

fn alias<'n>(
    reader: &mut Reader<'_>,
    above: &Field<'_>,
    key: &'n Key,
    node: &'n Node,
) -> Option<Written<'n>> {
    let field = Field::within(&above.key, key, node);
    let is_name = (1..=MAX_NAME).contains(&key.text.len())
        && key.text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/:".contains(&byte));
    if !is_name {
        let message = format!(
            "the name of an alias must be 1 to {MAX_NAME} letters, digits and characters of `._-/:`"
        );
        reader.report(&field.key, Problem::error(key.place, message));
    }
    let name = key.text.clone();
    let mut alias = Alias {
        name,
        groups: Vec::new(),
        price_micros: None,
        description: None,
        context_length: None,
    };
    let (targets, order) = match &field.node.value {
        Value::Map(_) => {
            let mut map = Mapping::open(reader, "models.*", &field)?;
            map.place = key.place;
            let targets = map.take("targets");
            alias.price_micros = map.price("price_micros");
            alias.description = model::description(&mut map);
            alias.context_length = map.some_whole("context_length", 1..=MAX_CONTEXT);
            if targets.is_none() {
                map.refuse("has no `targets`", "name the models that it leads to");
            }
            let targets = targets.map(|field| targets_of(map.reader, &field));
            map.close();
            targets?
        }
        Value::List(_) => targets_of(reader, &field),
        _ => (target(reader, &field, None).into_iter().collect(), Order::Fallback),
    };
    Some(Written { alias, place: key.place, targets, order })
}

/// A list of names, tried in their order; or a list of mappings, chosen from by weight.
fn targets_of<'n>(
    reader: &mut Reader<'_>,
    field: &Field<'n>,
) -> (Vec<(Field<'n>, String, Option<u32>)>, Order) {
    let Value::List(items) = &field.node.value else {
        return (target(reader, field, None).into_iter().collect(), Order::Fallback);
    };
    if items.is_empty() || items.len() > MAX_TARGETS {
        reader.refuse(field, format!("must name 1 to {MAX_TARGETS} models"));
        return (Vec::new(), Order::Fallback);
    }
    let weighted = items.iter().filter(|item| matches!(item.value, Value::Map(_))).count();
    if weighted != 0 && weighted != items.len() {
        let message = "names and mappings stand in one list";
        let problem = Problem::error(field.place, message);
        reader.report(&field.key, problem.hint(
            "write names, which are tried in their order, or mappings with `model` and `weight`",
        ));
        return (Vec::new(), Order::Fallback);
    }
    let order = if weighted == 0 { Order::Fallback } else { Order::Weighted };
    let mut targets: Vec<(Field<'n>, String, Option<u32>)> = Vec::with_capacity(items.len());
    for (index, node) in items.iter().enumerate() {
        let item = field.item(index, node);
        let read = match order {
            Order::Fallback => target(reader, &item, None),
            Order::Weighted => weighted_target(reader, &item),
        };
        let Some(read) = read else { continue };
        if targets.iter().any(|(_, other, _)| *other == read.1) {
            let problem = Problem::error(item.place, format!("{} is named twice", quoted(&read.1)));
            reader.report(&read.0.key, problem.hint("remove one of them"));
            continue;
        }
        targets.push(read);
    }
    (targets, order)
}

fn weighted_target<'n>(
    reader: &mut Reader<'_>,
    item: &Field<'n>,
) -> Option<(Field<'n>, String, Option<u32>)> {
    let mut map = Mapping::open(reader, "models.*.targets.*", item)?;
    let (model, weight) = (map.take("model"), map.some_whole("weight", 1..=MAX_WEIGHT));
    if model.is_none() {
        map.refuse("has no `model`", "name a model as `<provider>/<model>`");
    }
    let read = model.and_then(|field| target(map.reader, &field, weight));
    map.close();
    read
}

fn target<'n>(
    reader: &mut Reader<'_>,
    field: &Field<'n>,
    weight: Option<u32>,
) -> Option<(Field<'n>, String, Option<u32>)> {
    let name = reader.string(field, "a model as `<provider>/<model>`, or an alias")?;
    Some((field.clone(), name.value().trim().to_owned(), weight))
}

/// Leads every alias to models that exist.
pub(super) fn resolve(
    reader: &mut Reader<'_>,
    written: &[Written<'_>],
    providers: &[Provider],
) -> Vec<Alias> {
    for one in written {
        refuse_names_of_providers(reader, one, providers);
    }
    let index = written.iter().map(|one| (one.alias.name.as_str(), one)).collect();
    let mut resolver =
        Resolver { reader, index, providers, done: BTreeMap::new(), path: Vec::new() };
    let aliases = written.iter().map(|one| {
        let groups = resolver.groups(one).unwrap_or_default();
        Alias { groups, ..one.alias.clone() }
    });
    aliases.collect()
}

/// An alias must not hide the models of a provider.
fn refuse_names_of_providers(
    reader: &mut Reader<'_>,
    written: &Written<'_>,
    providers: &[Provider],
) {
    let name = &written.alias.name;
    let before = name.split_once('/').map(|(before, _)| before);
    if let Some(provider) = providers.iter().find(|one| before == Some(one.name.as_str())) {
        let message = format!(
            "begins with the name of the provider `{}` and would hide its model",
            provider.name
        );
        let problem = Problem::error(written.place, message);
        reader.report(&format!("models.{name}"), problem.hint("choose another name"));
    }
}

struct Resolver<'r, 's, 'w, 'n> {
    reader: &'r mut Reader<'s>,
    index: BTreeMap<&'w str, &'w Written<'n>>,
    providers: &'w [Provider],
    /// Nothing where there was an error, which is told only once.
    done: BTreeMap<&'w str, Option<Vec<Vec<Target>>>>,
    /// The aliases on the way to where we are.
    path: Vec<&'w str>,
}

impl<'w, 'n> Resolver<'_, '_, 'w, 'n> {
    fn groups(&mut self, written: &'w Written<'n>) -> Option<Vec<Vec<Target>>> {
        let name = written.alias.name.as_str();
        if let Some(done) = self.done.get(name) {
            return done.clone();
        }
        self.path.push(name);
        let groups = match written.order {
            Order::Fallback => self.in_order(written),
            Order::Weighted => self.by_weight(written),
        };
        self.path.pop();
        let groups = groups.filter(|groups| !groups.is_empty());
        let count = groups.iter().flatten().map(Vec::len).sum::<usize>();
        let is_too_long = count > MAX_TARGETS;
        if is_too_long {
            let message = format!("leads to {count} models, at most {MAX_TARGETS} are allowed");
            let problem = Problem::error(written.place, message);
            self.reader.report(&format!("models.{name}"), problem);
        }
        let groups = groups.filter(|_| !is_too_long);
        self.done.insert(name, groups.clone());
        groups
    }

    fn in_order(&mut self, written: &'w Written<'n>) -> Option<Vec<Vec<Target>>> {
        let mut groups: Vec<Vec<Target>> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut is_whole = true;
        for (field, name, _) in &written.targets {
            let Some(found) = self.one(field, name) else {
                is_whole = false;
                continue;
            };
            // A model that was tried already is not tried again.
            for mut group in found {
                group.retain(|target| seen.insert((target.provider.clone(), target.model.clone())));
                groups.extend((!group.is_empty()).then_some(group));
            }
        }
        is_whole.then_some(groups)
    }

    fn by_weight(&mut self, written: &'w Written<'n>) -> Option<Vec<Vec<Target>>> {
        let mut group = Vec::new();
        let mut is_whole = true;
        for (field, name, weight) in &written.targets {
            let found = self.one(field, name);
            let found = found.map(|groups| groups.into_iter().flatten().collect::<Vec<_>>());
            match found.as_deref() {
                Some([target]) => {
                    let weight = weight.unwrap_or(target.weight);
                    group.push(Target { weight, ..target.clone() });
                }
                Some(_) => {
                    let message = format!("{} leads to several models", quoted(name));
                    let problem = Problem::error(field.place, message);
                    let hint = "a target with a weight must be one model";
                    self.reader.report(&field.key, problem.hint(hint));
                    is_whole = false;
                }
                None => is_whole = false,
            }
        }
        is_whole.then(|| vec![group])
    }

    /// What a name leads to: an alias first, else a model of a provider.
    fn one(&mut self, field: &Field<'_>, name: &str) -> Option<Vec<Vec<Target>>> {
        if let Some(at) = self.path.iter().position(|above| *above == name) {
            let mut way = self.path[at..].to_vec();
            way.push(self.path[at]);
            let message = format!("the aliases lead round in a circle: {}", way.join(" → "));
            let problem = Problem::error(field.place, message);
            self.reader.report(&field.key, problem.hint("let one of them name a model"));
            return None;
        }
        if let Some(written) = self.index.get(name) {
            if self.path.len() == MAX_DEPTH {
                let message = format!("more than {MAX_DEPTH} aliases stand one behind the other");
                self.reader.report(&field.key, Problem::error(field.place, message));
                return None;
            }
            return self.groups(written);
        }
        match find(self.providers, name) {
            Ok(target) => Some(vec![vec![target]]),
            Err(message) => {
                let aliases = self.index.keys().copied();
                let aliases = aliases.filter(|alias| !self.path.contains(alias));
                let hint = suggestion(self.providers, aliases, name);
                let problem = Problem::error(field.place, message).hint(hint);
                self.reader.report(&field.key, problem);
                None
            }
        }
    }
}

/// The model of a full id, or why there is none.
fn find(providers: &[Provider], id: &str) -> Result<Target, String> {
    let shown = quoted(id);
    let Some((name, model)) = id.split_once('/') else {
        return Err(format!("{shown} is neither an alias nor a full id `<provider>/<model>`"));
    };
    let Some(provider) = providers.iter().find(|provider| provider.name == name) else {
        return Err(format!("there is no provider {} for {shown}", quoted(name)));
    };
    let is_offered = provider.models.iter().any(|known| known.id == model);
    if model.is_empty() || (!is_offered && !provider.discover) {
        return Err(format!("the provider `{name}` names no model {}", quoted(model)));
    }
    let (provider, weight) = (provider.name.clone(), provider.weight);
    Ok(Target { provider, model: model.to_owned(), weight })
}

/// The name that was probably meant.
fn suggestion<'a>(
    providers: &[Provider],
    aliases: impl Iterator<Item = &'a str>,
    name: &str,
) -> String {
    let ids = providers.iter().flat_map(|provider| {
        provider.models.iter().map(|model| format!("{}/{}", provider.name, model.id))
    });
    let known: Vec<String> = ids.chain(aliases.map(str::to_owned)).collect();
    // A model without its provider is the most frequent slip.
    let short = known.iter().find(|id| id.split_once('/').is_some_and(|(_, model)| model == name));
    let found = short
        .map(String::as_str)
        .or_else(|| nearest(name, known.iter().map(String::as_str)).map(|(_, known)| known));
    match found {
        Some(found) => format!("did you mean `{found}`?"),
        None if providers.is_empty() => "there are no `providers`".to_owned(),
        None => {
            let of = name.split_once('/').map(|(provider, _)| provider);
            match providers.iter().find(|provider| of == Some(provider.name.as_str())) {
                Some(one) => format!("it has {}", shortly(one.models.iter().map(|one| &one.id))),
                None => format!("there is {}", shortly(providers.iter().map(|one| &one.name))),
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

/// Reports prices of models that do not exist: nobody would ever pay them.
pub(super) fn check_prices(
    reader: &mut Reader<'_>,
    listed: &[Listed<'_>],
    providers: &[Provider],
    aliases: &[Alias],
) {
    let discovers = providers.iter().any(|provider| provider.discover);
    for Listed { field, pattern } in listed {
        let name = pattern.as_str();
        if aliases.iter().any(|alias| alias.name == name) {
            continue;
        }
        if !pattern.is_glob() {
            if let Err(message) = find(providers, name) {
                let hint = suggestion(providers, aliases.iter().map(|one| one.name.as_str()), name);
                reader.report(&field.key, Problem::error(field.place, message).hint(hint));
            }
            continue;
        }
        let matches = providers.iter().any(|provider| {
            provider
                .models
                .iter()
                .any(|model| pattern.matches(&format!("{}/{}", provider.name, model.id)))
        });
        if !matches && !discovers {
            reader.report(&field.key, Problem::warning(field.place, "matches no model"));
        }
    }
}
