//! Other names for models: one model, several in the order they are tried, or several by weight.
//!
//! An alias may name aliases. What remains is groups of models: the first group is tried first, and
//! within a group the weights decide.

mod resolve;

use settings::{Field, Key, Node, Place, Problem, Reader, Value, quoted};

use super::mapping::Mapping;
use super::model::{self, Caps, MAX_CONTEXT};
use super::provider::MAX_WEIGHT;

pub(super) use resolve::{check_prices, resolve};

/// The most aliases of one file.
pub const MAX_ALIASES: usize = 1024;
/// The most models that one alias may lead to.
pub const MAX_TARGETS: usize = 64;
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
    /// How much one request may ask of it; where there is no cap, that of its models applies.
    pub caps: Caps,
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
    place: Place,
    targets: Vec<Named<'n>>,
    order: Order,
}

/// A target as it was written.
struct Named<'n> {
    field: Field<'n>,
    name: String,
    /// The name as it may stand in a message: what a variable became does not.
    shown: String,
    weight: Option<u32>,
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
        caps: Caps::default(),
    };
    let (targets, order) = match &field.node.value {
        Value::Map(_) => {
            let mut map = Mapping::open(reader, "models.*", &field)?;
            map.place = key.place;
            let targets = map.take("targets");
            alias.price_micros = map.price("price_micros");
            alias.description = model::description(&mut map);
            alias.context_length = map.some_whole("context_length", 1..=MAX_CONTEXT);
            alias.caps = Caps::read(&mut map);
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
fn targets_of<'n>(reader: &mut Reader<'_>, field: &Field<'n>) -> (Vec<Named<'n>>, Order) {
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
    let mut targets: Vec<Named<'n>> = Vec::with_capacity(items.len());
    for (index, node) in items.iter().enumerate() {
        let item = field.item(index, node);
        let read = match order {
            Order::Fallback => target(reader, &item, None),
            Order::Weighted => weighted_target(reader, &item),
        };
        let Some(read) = read else { continue };
        if targets.iter().any(|other| other.name == read.name) {
            let problem = Problem::error(item.place, format!("{} is named twice", read.shown));
            reader.report(&read.field.key, problem.hint("remove one of them"));
            continue;
        }
        targets.push(read);
    }
    (targets, order)
}

fn weighted_target<'n>(reader: &mut Reader<'_>, item: &Field<'n>) -> Option<Named<'n>> {
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
) -> Option<Named<'n>> {
    let text = reader.string(field, "a model as `<provider>/<model>`, or an alias")?;
    let (name, shown) = (text.value().trim().to_owned(), quoted(text.shown().trim()));
    Some(Named { field: field.clone(), name, shown, weight })
}
