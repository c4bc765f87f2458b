//! Where models are: one upstream, how it is reached and how it is looked after.

pub(super) mod local;
mod program;

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri, header};
use settings::{
    Field, Key, Node, Problem, Reader, Seconds, Value, Zero, looks_secret, nearest, quoted,
};

pub use self::local::{GGUF, Local, REPEAT_PENALTIES, TEMPERATURES, TOP_PS};
use super::address;
use super::mapping::{self, Length, Mapping};
use super::model::{self, Capability, Model};
use super::search::{self, SearchKind, SearchProvider};
use super::secret::Secret;
use super::store;

/// The most providers of one file.
pub const MAX_PROVIDERS: usize = 256;
/// The most extra headers of one provider.
pub const MAX_HEADERS: usize = 64;
/// The longest name of a provider, in characters.
const MAX_NAME: usize = 64;

const KINDS: &[(&str, Spoken)] = &[
    ("openai", Spoken::Models(Kind::OpenAi)),
    ("anthropic", Spoken::Models(Kind::Anthropic)),
    ("espeak", Spoken::Models(Kind::Espeak)),
    ("local", Spoken::Models(Kind::Local)),
    ("searxng", Spoken::Results(SearchKind::Searxng)),
    ("brave", Spoken::Results(SearchKind::Brave)),
    ("tavily", Spoken::Results(SearchKind::Tavily)),
    ("index", Spoken::Index),
];
/// Keys that only some kinds have.
const OF_MODELS: &[&str] = &["models", "discover", "weight", "responses", "stream_usage"];
const OF_UPSTREAMS: &[&str] =
    &["api_key", "headers", "timeout", "max_concurrency", "health", "tls_ca_file"];
const OF_FILES: &[&str] = &["folder"];
const OF_INDEXES: &[&str] = &["index_folder", "rescan", "max_file_bytes"];
const OF_LOCAL: &[&str] =
    &["window", "max_waiting", "idle", "system", "temperature", "top_p", "repeat_penalty"];
const OF_PROGRAMS: &[&str] = &["program"];
/// Keys that only those have a use for that are reached over a network.
const OF_REMOTE: &[&str] =
    &["base_url", "api_key", "headers", "responses", "stream_usage", "tls_ca_file"];
const RESPONSES: &[(&str, Responses)] =
    &[("auto", Responses::Auto), ("native", Responses::Native), ("bridged", Responses::Bridged)];
/// Headers that the service itself decides about.
const RESERVED: &[HeaderName] = &[
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::TRANSFER_ENCODING,
    header::TE,
    header::UPGRADE,
    header::EXPECT,
    header::ACCEPT_ENCODING,
];
/// Ends of addresses that are added to the base, not part of it.
const ADDED: &[&str] = &["/chat/completions", "/responses", "/messages", "/models"];

/// One upstream.
#[derive(Debug, Clone)]
pub struct Provider {
    /// Its name: what the full ids of its models begin with.
    pub name: String,
    /// What it speaks.
    pub kind: Kind,
    /// What the paths of its operations are appended to; no `/` at the end of its path. A program
    /// has none that is used.
    pub base_url: Uri,
    /// The program, of a provider that is one.
    pub program: Option<PathBuf>,
    /// How files are used, of a provider that is this process.
    pub local: Option<Local>,
    /// How it knows us.
    pub api_key: Option<Secret>,
    /// Sent with every request to it; values are marked as sensitive.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The models that the file names.
    pub models: Vec<Model>,
    /// Whether it is asked for its models.
    pub discover: bool,
    /// How long it may take.
    pub timeouts: Timeouts,
    /// The most requests to it at once; `None` for any number.
    pub max_concurrency: Option<u32>,
    /// Its share where a target has no weight of its own.
    pub weight: u32,
    /// How responses are brought to it.
    pub responses: Responses,
    /// Whether streams are asked for their usage.
    pub stream_usage: bool,
    /// How it is looked after; `None` for not at all.
    pub health: Option<Health>,
    /// The PEM file of the authorities that its certificate is judged by, instead of the system's.
    pub tls_ca_file: Option<PathBuf>,
}

/// What an upstream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Chat completions as the `OpenAI` API has them.
    OpenAi,
    /// The messages API.
    Anthropic,
    /// The program espeak-ng on this machine.
    Espeak,
    /// Files of models, which this process answers with itself.
    Local,
}

/// Every kind of provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spoken {
    Models(Kind),
    Results(SearchKind),
    Index,
}

/// A provider of either sort.
enum Read {
    Models(Box<Provider>),
    Results(SearchProvider),
}

impl Read {
    fn models(provider: Provider) -> Self {
        Self::Models(Box::new(provider))
    }
}

impl Kind {
    /// Its word in the configuration.
    pub fn word(self) -> &'static str {
        let known = KINDS.iter().find(|(_, kind)| *kind == Spoken::Models(self));
        known.map_or("", |(word, _)| word)
    }

    fn default_base(self) -> Uri {
        Uri::from_static(match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::Espeak | Self::Local => "http://localhost",
        })
    }
}

/// How responses are brought to an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Responses {
    /// As its answers show that it can.
    Auto,
    /// Passed through.
    Native,
    /// As chat completions.
    Bridged,
}

/// How long an upstream may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until it is connected, TLS included.
    pub connect: Duration,
    /// From the request to the first byte of the answer.
    pub first_byte: Duration,
    /// Between two parts of an answer.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_mins(5),
            idle: Duration::from_mins(2),
        }
    }
}

/// How an upstream is looked after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// What is asked for, appended to the base; begins with `/`.
    pub path: String,
    /// How often.
    pub interval: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// After so many failures in a row it is left out.
    pub failures: u32,
    /// For so long at least.
    pub eject: Duration,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            path: "/models".to_owned(),
            interval: Duration::from_secs(30),
            timeout: Duration::from_secs(5),
            failures: 3,
            eject: Duration::from_secs(15),
        }
    }
}

/// Reads `providers`: those of models, and those of results.
pub(super) fn providers(
    root: &mut Mapping<'_, '_, '_>,
    folder: &Path,
) -> (Vec<Provider>, Vec<SearchProvider>) {
    let (mut of_models, mut of_results) = (Vec::new(), Vec::new());
    let Some(field) = root.take("providers") else { return (of_models, of_results) };
    let entries = root.reader.named_values(&field, MAX_PROVIDERS, "providers").unwrap_or_default();
    for (key, node) in entries {
        match provider(root.reader, &field, (key, node), folder) {
            Some(Read::Models(provider)) => of_models.push(*provider),
            Some(Read::Results(provider)) => of_results.push(provider),
            None => {}
        }
    }
    (of_models, of_results)
}

fn provider(
    reader: &mut Reader<'_>,
    above: &Field<'_>,
    (key, node): (&Key, &Node),
    folder: &Path,
) -> Option<Read> {
    let field = Field::within(&above.key, key, node);
    if !is_name(&key.text) {
        let message = format!(
            "the name of a provider must be 1 to {MAX_NAME} letters, digits, dots, underscores and \
             hyphens"
        );
        reader.report(&field.key, Problem::error(key.place, message));
    }
    let mut map = Mapping::open(reader, "providers.*", &field)?;
    map.place = key.place;
    let read = match kind(&mut map) {
        None => {
            // What others have is no mistake where it may be one of them.
            for name in [OF_FILES, OF_INDEXES, OF_LOCAL, OF_PROGRAMS].into_iter().flatten() {
                map.take(name);
            }
            Some(Read::models(of_models(&mut map, &key.text, Kind::OpenAi, folder)))
        }
        Some(spoken @ Spoken::Models(Kind::Espeak)) => {
            not_for(&mut map, spoken, &[OF_REMOTE, OF_FILES, OF_INDEXES, OF_LOCAL]);
            let provider = program::espeak(&mut map, &key.text, folder);
            check_paths(&mut map, &provider);
            Some(Read::models(provider))
        }
        Some(spoken @ Spoken::Models(Kind::Local)) => {
            not_for(&mut map, spoken, &[OF_REMOTE, OF_INDEXES, OF_PROGRAMS]);
            Some(Read::models(local::local(&mut map, &key.text, folder)))
        }
        Some(spoken @ Spoken::Models(models)) => {
            not_for(&mut map, spoken, &[OF_FILES, OF_INDEXES, OF_LOCAL, OF_PROGRAMS]);
            let provider = of_models(&mut map, &key.text, models, folder);
            check_media(&mut map, &provider);
            check_paths(&mut map, &provider);
            Some(Read::models(provider))
        }
        Some(Spoken::Results(results)) => {
            let others = [OF_MODELS, OF_FILES, OF_INDEXES, OF_LOCAL, OF_PROGRAMS];
            not_for(&mut map, Spoken::Results(results), &others);
            let upstream = of_results(&mut map, &key.text, results, folder);
            let upstream = Box::new(upstream);
            Some(Read::Results(SearchProvider::Remote { kind: results, upstream }))
        }
        Some(Spoken::Index) => {
            not_for(&mut map, Spoken::Index, &[OF_MODELS, OF_UPSTREAMS, OF_LOCAL, OF_PROGRAMS]);
            let index = search::index(&mut map, &key.text, folder);
            index.map(|index| Read::Results(SearchProvider::Index(index)))
        }
    };
    map.close();
    read
}

/// Refuses keys that a provider of this kind has no use for.
fn not_for(map: &mut Mapping<'_, '_, '_>, kind: Spoken, keys: &[&[&str]]) {
    let word = KINDS.iter().find(|(_, known)| *known == kind).map_or("", |(word, _)| word);
    for name in keys.iter().copied().flatten() {
        if let Some(field) = map.take(name) {
            let message = format!("is not for providers of the kind `{word}`");
            map.reader.report(&field.key, Problem::error(field.place, message).hint("remove it"));
        }
    }
}

/// Refuses models for media at providers that make none.
fn check_media(map: &mut Mapping<'_, '_, '_>, provider: &Provider) {
    let makes_media = |model: &Model| {
        model.capabilities.iter().any(|one| matches!(one, Capability::Image | Capability::Speech))
    };
    if provider.kind == Kind::Anthropic
        && let Some(model) = provider.models.iter().find(|model| makes_media(model))
    {
        let message = format!("the model `{}` cannot make media", model.id);
        map.refuse(message, "only providers of the kinds `openai` and `espeak` do");
    }
}

/// Refuses files of models at providers that have none.
fn check_paths(map: &mut Mapping<'_, '_, '_>, provider: &Provider) {
    if let Some(model) = provider.models.iter().find(|model| model.path.is_some()) {
        let message = format!("the model `{}` has a `path`", model.id);
        map.refuse(message, "only models of providers of the kind `local` are files");
    }
}

/// An upstream that has models.
fn of_models(map: &mut Mapping<'_, '_, '_>, name: &str, kind: Kind, folder: &Path) -> Provider {
    let base = map.take("base_url");
    let (api_key, headers) = credentials(map, base.as_ref());
    let base_url = base.and_then(|field| base_url(map.reader, &field, api_key.is_some()));
    let models = map.take("models");
    let discover = map.flag("discover", false);
    if models.is_none() && !discover {
        map.refuse(
            "has neither `models` nor `discover`",
            "name its `models`, or write `discover: true`",
        );
    }
    Provider {
        name: name.to_owned(),
        kind,
        base_url: base_url.unwrap_or_else(|| kind.default_base()),
        api_key,
        headers,
        program: None,
        local: None,
        models: models.map(|field| model::models(map.reader, &field, folder)).unwrap_or_default(),
        discover,
        timeouts: timeouts(map, Timeouts::default()),
        max_concurrency: map.some_whole("max_concurrency", 1..=1_000_000),
        weight: map.whole("weight", 1..=MAX_WEIGHT, 1),
        responses: map.word("responses", RESPONSES, Responses::Auto),
        stream_usage: map.flag("stream_usage", true),
        health: health(map, Health::default()),
        tls_ca_file: tls_ca_file(map, folder),
    }
}

/// An upstream that has results of searches.
fn of_results(
    map: &mut Mapping<'_, '_, '_>,
    name: &str,
    kind: SearchKind,
    folder: &Path,
) -> Provider {
    let base = map.take("base_url");
    let default = kind.default_base();
    if base.is_none() && default.is_none() {
        map.refuse("has no `base_url`", "write the address of the server");
    }
    // Where there is no default, the server may let everybody in.
    let credentials = match &default {
        Some(_) => credentials(map, base.as_ref()),
        None => credentials_if_any(map).1,
    };
    let has_key = credentials.0.is_some();
    let base_url = base.and_then(|field| base_url(map.reader, &field, has_key));
    let (api_key, headers) = kind.place_key(credentials);
    Provider {
        name: name.to_owned(),
        kind: Kind::OpenAi,
        base_url: base_url.or(default).unwrap_or_default(),
        program: None,
        local: None,
        api_key,
        headers,
        models: Vec::new(),
        discover: false,
        timeouts: timeouts(map, search::TIMEOUTS),
        max_concurrency: map.some_whole("max_concurrency", 1..=1_000_000),
        weight: 1,
        responses: Responses::Auto,
        stream_usage: false,
        health: health(map, kind.health()),
        tls_ca_file: tls_ca_file(map, folder),
    }
}

/// The greatest weight of a provider or target.
pub(super) const MAX_WEIGHT: u32 = 1_000_000;

/// Whether a text can be the name of a provider: what stands before the first `/` of an id.
fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn kind(map: &mut Mapping<'_, '_, '_>) -> Option<Spoken> {
    let in_build = || KINDS.iter().filter(|(_, kind)| is_in_build(*kind));
    let all = in_build().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let Some(field) = map.take("kind") else {
        map.refuse("has no `kind`", format!("allowed are {all}"));
        return None;
    };
    let text = map.reader.string(&field, "a kind of provider")?;
    let word = text.value().trim().to_ascii_lowercase();
    let known = KINDS.iter().find(|(known, _)| *known == word);
    if let Some((_, kind)) = known.filter(|(_, kind)| is_in_build(*kind)) {
        return Some(*kind);
    }
    let problem = if known.is_some() {
        Problem::error(field.place, format!("`{word}` is not in this build"))
            .hint("build the program with its feature `local-model`, or remove the provider")
    } else {
        let message = format!("found {}, allowed are {all}", quoted(text.shown()));
        let hint = match nearest(&word, in_build().map(|(known, _)| *known)) {
            Some((_, known)) => format!("did you mean `{known}`?"),
            None => "`openai` is for every server that speaks the OpenAI API".to_owned(),
        };
        Problem::error(field.place, message).hint(hint)
    };
    map.reader.report(&field.key, problem);
    None
}

/// Whether the program was built with what a kind needs.
fn is_in_build(kind: Spoken) -> bool {
    kind != Spoken::Models(Kind::Local) || cfg!(feature = "local-model")
}

/// What an upstream knows us by.
pub(super) type Credentials = (Option<Secret>, Vec<(HeaderName, HeaderValue)>);

/// How the upstream knows us. The default addresses let nobody in without a key.
fn credentials(map: &mut Mapping<'_, '_, '_>, base: Option<&Field<'_>>) -> Credentials {
    let (is_given, (api_key, headers)) = credentials_if_any(map);
    if base.is_none() && !is_given && headers.is_empty() {
        map.refuse(
            "has neither `base_url` nor `api_key`",
            "the default address needs a key; write `api_key: ${NAME}`",
        );
    }
    (api_key, headers)
}

/// The same, and whether a key was given, where the upstream may let everybody in.
fn credentials_if_any(map: &mut Mapping<'_, '_, '_>) -> (bool, Credentials) {
    let key = map.take("api_key");
    let is_given = key.is_some();
    let api_key = key.and_then(|field| mapping::secret(map.reader, &field, Length::Any));
    (is_given, (api_key, headers(map, is_given)))
}

fn base_url(reader: &mut Reader<'_>, field: &Field<'_>, has_key: bool) -> Option<Uri> {
    let uri = mapping::address(reader, field)?;
    if let Some(added) = ADDED.iter().find(|added| uri.path().ends_with(*added)) {
        let message = format!("must not end with `{added}`, which is added to it");
        let problem = Problem::error(field.place, message);
        reader.report(&field.key, problem.hint("end it with the version, as in `…/v1`"));
    }
    if has_key && address::is_open(&uri) {
        let message = "`api_key` is sent unencrypted, since the address is not https";
        reader.warn(field, message);
    }
    Some(uri)
}

fn headers(map: &mut Mapping<'_, '_, '_>, has_key: bool) -> Vec<(HeaderName, HeaderValue)> {
    let Some(field) = map.take("headers") else { return Vec::new() };
    let entries = map.reader.named_values(&field, MAX_HEADERS, "headers").unwrap_or_default();
    let mut headers: Vec<(HeaderName, HeaderValue)> = Vec::with_capacity(entries.len());
    for (key, node) in entries {
        let item = Field::within(&field.key, key, node);
        let Ok(name) = HeaderName::from_bytes(key.text.as_bytes()) else {
            map.reader.refuse(&item, "this name cannot be the name of a header");
            continue;
        };
        let is_credential = name == header::AUTHORIZATION || name.as_str() == "x-api-key";
        if RESERVED.contains(&name) {
            map.reader.refuse(&item, "is set by the service itself and cannot be given");
        } else if is_credential && has_key {
            let problem = Problem::error(item.place, "is given beside `api_key`, which sets it");
            map.reader.report(&item.key, problem.hint("remove one of them"));
        } else if headers.iter().any(|(other, _)| *other == name) {
            map.reader.refuse(&item, "is given twice; case does not count");
        } else if let Some(value) = header_value(map.reader, &item, &key.text) {
            headers.push((name, value));
        }
    }
    headers
}

fn header_value(reader: &mut Reader<'_>, field: &Field<'_>, name: &str) -> Option<HeaderValue> {
    let Some(text) = reader.scalar(&field.key, field.place, field.node) else {
        reader.refuse(field, format!("must be a string, found {}", field.node.kind()));
        return None;
    };
    if looks_secret(name) {
        mapping::warn_of_plain_text(reader, field, &text);
    }
    let text = reader.secrets.named(name, text);
    let Ok(mut value) = HeaderValue::from_str(text.value().trim()) else {
        reader.refuse(field, "the value holds a character that a header cannot carry");
        return None;
    };
    value.set_sensitive(true);
    Some(value)
}

/// One number is for the first byte and for silence; connecting never takes longer than that.
fn timeouts(map: &mut Mapping<'_, '_, '_>, default: Timeouts) -> Timeouts {
    let Some(field) = map.take("timeout") else { return default };
    if !matches!(field.node.value, Value::Map(_)) {
        let rule = Seconds { default: default.first_byte, zero: Zero::Refused };
        let time = map.reader.seconds(Some(field), &rule);
        let connect = default.connect.min(time);
        return Timeouts { connect, first_byte: time, idle: time };
    }
    let Some(mut map) = Mapping::open(map.reader, "providers.*.timeout", &field) else {
        return default;
    };
    let timeouts = Timeouts {
        connect: map.seconds("connect", default.connect),
        first_byte: map.seconds("first_byte", default.first_byte),
        idle: map.seconds("idle", default.idle),
    };
    map.close();
    timeouts
}

fn health(map: &mut Mapping<'_, '_, '_>, default: Health) -> Option<Health> {
    let Some(field) = map.take("health") else { return Some(default) };
    if let Value::Bool(wanted, _) = field.node.value {
        return wanted.then_some(default);
    }
    let mut map = Mapping::open(map.reader, "providers.*.health", &field)?;
    let path = map.take("path").and_then(|field| {
        let path = map.reader.string(&field, "a path such as `/models`")?.value().trim().to_owned();
        let is_path = path.starts_with('/') && path.parse::<Uri>().is_ok();
        if !is_path {
            map.reader.refuse(&field, "must be a path that begins with `/`, such as `/models`");
        }
        is_path.then_some(path)
    });
    let health = Health {
        path: path.unwrap_or(default.path),
        interval: map.seconds("interval", default.interval),
        timeout: map.seconds("timeout", default.timeout),
        failures: map.whole("failures", 1..=1000, default.failures),
        eject: map.seconds("eject", default.eject),
    };
    map.close();
    Some(health)
}

fn tls_ca_file(map: &mut Mapping<'_, '_, '_>, folder: &Path) -> Option<PathBuf> {
    let path = map.text("tls_ca_file", "the path of a PEM file")?;
    Some(store::placed(map, folder, path.value()))
}
