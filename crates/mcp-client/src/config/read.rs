//! From the text of a configuration to entries and problems.
//!
//! A bad entry does not affect the others, and all problems are collected.

mod format;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value as Json;
use settings::{
    Field, Key, KnownSecret, Node, Position, Problem, Reader, Schema, Scope, SecondsOrZero,
    Strictness, Text, Value, duplicates, given_twice, in_order, limits_table, section, switch,
};

use self::format::FORMATS;
use super::{
    Auth, ClientCert, Endpoint, HttpEndpoint, MAX_CONFIG_BYTES, MAX_FILTERS, MAX_HEADERS,
    MAX_LAUNCH_ITEMS, MAX_SERVERS, MIN_KEEPALIVE, OauthOptions, ServerEntry, StdioEndpoint, oauth,
};
use crate::tool_name::registered_name;

const MAX_NAME: usize = 64;
/// The root key of the servers. Only this and `mcp` are read here.
const ROOT: &str = "mcp_servers";
/// The root key of settings for all servers.
const FOR_ALL: &str = "mcp";
/// The kinds of servers that restrict a key.
const STDIO: &str = "stdio";
const HTTP: &str = "HTTP";

/// Names of our keys in other clients.
const FOREIGN_KEYS: &[(&str, &str)] = &[
    (
        "type",
        "use `transport: sse` for the SSE transport; otherwise `url` or `command` selects the \
         transport",
    ),
    ("disabled", "use `enabled: false`"),
    ("httpurl", "use `url`"),
    ("serverurl", "use `url`"),
    ("endpoint", "use `url`"),
    ("environment", "use `env`"),
    ("envvars", "use `env` with `${NAME}` references"),
    ("envfile", "put the variables in `env` or in the `.env` file of the profile"),
    ("bearertokenenvvar", "use `headers` with `Authorization: Bearer ${NAME}`"),
    ("httpheaders", "use `headers`"),
    ("envhttpheaders", "use `headers` with `${NAME}` references"),
    ("alwaysallow", "not supported; see `trust`"),
    ("autoapprove", "not supported; see `trust`"),
    ("enabledtools", "use `tools.include`"),
    ("disabledtools", "use `tools.exclude`"),
    ("includetools", "use `tools.include`"),
    ("excludetools", "use `tools.exclude`"),
    ("startuptimeoutsec", "use `connect_timeout`"),
    ("tooltimeoutsec", "use `timeout`"),
    ("scopes", "use `scope`, with scopes separated by spaces"),
];

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// The servers in file order, including disabled ones. A server with an error is left out.
    pub servers: Vec<Configured>,
    /// `mcp.client_metadata_url`: the default client document.
    pub client_metadata_url: Option<Text>,
    /// `mcp.registry_url`: replaces the official registry of servers.
    pub registry_url: Option<Text>,
    /// The problems, in file order.
    pub problems: Vec<Problem>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Configured {
    /// The configured entry, with every default filled in.
    pub entry: ServerEntry,
    /// The line of its name; 0 if it is not from a file.
    pub line: usize,
    /// Secrets, the longest first.
    pub secrets: Vec<KnownSecret>,
}

section! {
    /// A key of a local server that may be given in another place.
    struct StdioFile {
        /// Alternative location of the two keys above.
        #[schemars(extend("format" = "lifecycle"))]
        lifecycle: Lifecycle,
    }
}

section! {
    /// The two keys may also be set here; the same key in the entry itself takes precedence.
    struct Lifecycle {
        /// Same as in the entry itself.
        idle_timeout_seconds: Option<Duration> as "SecondsOrZero",
        /// Same as in the entry itself.
        max_lifetime_seconds: Option<Duration> as "SecondsOrZero",
    }
}

section! {
    /// Keys of a remote server that are read together with others.
    struct HttpFile {
        /// Path of the private key if `client_cert` is a string and the key is in a separate file.
        #[schemars(extend("format" = "path", "x-wanted" = "the path of a PEM file"))]
        client_key: Option<Text>,
        /// `oauth` signs in with OAuth 2.1 and PKCE. It is the only allowed value.
        #[schemars(extend("format" = "auth"))]
        auth: Option<String>,
        /// OAuth options.
        oauth: OauthOptions,
    }
}

section! {
    /// A root key next to `mcp_servers`; applies to all servers.
    struct ForAll {
        /// URL of the client document for servers that set none under `oauth`: https, with a path,
        /// without fragment, user information or dot segments. Defaults to the document of the
        /// member service if it has one, otherwise to the one built into the program, if any.
        #[schemars(extend("format" = "client-document", "x-optional" = true))]
        client_metadata_url: Option<Text>,
        /// Base URL of the registry for `agent mcp search` and `agent mcp add NAME@registry`: https,
        /// or this machine. Defaults to the official registry of the protocol.
        #[schemars(extend("x-optional" = true))]
        registry_url: Option<Text>,
    }
}

static ENTRY: LazyLock<Schema> = LazyLock::new(|| {
    Schema::with_about(
        "An entry has either `command`, which starts a local process, or `url`, which connects to \
         a remote server. If both are set, `url` is used, with a warning; if neither is set, the \
         entry is rejected.",
    )
    .and::<StdioEndpoint>(Some(STDIO))
    .and::<StdioFile>(Some(STDIO))
    .and::<HttpEndpoint>(Some(HTTP))
    .and::<HttpFile>(Some(HTTP))
    .and::<ServerEntry>(None)
});
static ALL: LazyLock<Schema> = LazyLock::new(Schema::of::<ForAll>);

pub fn schema() -> &'static Schema {
    &ENTRY
}

pub fn schema_for_all() -> &'static Schema {
    &ALL
}

/// `docs/mcp-config.md`.
pub fn page() -> String {
    let limits = limits_table(&[
        ("configuration file", format!("{MAX_CONFIG_BYTES} bytes")),
        ("servers", MAX_SERVERS.to_string()),
        ("arguments or variables per server", format!("{MAX_LAUNCH_ITEMS} each")),
        ("headers per server", MAX_HEADERS.to_string()),
        ("names per filter", MAX_FILTERS.to_string()),
    ]);
    let keys = schema().chapters("A server") + &schema_for_all().chapters("`mcp`");
    include_str!("page.md").replace("<!-- keys -->\n", &keys).replace("<!-- limits -->\n", &limits)
}

/// Reads `mcp_servers` and `mcp` from the text of a config file, which is YAML or JSON. Never
/// fails as a whole: errors are in `problems`.
pub fn parse(text: &str, scope: &Scope) -> Parsed {
    match Node::from_yaml(text) {
        Ok(root) => parse_document(&root, scope),
        Err(problem) => Parsed { problems: vec![problem], ..Parsed::default() },
    }
}

/// Reads `mcp_servers` and `mcp` from a config file. Other root keys are ignored.
pub fn parse_document(root: &Node, scope: &Scope) -> Parsed {
    let mut parsed = Parsed::default();
    if !root.is_null() && !matches!(root.value, Value::Map(_)) {
        let message = format!("the file must be a mapping, found {}", root.kind());
        parsed.problems.push(Problem::error(root.position, message));
    }
    for (key, _) in root.entries() {
        if key.text != ROOT && is_servers_key(&key.text) {
            let message = format!("`{}` is ignored; did you mean `{ROOT}`?", key.text);
            parsed.problems.push(Problem::warning(key.position, message));
        }
    }
    if let Some(node) = only(root, FOR_ALL, &mut parsed.problems) {
        let mut reader = reader(scope, None, &ALL);
        let field = Field { key: FOR_ALL.to_owned(), ..Field::of(node) };
        let all: Option<ForAll> = reader.read(&ALL, &field);
        if let Some(ForAll { client_metadata_url, registry_url }) = all {
            (parsed.client_metadata_url, parsed.registry_url) = (client_metadata_url, registry_url);
        }
        parsed.problems.extend(reader.finish().0);
    }
    if let Some(node) = only(root, ROOT, &mut parsed.problems) {
        if let Value::Map(servers) = &node.value {
            read_servers(servers, scope, &mut parsed);
        } else {
            let message = format!("must be a mapping from names to servers, found {}", node.kind());
            parsed.problems.push(Problem::error(node.position, message).at(ROOT));
        }
    }
    parsed.problems = in_order(parsed.problems);
    parsed
}

/// The value of a root key; a duplicate key is a problem.
fn only<'n>(root: &'n Node, name: &str, problems: &mut Vec<Problem>) -> Option<&'n Node> {
    let mut found = root.entries().iter().filter(|(key, _)| key.text == name);
    let (first, node) = found.next()?;
    if let Some((second, _)) = found.next() {
        problems.push(given_twice(first, second).at(name));
        return None;
    }
    (!node.is_null()).then_some(node)
}

fn reader<'a>(scope: &'a Scope, server: Option<&'a str>, schema: &'a Schema) -> Reader<'a> {
    let mut reader = Reader::new(scope, server, Strictness::Lenient);
    reader.formats = &[FORMATS, oauth::FORMATS];
    reader.schema = Some(schema);
    reader.foreign_keys = FOREIGN_KEYS;
    reader
}

/// Reads one entry given as JSON: from the command line, pasted documentation, an install
/// link. Beside an entry the problems are warnings; without one, at least one is an error.
pub fn parse_entry(
    name: &str,
    entry: &Json,
    scope: &Scope,
) -> Result<(Configured, Vec<Problem>), Vec<Problem>> {
    let Some(node) = Node::from_json(entry) else {
        return Err(vec![
            Problem::error(Position::default(), "the entry is nested too deeply").of(name, ""),
        ]);
    };
    let key = Key::from(name);
    let (configured, problems) = read_server(&key, &node, scope);
    let problems = in_order(problems);
    match configured {
        Some(configured) => Ok((configured, problems)),
        None => Err(problems),
    }
}

/// Whether a name can be used for a new server: 1 to 64 letters, digits, dots, underscores and
/// hyphens.
pub fn valid_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn is_servers_key(key: &str) -> bool {
    let letters = key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase());
    matches!(letters.collect::<String>().as_str(), "mcpservers" | "mcpserver")
}

fn read_servers(servers: &[(Key, Node)], scope: &Scope, parsed: &mut Parsed) {
    let twice = duplicates(servers);
    for (first, second) in &twice {
        parsed.problems.push(given_twice(first, second).of(&second.text, ""));
    }
    for (index, (key, node)) in servers.iter().enumerate() {
        if index == MAX_SERVERS {
            let message = format!(
                "{} servers configured; only the first {MAX_SERVERS} are read",
                servers.len()
            );
            parsed.problems.push(Problem::error(key.position, message));
            break;
        }
        let (configured, problems) = read_server(key, node, scope);
        parsed.problems.extend(problems);
        let is_unique = !twice.iter().any(|(first, _)| first.text == key.text);
        parsed.servers.extend(configured.filter(|_| is_unique));
    }
    parsed.problems.extend(alike(servers, &parsed.servers));
}

/// Warns about servers whose tools would be registered under the same names.
fn alike(servers: &[(Key, Node)], read: &[Configured]) -> Vec<Problem> {
    let mut first: BTreeMap<String, &str> = BTreeMap::new();
    let mut problems = Vec::new();
    for Configured { entry, .. } in read.iter().filter(|configured| configured.entry.enabled) {
        match first.entry(registered_name(&entry.name, "")) {
            Slot::Vacant(slot) => {
                slot.insert(&entry.name);
            }
            Slot::Occupied(slot) => {
                let key = servers.iter().find(|(key, _)| key.text == entry.name);
                let message = format!(
                    "its tools are registered as `{}…`, like those of `{}`; if tool names collide, \
                     only the first server's tool is used",
                    slot.key(),
                    slot.get()
                );
                let position = key.map_or_else(Position::default, |(key, _)| key.position);
                problems.push(Problem::warning(position, message).of(&entry.name, "").hint(
                    "rename one server so that the names differ in more than `-`, `.` and `_`",
                ));
            }
        }
    }
    problems
}

fn read_server(key: &Key, node: &Node, scope: &Scope) -> (Option<Configured>, Vec<Problem>) {
    let mut reader = reader(scope, Some(&key.text), &ENTRY);
    if !valid_name(&key.text) {
        let message =
            "the name should consist of 1 to 64 letters, digits, dots, underscores and hyphens";
        reader.report("", Problem::warning(key.position, message));
    }
    let entry = if let Value::Map(entries) = &node.value {
        read_entry(&mut reader, key, node, entries)
    } else {
        let message = format!("a server entry must be a mapping, found {}", node.kind());
        let problem = Problem::error(node.position, message);
        reader.report("", problem.hint("add `url` or `command`"));
        None
    };
    let (problems, secrets) = reader.finish();
    let usable = !problems.iter().any(Problem::is_error);
    let line = key.position.line;
    let configured = entry.filter(|_| usable).map(|entry| Configured { entry, line, secrets });
    (configured, problems)
}

fn read_entry(
    reader: &mut Reader<'_>,
    key: &Key,
    node: &Node,
    entries: &[(Key, Node)],
) -> Option<ServerEntry> {
    let is_given = |name: &str| node.get(name).is_some_and(|node| !node.is_null());
    // Read first: it decides whether references must resolve.
    let switched = node.get("enabled").and_then(Node::written);
    reader.enabled =
        switched.and_then(|written| switch(&reader.scope.resolve(written).0)) != Some(false);
    let kind = if is_given("url") {
        Some(HTTP)
    } else if is_given("command") {
        Some(STDIO)
    } else {
        let problem = Problem::error(key.position, "missing `url` or `command`");
        let hint = "add `url` for a remote server or `command` for a local one";
        reader.report("", problem.hint(hint));
        None
    };
    reader.report_duplicates("", entries);
    let entries: Vec<(Key, Node)> =
        entries.iter().filter(|(key, node)| is_for(reader, kind, key, node)).cloned().collect();
    let node = Node { position: node.position, ..Value::Map(entries).into() };
    let field = Field::of(&node);
    let checked = reader.known_keys(schema(), &field)?;
    let mut entry: ServerEntry = reader.take(&checked, &field)?;
    if entry.keepalive < MIN_KEEPALIVE {
        let least = MIN_KEEPALIVE.as_secs();
        let message = format!("is less than {least} seconds; using {least}");
        reader.warn_of_key("keepalive_interval", message, None);
        entry.keepalive = MIN_KEEPALIVE;
    }
    if reader.is_set("tools.include") && reader.is_set("tools.exclude") {
        reader.warn_of_key("tools.exclude", "is ignored because `tools.include` is set", None);
    }
    entry.endpoint = match kind? {
        HTTP => Endpoint::Http(Box::new(http(reader, &checked, &field)?)),
        _ => Endpoint::Stdio(stdio(reader, &checked, &field)?),
    };
    Some(ServerEntry { name: key.text.clone(), ..entry })
}

/// Whether a key applies to this kind of server. If not, adds a warning, unless the kind is
/// unknown.
fn is_for(reader: &mut Reader<'_>, kind: Option<&str>, key: &Key, node: &Node) -> bool {
    let kinds = schema().kinds_of(&key.text);
    if kinds.is_empty() || kind.is_some_and(|kind| kinds.contains(&kind)) {
        return true;
    }
    // `transport: stdio` is redundant beside a command.
    let is_redundant = key.text == "transport" && node.written() == Some("stdio");
    if kind.is_none() || node.is_null() || is_redundant {
        return false;
    }
    let (position, message) = match key.text.as_str() {
        "command" => (node.position, "is ignored because `url` is set"),
        _ if kinds.contains(&STDIO) => {
            (key.position, "applies only to local servers (`command`); it is ignored")
        }
        _ => (key.position, "applies only to remote servers (`url`); it is ignored"),
    };
    reader.report(&key.text, Problem::warning(position, message));
    false
}

fn stdio(reader: &mut Reader<'_>, keys: &Json, field: &Field<'_>) -> Option<StdioEndpoint> {
    keys.get("command")?;
    let mut endpoint: StdioEndpoint = reader.take(keys, field)?;
    if endpoint.command.value().contains('\0') {
        reader.refuse_key("command", "must not contain a NUL character", None);
    }
    endpoint.args = reader.secrets.args(endpoint.args);
    let StdioFile { lifecycle } = reader.take(keys, field)?;
    for (name, period, below) in [
        ("idle_timeout_seconds", &mut endpoint.idle_timeout, lifecycle.idle_timeout_seconds),
        ("max_lifetime_seconds", &mut endpoint.max_lifetime, lifecycle.max_lifetime_seconds),
    ] {
        let inner = format!("lifecycle.{name}");
        if reader.is_set(name) && reader.is_set(&inner) {
            let message = "is ignored because it is also set outside `lifecycle`";
            reader.warn_of_key(&inner, message, None);
        } else if reader.is_set(&inner) {
            *period = below;
        }
    }
    Some(endpoint)
}

fn http(reader: &mut Reader<'_>, keys: &Json, field: &Field<'_>) -> Option<HttpEndpoint> {
    keys.get("url")?;
    let mut endpoint: HttpEndpoint = reader.take(keys, field)?;
    let HttpFile { client_key, auth, oauth } = reader.take(keys, field)?;
    check_headers(reader, &endpoint.headers);
    endpoint.client_cert = client_cert(reader, endpoint.client_cert, client_key);
    if auth.is_some() {
        oauth.check_flow(reader);
        endpoint.auth = Auth::OAuth(Box::new(oauth));
    } else if reader.is_set("oauth") && !reader.is_set("auth") {
        reader.warn_of_key("oauth", "has no effect without `auth: oauth`", None);
    }
    Some(endpoint)
}

/// Header names are case-insensitive.
fn check_headers(reader: &mut Reader<'_>, headers: &[(String, Text)]) {
    for (at, (name, _)) in headers.iter().enumerate() {
        let same = |(other, _): &&(String, Text)| other.eq_ignore_ascii_case(name) && other != name;
        if let Some((other, _)) = headers[..at].iter().find(same) {
            let message = format!("is the same header as `{other}`, which is also set");
            reader.refuse_key(&format!("headers.{name}"), message, None);
        }
    }
}

fn client_cert(
    reader: &mut Reader<'_>,
    cert: Option<ClientCert>,
    key: Option<Text>,
) -> Option<ClientCert> {
    let is_given = reader.is_set("client_key");
    if is_given && !reader.is_set("client_cert") {
        reader.refuse_key("client_key", "requires `client_cert`", None);
    }
    let cert = cert?;
    if is_given && cert.key.is_some() {
        let message = "must not be set if `client_cert` is a list, which includes the key";
        reader.refuse_key("client_key", message, None);
        return None;
    }
    Some(ClientCert { key: cert.key.or(key), ..cert })
}

#[cfg(test)]
mod tests;
