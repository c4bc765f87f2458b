//! The models of a provider: which there are, and what is known of each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use settings::{Field, Key, Node, Problem, Reader, Value, quoted};

use super::mapping::Mapping;
use super::store;

/// The most models that one provider may name.
pub const MAX_MODELS: usize = 4096;
/// The longest id of a model, in bytes.
const MAX_ID: usize = 256;
/// The longest description of a model, in characters.
pub(super) const MAX_DESCRIPTION: usize = 2000;
/// The largest conversation that can be configured, in bytes.
const MAX_MESSAGE_BYTES: u64 = 1024 * 1024 * 1024;
/// The largest context that can be configured, in tokens.
pub(super) const MAX_CONTEXT: u64 = 1_000_000_000;

/// A model as its provider offers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// What follows the name of the provider and a `/` in its full id.
    pub id: String,
    /// What the upstream calls it.
    pub upstream_name: String,
    /// Its file, of a model that is one.
    pub path: Option<PathBuf>,
    /// How many tokens it can look at.
    pub context_length: Option<u64>,
    /// What it can be used for.
    pub capabilities: Vec<Capability>,
    /// What one request costs, where it differs from the price list.
    pub price_micros: Option<i64>,
    /// What it is, in words.
    pub description: Option<String>,
    /// How much one request may ask of it.
    pub caps: Caps,
}

/// How much one request may ask of a model; `None` for no cap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Caps {
    /// How many answers (`n`).
    pub n: Option<u32>,
    /// How many tokens an answer may have.
    pub tokens: Option<u64>,
    /// How long the conversation may be, in bytes of JSON.
    pub message_bytes: Option<u64>,
    /// How many images the conversation may have.
    pub images: Option<u32>,
}

impl Caps {
    /// Reads the caps of a model or alias.
    pub(super) fn read(map: &mut Mapping<'_, '_, '_>) -> Self {
        Self {
            n: map.some_whole("max_n", 1..=1000),
            tokens: map.some_whole("max_tokens", 1..=MAX_CONTEXT),
            message_bytes: map.some_whole("max_message_bytes", 1..=MAX_MESSAGE_BYTES),
            images: map.some_whole("max_images", 0..=10_000),
        }
    }

    /// These caps, and where there is none, the other's.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Chat completions.
    Chat,
    /// Responses.
    Responses,
    /// Research jobs.
    Research,
    /// Making images.
    Image,
    /// Making speech.
    Speech,
    /// Searching the web.
    WebSearch,
    /// Reading pages.
    WebFetch,
}

const CAPABILITIES: &[(&str, Capability)] = &[
    ("chat", Capability::Chat),
    ("responses", Capability::Responses),
    ("research", Capability::Research),
    ("image", Capability::Image),
    ("speech", Capability::Speech),
    ("web_search", Capability::WebSearch),
    ("web_fetch", Capability::WebFetch),
];

impl Capability {
    /// Its word in the configuration and on the wire.
    pub fn word(self) -> &'static str {
        CAPABILITIES.iter().find(|(_, known)| *known == self).map_or("chat", |(word, _)| word)
    }
}

impl Model {
    /// A model of which nothing but the id is known.
    pub fn new(id: impl Into<String>) -> Self {
        let id = id.into();
        Self {
            upstream_name: id.clone(),
            id,
            path: None,
            context_length: None,
            capabilities: vec![Capability::Chat, Capability::Responses],
            price_micros: None,
            description: None,
            caps: Caps::default(),
        }
    }
}

/// Reads `models` of a provider: a list of ids, or a mapping from ids to what is known of each.
/// Paths of files start from the folder.
pub(super) fn models(reader: &mut Reader<'_>, field: &Field<'_>, folder: &Path) -> Vec<Model> {
    let read = match &field.node.value {
        Value::Map(_) => {
            let entries = reader.named_values(field, MAX_MODELS, "models").unwrap_or_default();
            let read = |(key, node)| detailed(reader, field, (key, node), folder);
            entries.iter().map(|(key, node)| (key, node)).filter_map(read).collect()
        }
        Value::List(items) if items.len() > MAX_MODELS => {
            reader.refuse(field, format!("must be at most {MAX_MODELS} models"));
            Vec::new()
        }
        Value::List(items) => listed(reader, field, items),
        _ => {
            let kind = field.node.kind();
            let message = format!("must be a list of ids, or a mapping from ids, found {kind}");
            let problem = Problem::error(field.place, message);
            reader.report(&field.key, problem.hint("write `models: [ID, ID]`"));
            Vec::new()
        }
    };
    if matches!(&field.node.value, Value::List(items) if items.is_empty())
        || matches!(&field.node.value, Value::Map(entries) if entries.is_empty())
    {
        let problem = Problem::error(field.place, "names no model");
        reader.report(&field.key, problem.hint("name some, or use `discover: true` instead"));
    }
    read
}

fn listed(reader: &mut Reader<'_>, field: &Field<'_>, items: &[Node]) -> Vec<Model> {
    let mut seen = BTreeSet::new();
    let mut models = Vec::with_capacity(items.len());
    for (index, node) in items.iter().enumerate() {
        let item = field.item(index, node);
        let Some(text) = reader.scalar(&item.key, item.place, node) else {
            reader.refuse(&item, format!("must be the id of a model, found {}", node.kind()));
            continue;
        };
        let id = text.value().trim().to_owned();
        if !is_id(reader, &item, &id) {
            continue;
        }
        if !seen.insert(id.clone()) {
            let problem =
                Problem::error(item.place, format!("{} is named twice", quoted(text.shown())));
            reader.report(&item.key, problem.hint("remove one of them"));
            continue;
        }
        models.push(Model::new(id));
    }
    models
}

fn detailed(
    reader: &mut Reader<'_>,
    field: &Field<'_>,
    (key, node): (&Key, &Node),
    folder: &Path,
) -> Option<Model> {
    let item = Field::within(&field.key, key, node);
    if !is_id(reader, &item, &key.text) {
        return None;
    }
    let mut model = Model::new(&key.text);
    if node.is_null() {
        return Some(model);
    }
    let mut map = Mapping::open(reader, "providers.*.models.*", &item)?;
    if let Some(name) = map.text("name", "the name that the upstream knows") {
        name.value().trim().clone_into(&mut model.upstream_name);
    }
    let path = map.text("path", "the path of a file");
    model.path = path.map(|path| store::placed(&map, folder, path.value()));
    model.context_length = map.some_whole("context_length", 1..=MAX_CONTEXT);
    if let Some(field) = map.take("capabilities") {
        model.capabilities = capabilities(map.reader, &field);
    }
    model.price_micros = map.price("price_micros");
    model.description = description(&mut map);
    model.caps = Caps::read(&mut map);
    map.close();
    Some(model)
}

/// Reads `description` of a model or alias.
pub(super) fn description(map: &mut Mapping<'_, '_, '_>) -> Option<String> {
    let field = map.take("description")?;
    let text = map.reader.string(&field, "a text")?;
    if text.value().chars().count() > MAX_DESCRIPTION {
        map.reader.refuse(&field, format!("must be at most {MAX_DESCRIPTION} characters"));
    }
    Some(text.value().trim().to_owned())
}

fn capabilities(reader: &mut Reader<'_>, field: &Field<'_>) -> Vec<Capability> {
    let items = match &field.node.value {
        Value::List(items) if items.is_empty() => {
            reader.refuse(field, "must name at least one capability");
            return Vec::new();
        }
        Value::List(items) => items.as_slice(),
        _ => return vec![reader.word(field, CAPABILITIES, ("", Capability::Chat))],
    };
    let mut found = BTreeSet::new();
    for (index, node) in items.iter().enumerate() {
        let item = field.item(index, node);
        found.insert(reader.word(&item, CAPABILITIES, ("", Capability::Chat)));
    }
    found.into_iter().collect()
}

/// Whether a text can be the id of a model: it stands in addresses, price lists and logs.
fn is_id(reader: &mut Reader<'_>, field: &Field<'_>, id: &str) -> bool {
    let is_one = (1..=MAX_ID).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_graphic() && !b"*?\"\\".contains(&byte));
    if !is_one {
        let message = format!(
            "the id of a model must be 1 to {MAX_ID} printable ASCII characters without spaces, \
             quotes, `*` and `?`"
        );
        reader.refuse(field, message);
    }
    is_one
}
