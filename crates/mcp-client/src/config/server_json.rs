//! Converts servers of a registry, in the official format, to entries.
//!
//! Publishers write these documents, so their content is untrusted: anything that could make
//! the program do more than run the named package is rejected.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

/// Maximum number of arguments, variables and headers of one server.
const MAX_INPUTS: usize = 100;
/// The metadata that the registry adds.
const OFFICIAL: &str = "io.modelcontextprotocol.registry/official";
/// The supported package types.
const PACKAGES: [&str; 3] = ["npm", "pypi", "oci"];

#[derive(Debug, Clone, Deserialize)]
pub struct ListedServer {
    pub server: ServerJson,
    #[serde(rename = "_meta", default)]
    meta: Json,
}

#[derive(Debug, Clone, Deserialize)]
pub struct ServerJson {
    pub name: String,
    pub version: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    packages: Vec<Package>,
    #[serde(default)]
    remotes: Vec<Remote>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Package {
    registry_type: String,
    registry_base_url: Option<String>,
    identifier: String,
    version: Option<String>,
    transport: Option<Transport>,
    #[serde(default)]
    runtime_arguments: Vec<Argument>,
    #[serde(default, rename = "packageArguments")]
    arguments: Vec<Argument>,
    #[serde(default)]
    environment_variables: Vec<Named>,
}

#[derive(Debug, Clone, Deserialize)]
struct Transport {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Remote {
    #[serde(rename = "type")]
    kind: String,
    url: String,
    #[serde(default)]
    headers: Vec<Named>,
    #[serde(default)]
    variables: BTreeMap<String, Input>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Argument {
    name: Option<String>,
    value_hint: Option<String>,
    #[serde(flatten)]
    input: Input,
}

#[derive(Debug, Clone, Deserialize)]
struct Named {
    name: String,
    #[serde(flatten)]
    input: Input,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Input {
    description: Option<String>,
    is_required: bool,
    is_secret: bool,
    value: Option<String>,
    default: Option<String>,
    choices: Option<Vec<String>>,
    variables: BTreeMap<String, Input>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerJsonError {
    #[error("it was deleted from the registry")]
    Deleted,
    #[error("the registry returned another server: `{name}`, version `{version}`")]
    Another { name: String, version: String },
    #[error("its {what} `{text}` is invalid")]
    Invalid { what: &'static str, text: String },
    #[error("its address `{url}` is not https")]
    Insecure { url: String },
    #[error("it refers to a variable of this machine: `{text}`")]
    Reference { text: String },
    #[error("it has more than {MAX_INPUTS} arguments, variables and headers")]
    TooMany,
    #[error("it has neither a remote address nor a package that can be started here ({kinds})")]
    Unsupported { kinds: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preference {
    Package,
    Remote,
}

/// An input that a person must provide before a server can be configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The name of the variable, header or argument.
    pub name: String,
    pub description: String,
    pub default: Option<String>,
    /// The allowed answers, if restricted.
    pub choices: Vec<String>,
    pub is_secret: bool,
    pub is_required: bool,
}

type Result<T, E = ServerJsonError> = std::result::Result<T, E>;
/// A text with placeholders.
type Pieces = Vec<Piece>;

/// An entry with placeholders.
#[derive(Debug, Clone, Default)]
pub struct EntryTemplate {
    /// In the order of the answers.
    pub questions: Vec<Question>,
    /// Notes to show before the server is added.
    pub notes: Vec<String>,
    fixed: Map<String, Json>,
    arguments: Vec<Vec<Pieces>>,
    env: Vec<(String, Pieces)>,
    headers: Vec<(String, Pieces)>,
    url: Option<Pieces>,
}

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Answer(usize),
}

impl ListedServer {
    fn status(&self) -> &str {
        self.meta[OFFICIAL]["status"].as_str().unwrap_or("active")
    }

    pub fn is_deleted(&self) -> bool {
        self.status() == "deleted"
    }

    pub fn is_deprecated(&self) -> bool {
        self.status() == "deprecated"
    }

    pub fn kinds(&self) -> Vec<&str> {
        let packages = self.server.packages.iter().map(|package| &*package.registry_type);
        packages.chain(self.server.remotes.iter().map(|remote| &*remote.kind)).collect()
    }

    /// The entry, if it is the requested server and nothing in it is suspicious.
    pub fn template(
        &self,
        name: &str,
        version: Option<&str>,
        preference: Preference,
    ) -> Result<EntryTemplate> {
        let ServerJson { name: returned, version: has, packages, remotes, .. } = &self.server;
        if returned != name || version.is_some_and(|wanted| wanted != has) {
            let (name, version) = (returned.clone(), has.clone());
            return Err(ServerJsonError::Another { name, version });
        }
        if self.is_deleted() {
            return Err(ServerJsonError::Deleted);
        }
        let is_local = |package: &&Package| {
            let is_known = PACKAGES.contains(&&*package.registry_type);
            is_known && package.transport.as_ref().is_none_or(|it| it.kind == "stdio")
        };
        let package = packages.iter().find(is_local);
        let is_http = |remote: &&Remote| matches!(&*remote.kind, "streamable-http" | "sse");
        let remote = remotes.iter().find(is_http);
        match (package, remote, preference) {
            (Some(package), None, _) | (Some(package), _, Preference::Package) => {
                EntryTemplate::of_package(package)
            }
            (_, Some(remote), _) => EntryTemplate::of_remote(remote),
            (None, None, _) => Err(ServerJsonError::Unsupported { kinds: self.kinds().join(", ") }),
        }
    }
}

impl EntryTemplate {
    fn of_package(package: &Package) -> Result<Self> {
        let Package { registry_type, identifier, version, .. } = package;
        let identifier = self::identifier(registry_type, identifier)?;
        // Without a version, a later start could run another program. An image reference has one.
        let version = match version.as_deref() {
            None if registry_type == "oci" => None,
            version => Some(valid_word("version", version.unwrap_or_default(), "._+-!")?),
        };
        let mut template = Self::default();
        if let Some(url) = &package.registry_base_url {
            if !url.starts_with("https://") {
                return Err(ServerJsonError::Insecure { url: url.clone() });
            }
            let url = plain("registry", url)?;
            template.notes.push(format!(
                "its publisher names the package registry {url}; the package manager uses the one \
                 that it is configured with"
            ));
        }
        template.env = template.named("variable", &package.environment_variables)?;
        let joined = |sign: &str| match version {
            Some(version) => format!("{identifier}{sign}{version}"),
            None => identifier.to_owned(),
        };
        let (command, lead, id) = match registry_type.as_str() {
            "npm" => ("npx", vec!["-y".to_owned()], joined("@")),
            "pypi" => ("uvx", Vec::new(), joined("==")),
            _ => {
                let mut lead: Vec<String> = ["run", "-i", "--rm"].map(str::to_owned).into();
                for (name, _) in &template.env {
                    lead.extend(["-e".to_owned(), name.clone()]);
                }
                ("docker", lead, joined(":"))
            }
        };
        template.fixed.insert("command".to_owned(), command.into());
        template.fixed_arguments(lead);
        template.add_arguments(&package.runtime_arguments)?;
        template.fixed_arguments(vec![id]);
        template.add_arguments(&package.arguments)?;
        template.checked()
    }

    fn of_remote(remote: &Remote) -> Result<Self> {
        let Remote { kind, url, headers, variables } = remote;
        let host = url.strip_prefix("https://").unwrap_or_default();
        let host = host.split(['/', '?', '#']).next().unwrap_or_default();
        // A variable before the host could change the host.
        if host.is_empty() || host.contains('@') {
            return Err(ServerJsonError::Insecure { url: url.clone() });
        }
        let mut template = Self::default();
        if kind == "sse" {
            template.fixed.insert("transport".to_owned(), "sse".into());
        }
        template.url = Some(template.pieces(plain("address", url)?, variables, true)?);
        template.headers = template.named("header", headers)?;
        template.checked()
    }

    fn checked(self) -> Result<Self> {
        let count = self.arguments.len() + self.env.len() + self.headers.len();
        if count > MAX_INPUTS || self.questions.len() > MAX_INPUTS {
            return Err(ServerJsonError::TooMany);
        }
        Ok(self)
    }

    fn fixed_arguments(&mut self, texts: Vec<String>) {
        self.arguments.extend(texts.into_iter().map(|text| vec![vec![Piece::Text(text)]]));
    }

    fn add_arguments(&mut self, arguments: &[Argument]) -> Result<()> {
        for Argument { name, value_hint, input } in arguments {
            let label = name.as_deref().or(value_hint.as_deref()).unwrap_or("argument");
            let Some(value) = self.value(label, input)? else { continue };
            let mut words = Vec::new();
            if let Some(name) = name {
                words.push(vec![Piece::Text(literal(name)?.to_owned())]);
            }
            words.push(value);
            self.arguments.push(words);
        }
        Ok(())
    }

    fn named(&mut self, what: &'static str, inputs: &[Named]) -> Result<Vec<(String, Pieces)>> {
        let mut named = Vec::new();
        for Named { name, input } in inputs {
            let pieces = self.value(name, input)?;
            let name = plain(what, name)?.to_owned();
            named.extend(pieces.map(|pieces| (name, pieces)));
        }
        Ok(named)
    }

    /// The value of an input: fixed by the publisher, or a question. An optional one without a
    /// default is omitted.
    fn value(&mut self, name: &str, input: &Input) -> Result<Option<Pieces>> {
        if let Some(value) = &input.value {
            return self.pieces(value, &input.variables, input.is_required).map(Some);
        }
        if !input.is_required && input.default.is_none() {
            return Ok(None);
        }
        self.ask(name, input, input.is_required).map(|piece| Some(vec![piece]))
    }

    /// Splits a text at its `{variables}`. Other braces are literal.
    fn pieces(
        &mut self,
        text: &str,
        variables: &BTreeMap<String, Input>,
        is_required: bool,
    ) -> Result<Pieces> {
        let (mut pieces, mut rest) = (Vec::new(), literal(text)?);
        while let Some((before, name, after)) = next_variable(rest) {
            let Some(input) = variables.get(name) else {
                pieces.push(Piece::Text(format!("{before}{{{name}}}")));
                rest = after;
                continue;
            };
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(match &input.value {
                Some(value) => Piece::Text(literal(value)?.to_owned()),
                None => self.ask(name, input, is_required || input.is_required)?,
            });
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(pieces)
    }

    fn ask(&mut self, name: &str, input: &Input, is_required: bool) -> Result<Piece> {
        let default = input.default.as_deref().map(literal).transpose()?.map(str::to_owned);
        let choices = input.choices.clone().unwrap_or_default();
        for choice in &choices {
            literal(choice)?;
        }
        self.questions.push(Question {
            name: name.to_owned(),
            description: input.description.clone().unwrap_or_default(),
            default,
            choices,
            is_secret: input.is_secret,
            is_required,
        });
        Ok(Piece::Answer(self.questions.len() - 1))
    }

    /// The entry with these answers. Parts without an answer are omitted.
    pub fn entry(&self, answers: &[Option<String>]) -> Json {
        let text = |pieces: &Pieces| -> Option<String> {
            let piece = |piece: &Piece| match piece {
                Piece::Text(text) => Some(text.clone()),
                Piece::Answer(at) => answers.get(*at).cloned().flatten(),
            };
            pieces.iter().map(piece).collect()
        };
        let mut entry = self.fixed.clone();
        let words = self
            .arguments
            .iter()
            .filter_map(|words| words.iter().map(text).collect::<Option<Vec<String>>>());
        let words: Vec<String> = words.flatten().collect();
        if !words.is_empty() {
            entry.insert("args".to_owned(), json!(words));
        }
        if let Some(url) = self.url.as_ref().and_then(text) {
            entry.insert("url".to_owned(), url.into());
        }
        for (key, values) in [("env", &self.env), ("headers", &self.headers)] {
            let values = values
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), Json::from(text(value)?))));
            let values: Map<String, Json> = values.collect();
            if !values.is_empty() {
                entry.insert(key.to_owned(), values.into());
            }
        }
        Json::Object(entry)
    }
}

/// The text before the next `{name}`, the name, and the text after it.
fn next_variable(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// A package name. Runners would also accept URLs, folders and options here.
fn identifier<'t>(kind: &str, text: &'t str) -> Result<&'t str> {
    match (kind, text.strip_prefix('@').and_then(|rest| rest.split_once('/'))) {
        ("npm", Some((scope, name))) => {
            valid_word("identifier", scope, "._-")?;
            valid_word("identifier", name, "._-")?;
            Ok(text)
        }
        ("oci", _) => valid_word("identifier", text, "._-/:@"),
        _ => valid_word("identifier", text, "._-"),
    }
}

/// A text of letters, digits and these characters that begins with a letter or digit.
fn valid_word<'t>(what: &'static str, text: &'t str, signs: &str) -> Result<&'t str> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
    if text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_good) {
        return Ok(text);
    }
    Err(ServerJsonError::Invalid { what, text: text.to_owned() })
}

/// A single word that is not an option.
fn plain<'t>(what: &'static str, text: &'t str) -> Result<&'t str> {
    let is_odd = |c: char| c.is_whitespace() || c.is_control();
    if text.is_empty() || text.starts_with('-') || text.contains(is_odd) {
        return Err(ServerJsonError::Invalid { what, text: text.to_owned() });
    }
    literal(text)
}

/// A text without references, which would expose the values of this person's variables.
fn literal(text: &str) -> Result<&str> {
    if text.contains("${") {
        return Err(ServerJsonError::Reference { text: text.to_owned() });
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
