//! The `providers` section: one mapping for all kinds of providers, converted by kind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{Problem, Reader, Seconds, Text, looks_secret, section};

use super::super::address::{self, Address};
use super::super::model::{Capability, Model, ModelsFile};
use super::super::search::{self, Index, SearchKind, SearchProvider};
use super::super::secret::{Secret, warn_of_plain_text};
use super::{
    Credentials, GGUF, Health, Kind, Local, MAX_HEADERS, MAX_WEIGHT, Provider, Responses, Timeouts,
};

/// Maximum number of concurrent responses per file.
const MAX_LOCAL_RESPONSES: u32 = 256;
/// Default number of concurrent runs of the program.
const PROGRAMS: u32 = 4;

// Kinds that take an API key.
const WITH_MODELS: [&str; 4] = ["openai", "anthropic", "espeak", "local"];
const WITH_ADDRESS: [&str; 6] = ["openai", "anthropic", "searxng", "brave", "tavily", "index"];
const REMOTE: [&str; 5] = ["openai", "anthropic", "searxng", "brave", "tavily"];
const CALLED: [&str; 7] = ["openai", "anthropic", "espeak", "local", "searxng", "brave", "tavily"];
const CHATTING: [&str; 2] = ["openai", "anthropic"];

const KINDS: &str = "set it to one of `openai`, `anthropic`, `espeak`, `local`, `searxng`, \
                     `brave`, `tavily`, `index`";

/// Headers that the service sets itself.
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
/// Operation paths that a base URL must not include.
const ADDED: &[&str] = &["/chat/completions", "/responses", "/messages", "/models"];

section! {
    /// A provider. Its name is 1 to 64 letters, digits, dots, underscores and hyphens, and is the
    /// first part of the full ids of its models. `kind` is required. Providers of models also need
    /// `models`, `discover` or both.
    #[schemars(extend("x-tag" = "kind", "x-items" = "providers", "x-order" = [
        "kind", "base_url", "program", "api_key", "headers", "models", "discover", "timeout",
        "max_concurrency", "weight", "responses", "stream_usage", "health", "tls_ca_file", "folder",
        "index_folder", "rescan", "max_file_bytes", "window", "max_waiting", "idle", "system",
        "temperature", "top_p", "repeat_penalty",
    ]))]
    pub(in crate::config) struct ProviderFile {
        /// Type of the provider. For models: `openai` (also for compatible servers) or `anthropic`.
        /// For speech: `espeak` runs the program espeak-ng on this machine; its models are voices.
        /// For models that run inside this process: `local`; each model is a GGUF file. For search
        /// results: `searxng`, `brave`, `tavily` or `index` (an index of files).
        #[schemars(extend("x-missing" = KINDS))]
        #[schemars(extend("x-hint" = "use `openai` for any server with an OpenAI-compatible API"))]
        kind: Option<ProviderKind>,
        /// Base URL to which `/chat/completions`, `/messages`, `/models` or `/search` is appended.
        /// Default: `https://api.openai.com/v1`, `https://api.anthropic.com/v1`,
        /// `https://api.search.brave.com/res/v1` or `https://api.tavily.com`; required for
        /// `searxng`. `index`: base URL of the indexed files; default: `public_url` and the name of
        /// the provider.
        #[schemars(extend("x-kinds" = WITH_ADDRESS))]
        base_url: Option<Address>,
        /// `espeak`: the program to run, looked up in `PATH`. Default: `espeak-ng`.
        #[schemars(extend("x-kinds" = ["espeak"], "x-type" = "path", "x-wanted" = "a program"))]
        program: Option<String>,
        /// API key: `${NAME}`.
        #[schemars(extend("x-kinds" = REMOTE))]
        api_key: Option<Secret>,
        /// Extra headers of every request to the provider.
        #[schemars(with = "BTreeMap<String, String>")]
        #[schemars(extend(
            "additionalProperties" = {"type": "string", "format": "header", "x-text": true},
            "maxProperties" = MAX_HEADERS,
            "x-items" = "headers",
            "x-kinds" = REMOTE,
            "default" = {},
        ))]
        headers: Vec<(String, Text)>,
        /// Models of the provider: a list of ids, or a mapping from id to settings.
        #[schemars(extend("x-kinds" = WITH_MODELS, "x-type" = "list or mapping"))]
        #[schemars(extend("x-wanted" = "a list of ids, or a mapping from ids"))]
        #[schemars(extend("x-hint" = "write `models: [ID, ID]`"))]
        models: Option<ModelsFile>,
        /// List the provider's models automatically, in addition to `models`. `local`: use every
        /// `*.gguf` file in `folder`.
        #[schemars(extend("x-kinds" = WITH_MODELS))]
        discover: bool,
        /// Timeouts of requests to the provider.
        #[schemars(extend("x-kinds" = CALLED))]
        timeout: Option<TimeoutFile>,
        /// Maximum number of concurrent requests to the provider. Default: unlimited. `local`:
        /// maximum number of concurrent responses per model; default: the number of cores.
        #[schemars(extend("x-kinds" = CALLED, "x-maximum" = {"local": MAX_LOCAL_RESPONSES}))]
        max_concurrency: Option<u32> where 1..=1_000_000,
        /// Weight of the provider's models in aliases that set no weight.
        #[schemars(range(min = 1, max = MAX_WEIGHT), extend("x-kinds" = WITH_MODELS))]
        weight: u32 = 1,
        /// How to serve `/v1/responses`: `native` passes requests through, `bridged` translates
        /// them to chat completions, `auto` detects what the provider supports.
        #[schemars(extend("x-kinds" = CHATTING))]
        responses: Responses = Responses::Auto,
        /// Request usage figures for streams.
        #[schemars(extend("x-kinds" = CHATTING))]
        stream_usage: bool = true,
        /// Health checks of the provider.
        #[schemars(extend("x-kinds" = CALLED, "default" = true))]
        health: Option<HealthFile>,
        /// PEM file with the CA certificates to trust for this provider, instead of the system's.
        #[schemars(extend("format" = "path", "x-kinds" = REMOTE))]
        #[schemars(extend("x-wanted" = "the path of a PEM file"))]
        tls_ca_file: Option<PathBuf>,
        /// `index`: folder of the files to index; required. `local`: folder of the model files;
        /// default: `models` next to this file.
        #[schemars(extend("format" = "path", "x-wanted" = "a folder"))]
        #[schemars(extend("x-kinds" = ["local", "index"]))]
        folder: Option<PathBuf>,
        #[serde(flatten)]
        index: Index,
        #[serde(flatten)]
        local: Local,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ProviderKind {
    OpenAi,
    Anthropic,
    Espeak,
    Local,
    Searxng,
    Brave,
    Tavily,
    Index,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
enum TimeoutFile {
    One(#[serde(with = "Seconds")] Duration),
    Each(Timeouts),
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
enum HealthFile {
    Switch(bool),
    Each(Health),
}

/// Splits providers: models, or search results.
pub(in crate::config) fn providers(
    files: Vec<(String, ProviderFile)>,
    reader: &mut Reader<'_>,
    folder: &Path,
) -> (Vec<Provider>, Vec<SearchProvider>) {
    let (mut of_models, mut of_results) = (Vec::new(), Vec::new());
    for (name, file) in files {
        let path = format!("providers.{name}");
        let kind = file.kind;
        let mut entry = Entry { name, path, reader, folder };
        if kind == Some(ProviderKind::Local) && !cfg!(feature = "local-model") {
            let hint = "use a build with the feature `local-model`, or remove the provider";
            entry.refuse_key("kind", "this build does not support `local` providers", Some(hint));
        }
        match kind {
            // Its models stay known, so that aliases to them are not reported too.
            None | Some(ProviderKind::OpenAi) => of_models.push(entry.remote(file, Kind::OpenAi)),
            Some(ProviderKind::Anthropic) => of_models.push(entry.remote(file, Kind::Anthropic)),
            Some(ProviderKind::Espeak) => of_models.push(entry.espeak(file)),
            Some(ProviderKind::Local) => of_models.push(entry.local(file)),
            Some(ProviderKind::Searxng) => of_results.push(entry.search(file, SearchKind::Searxng)),
            Some(ProviderKind::Brave) => of_results.push(entry.search(file, SearchKind::Brave)),
            Some(ProviderKind::Tavily) => of_results.push(entry.search(file, SearchKind::Tavily)),
            Some(ProviderKind::Index) => of_results.extend(entry.index(file)),
        }
    }
    (of_models, of_results)
}

struct Entry<'e, 'r> {
    name: String,
    path: String,
    reader: &'e mut Reader<'r>,
    folder: &'e Path,
}

impl Entry<'_, '_> {
    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    fn is_given(&self, name: &str) -> bool {
        self.reader.is_set(&self.key(name))
    }

    /// Reports an error of the entry.
    fn refuse(&mut self, message: impl Into<String>, hint: &str) {
        let problem = Problem::error(self.reader.owner(&self.path), message);
        self.reader.report(&self.path, problem.hint(hint));
    }

    fn refuse_key(&mut self, name: &str, message: impl Into<String>, hint: Option<&str>) {
        self.reader.refuse_key(&self.key(name), message, hint);
    }

    /// A provider with the common settings.
    fn provider(&self, file: ProviderFile, kind: Kind) -> Provider {
        Provider {
            name: self.name.clone(),
            kind,
            base_url: kind.default_base(),
            program: None,
            local: None,
            api_key: None,
            headers: Vec::new(),
            discover: file.discover,
            timeouts: self.timeouts(file.timeout.as_ref(), Timeouts::default()),
            max_concurrency: file.max_concurrency,
            weight: file.weight,
            responses: Responses::Bridged,
            stream_usage: file.stream_usage,
            health: self.health(file.health, Health::default()),
            tls_ca_file: file.tls_ca_file,
            models: file.models.map(Into::into).unwrap_or_default(),
        }
    }

    /// A remote provider of models.
    fn remote(&mut self, mut file: ProviderFile, kind: Kind) -> Provider {
        self.needs_models(&file, "list its `models`, or set `discover: true`");
        let (api_key, headers) = self.credentials(&mut file, true);
        let base_url = self.base_url(file.base_url.take(), api_key.is_some());
        let responses = file.responses;
        let provider = self.provider(file, kind);
        let of_openai = |one: &&Capability| {
            !matches!(one, Capability::Chat | Capability::Responses | Capability::Research)
        };
        for model in provider.models.iter().filter(|_| kind == Kind::Anthropic) {
            let makes = |one: &Capability| matches!(one, Capability::Image | Capability::Speech);
            if model.capabilities.iter().any(makes) {
                let message = format!("the model `{}` cannot generate media", model.id);
                self.refuse(message, "only `openai` and `espeak` providers support this");
            } else if let Some(other) = model.capabilities.iter().find(of_openai) {
                let (id, word) = (&model.id, other.as_str());
                let message = format!("the model `{id}` cannot be used for `{word}`");
                self.refuse(message, "only `openai` providers support this");
            }
        }
        self.has_no_files(&provider);
        let base_url = base_url.unwrap_or_else(|| kind.default_base());
        Provider { base_url, api_key, headers, responses, ..provider }
    }

    /// A provider that is a program on this machine: espeak-ng, whose models are voices.
    fn espeak(&mut self, mut file: ProviderFile) -> Provider {
        let hint = "list voices as its `models`, such as `[en, de]`, or set `discover: true`";
        self.needs_models(&file, hint);
        // A name is looked up in `PATH`; a path is relative to the folder of the file.
        let program = match file.program.take() {
            Some(path) if path.contains('/') => self.reader.expanded(&path).into(),
            Some(name) => name.into(),
            None => PathBuf::from("espeak-ng"),
        };
        let mut provider = self.provider(file, Kind::Espeak);
        let plain = Model::new("").capabilities;
        for voice in &mut provider.models {
            if voice.capabilities != plain && voice.capabilities != [Capability::Speech] {
                let message = format!("the voice `{}` can be used for `speech` only", voice.id);
                self.refuse_key("models", message, None);
            }
            voice.capabilities = vec![Capability::Speech];
        }
        self.has_no_files(&provider);
        let max_concurrency = Some(provider.max_concurrency.unwrap_or(PROGRAMS));
        Provider { program: Some(program), max_concurrency, stream_usage: false, ..provider }
    }

    /// A provider whose models are files run by this process.
    fn local(&mut self, mut file: ProviderFile) -> Provider {
        let hint = "list files of its `folder` as its `models`, or set `discover: true`";
        self.needs_models(&file, hint);
        let folder = file.folder.take().unwrap_or_else(|| self.folder.join("models"));
        let at_once = file.max_concurrency.take().unwrap_or_else(cores);
        let local = Local { folder, at_once, ..std::mem::take(&mut file.local) };
        let mut provider = self.provider(file, Kind::Local);
        self.place_files(&mut provider.models, &local.folder);
        Provider { local: Some(local), ..provider }
    }

    /// Sets the file path of every model. Its internal name is its id, which is unique.
    fn place_files(&mut self, models: &mut [Model], folder: &Path) {
        const ABLE: [Capability; 3] =
            [Capability::Chat, Capability::Responses, Capability::Research];
        for model in models {
            if model.path.is_some() && model.upstream_name != model.id {
                let message = format!("the model `{}` has both `path` and `name`", model.id);
                self.refuse_key("models", message, None);
            }
            if let Some(other) = model.capabilities.iter().find(|one| !ABLE.contains(one)) {
                let (id, word) = (&model.id, other.as_str());
                let message = format!("the model `{id}` cannot be used for `{word}`");
                self.refuse_key("models", message, None);
            }
            let named = || folder.join(format!("{}.{GGUF}", model.upstream_name));
            model.path = Some(model.path.take().unwrap_or_else(named));
            model.upstream_name.clone_from(&model.id);
        }
    }

    fn search(&mut self, mut file: ProviderFile, kind: SearchKind) -> SearchProvider {
        let default = kind.default_base();
        if default.is_none() && !self.is_given("base_url") {
            self.refuse("has no `base_url`", "set the URL of the server");
        }
        // Without a default, anonymous access is possible.
        let credentials = self.credentials(&mut file, default.is_some());
        let base_url = self.base_url(file.base_url.take(), credentials.0.is_some());
        let (api_key, headers) = kind.place_key(credentials);
        let timeouts = self.timeouts(file.timeout.as_ref(), search::TIMEOUTS);
        let health = self.health(file.health.take(), kind.health());
        let upstream = Provider {
            base_url: base_url.or(default).unwrap_or_default(),
            api_key,
            headers,
            timeouts,
            health,
            responses: Responses::Auto,
            stream_usage: false,
            ..self.provider(file, Kind::OpenAi)
        };
        SearchProvider::Remote { kind, upstream: Box::new(upstream) }
    }

    fn index(&mut self, file: ProviderFile) -> Option<SearchProvider> {
        if !self.is_given("folder") {
            self.refuse("has no `folder`", "set the folder of the files to index");
        }
        Some(SearchProvider::Index(Index {
            name: self.name.clone(),
            folder: file.folder?,
            base_url: file.base_url.map(|Address(uri)| uri),
            // Without `index_folder`, it is set once the folder of the database is known.
            ..file.index
        }))
    }

    fn needs_models(&mut self, file: &ProviderFile, hint: &str) {
        if !self.is_given("models") && !file.discover {
            self.refuse("has neither `models` nor `discover`", hint);
        }
    }

    fn has_no_files(&mut self, provider: &Provider) {
        if let Some(model) = provider.models.iter().find(|model| model.path.is_some()) {
            let message = format!("the model `{}` has a `path`", model.id);
            self.refuse(message, "only models of `local` providers have a `path`");
        }
    }

    /// Credentials for the upstream. The default addresses require a key.
    fn credentials(&mut self, file: &mut ProviderFile, needs_key: bool) -> Credentials {
        let is_given = self.is_given("api_key");
        let headers = self.headers(std::mem::take(&mut file.headers), is_given);
        if needs_key && !self.is_given("base_url") && !is_given && headers.is_empty() {
            let hint = "the default URL needs a key; add `api_key: ${NAME}`";
            self.refuse("has neither `base_url` nor `api_key`", hint);
        }
        (file.api_key.take(), headers)
    }

    fn base_url(&mut self, address: Option<Address>, has_key: bool) -> Option<Uri> {
        let Address(uri) = address?;
        if let Some(added) = ADDED.iter().find(|added| uri.path().ends_with(*added)) {
            let message = format!("must not end with `{added}`, which the service appends");
            self.refuse_key("base_url", message, Some("end it with the version, as in `…/v1`"));
        }
        if has_key && address::is_open(&uri) {
            let message = "`api_key` is sent unencrypted: the URL is not https";
            self.reader.warn_of_key(&self.key("base_url"), message, None);
        }
        Some(uri)
    }

    fn headers(
        &mut self,
        written: Vec<(String, Text)>,
        has_key: bool,
    ) -> Vec<(HeaderName, HeaderValue)> {
        let mut headers: Vec<(HeaderName, HeaderValue)> = Vec::with_capacity(written.len());
        for (text, value) in written {
            let fault = match HeaderName::from_bytes(text.as_bytes()) {
                Err(_) => "is not a valid header name",
                Ok(name) if RESERVED.contains(&name) => {
                    "is set by the service and cannot be configured"
                }
                Ok(name) if has_key && is_credential(&name) => {
                    "conflicts with `api_key`, which sets this header"
                }
                Ok(name) if headers.iter().any(|(other, _)| *other == name) => {
                    "is a duplicate: header names are case-insensitive"
                }
                Ok(name) => match HeaderValue::from_str(value.value().trim()) {
                    Ok(mut sent) => {
                        if looks_secret(&text) {
                            let key = self.key(&format!("headers.{text}"));
                            let place = (key.as_str(), self.reader.position(&key));
                            warn_of_plain_text(self.reader, place, &value);
                        }
                        sent.set_sensitive(true);
                        headers.push((name, sent));
                        continue;
                    }
                    Err(_) => "the value contains a character that is not allowed in a header",
                },
            };
            let hint = fault.contains("`api_key`").then_some("remove one of them");
            self.refuse_key(&format!("headers.{text}"), fault, hint);
        }
        headers
    }

    /// One number sets `first_byte` and `idle`; `connect` never exceeds it.
    fn timeouts(&self, file: Option<&TimeoutFile>, default: Timeouts) -> Timeouts {
        match file {
            None => default,
            Some(&TimeoutFile::One(time)) => {
                Timeouts { connect: default.connect.min(time), first_byte: time, idle: time }
            }
            Some(TimeoutFile::Each(each)) => {
                let or = |name: &str, given: Duration, default: Duration| {
                    if self.is_given(&format!("timeout.{name}")) { given } else { default }
                };
                Timeouts {
                    connect: or("connect", each.connect, default.connect),
                    first_byte: or("first_byte", each.first_byte, default.first_byte),
                    idle: or("idle", each.idle, default.idle),
                }
            }
        }
    }

    fn health(&self, file: Option<HealthFile>, default: Health) -> Option<Health> {
        match file {
            None | Some(HealthFile::Switch(true)) => Some(default),
            Some(HealthFile::Switch(false)) => None,
            Some(HealthFile::Each(health)) if self.is_given("health.path") => Some(health),
            Some(HealthFile::Each(health)) => Some(Health { path: default.path, ..health }),
        }
    }
}

fn is_credential(name: &HeaderName) -> bool {
    *name == header::AUTHORIZATION || name.as_str() == "x-api-key"
}

fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores).unwrap_or(1).clamp(1, MAX_LOCAL_RESPONSES)
}
