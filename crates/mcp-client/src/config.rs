//! What a person configured for each MCP server, after reading, checking and resolving.
//!
//! A [`ServerEntry`] is complete: every default is filled in and every variable reference is
//! resolved. Strings that may hold references are [`Text`]: what is shown is their spelling, what
//! is used is the resolved value. The structs here declare the keys of the file: the reader, the
//! JSON Schema and the reference page are derived from them.

mod address;
pub mod danger;
pub mod foreign;
mod oauth;
mod page;
mod read;

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{Named, Seconds, SecondsOrZero, section};

pub(crate) use address::fault_of_address;
pub use address::fault_of_client_document;
pub use oauth::{Flow, OauthOptions};
pub use page::page;
pub use read::{
    Configured, Parsed, parse, parse_document, parse_entry, schema, schema_for_all, valid_name,
};
pub use settings::{
    KnownSecret, MAX_CONFIG_BYTES, MAX_PROBLEMS, MAX_SECONDS, MAX_SECRETS, Problem, Scope,
    Severity, Text, env_file, looks_like_token,
};

/// How long a tool call may be silent, unless the entry says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);
/// How long the first connection may take, unless the entry says otherwise.
pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_mins(1);
/// How often a quiet server is asked whether it lives.
pub const DEFAULT_KEEPALIVE: Duration = Duration::from_mins(3);
/// The shortest keepalive period; smaller ones are raised to it.
pub const MIN_KEEPALIVE: Duration = Duration::from_secs(5);
/// The most servers of one configuration; further ones are refused.
pub const MAX_SERVERS: usize = 256;
/// The most headers of one server.
pub const MAX_HEADERS: usize = 128;
/// The most arguments or variables of one process.
pub const MAX_LAUNCH_ITEMS: usize = 1024;
/// The most names or globs of one filter.
pub const MAX_FILTERS: usize = 4096;

const MANY_NAMES: &str = "must be at most 4096 names";

/// One server of `mcp_servers`.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the configuration")]
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = section::<Self>)]
pub struct ServerEntry {
    /// The key of its entry.
    #[serde(skip)]
    pub name: String,
    /// How it is reached.
    #[serde(skip)]
    pub endpoint: Endpoint,
    /// `false` leaves the server out entirely: no connection, no discovery, no tools.
    pub enabled: bool,
    /// `true` makes the start fail when the server does.
    pub required: bool,
    /// `true` registers the tools that were seen last time and connects on the first call.
    pub lazy: bool,
    /// Seconds a tool call may take without a sign of progress.
    #[serde(with = "Seconds")]
    pub timeout: Duration,
    /// Seconds the first connection may take.
    #[serde(with = "Seconds")]
    pub connect_timeout: Duration,
    /// `auto`: the `initialize` handshake, then `server/discover` if the server only knows the
    /// stateless revision 2026-07-28. `stateless`: `server/discover`, then one handshake. `legacy`:
    /// the handshake only. Also `modern` and `2026-07-28` for `stateless`, `handshake` for `legacy`.
    pub protocol: Protocol,
    /// Whether several tools of this server may run at once.
    #[serde(rename = "supports_parallel_tool_calls")]
    pub parallel_calls: bool,
    /// Seconds between two pings of a quiet server. Values below 5 are raised to 5.
    #[serde(rename = "keepalive_interval", with = "SecondsOrZero")]
    pub keepalive: Duration,
    /// Which tools are registered.
    #[schemars(extend("format" = "tools", "x-type" = "mapping, string or list"))]
    #[schemars(extend("x-accepts" = {"type": ["string", "array"]}))]
    pub tools: ToolPolicy,
    /// What the server may ask of a model.
    #[schemars(extend("format" = "switchable", "x-type" = "mapping or bool"))]
    #[schemars(extend("x-accepts" = {"type": ["boolean", "string", "integer"]}))]
    pub sampling: SamplingPolicy,
    /// What the server may ask of a person.
    #[schemars(extend("format" = "switchable", "x-type" = "mapping or bool"))]
    #[schemars(extend("x-accepts" = {"type": ["boolean", "string", "integer"]}))]
    pub elicitation: ElicitationPolicy,
    /// `untrusted` asks a person before every call of a tool that does not claim to be read-only.
    /// Any value other than exactly `full` counts as `untrusted`.
    #[schemars(extend(
        "x-exact" = true,
        "x-otherwise" = ["untrusted", "the server is treated as untrusted"],
    ))]
    pub trust: Trust,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum Endpoint {
    /// A local process.
    Stdio(StdioEndpoint),
    /// A remote address.
    Http(Box<HttpEndpoint>),
}

/// A local process that speaks over its standard streams.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[schemars(transform = section::<Self>)]
pub struct StdioEndpoint {
    /// Executable to launch: a name on the path, or a path.
    #[schemars(extend("format" = "path", "x-wanted" = "the name or path of an executable"))]
    pub command: Text,
    /// Arguments of the process. A string is split as a shell would, without running one; a string
    /// that begins with `[` must be a JSON list.
    #[serde(default)]
    #[schemars(extend("format" = "args", "x-type" = "list or string", "default" = []))]
    #[schemars(extend("items" = {"type": "string", "x-scalar": true}))]
    pub args: Vec<Text>,
    /// Variables the process gets beside the safe ones of our own environment.
    #[serde(default, with = "Named::<Text>")]
    #[schemars(extend(
        "propertyNames" = {"type": "string", "format": "variable-name"},
        "additionalProperties" = {"type": "string", "format": "variable", "x-optional": true},
        "maxProperties" = MAX_LAUNCH_ITEMS,
        "x-items" = "variables",
        "default" = {},
    ))]
    pub env: Vec<(String, Text)>,
    /// Working directory of the process.
    #[schemars(extend("format" = "path", "x-wanted" = "the path of a directory"))]
    pub cwd: Option<Text>,
    /// Stops the process after it was idle so long; the next call starts it again. 0 is never.
    #[serde(default, rename = "idle_timeout_seconds", with = "SecondsOrZero")]
    pub idle_timeout: Option<Duration>,
    /// Stops the process at this age; the next call starts it again. 0 is never.
    #[serde(default, rename = "max_lifetime_seconds", with = "SecondsOrZero")]
    pub max_lifetime: Option<Duration>,
}

/// A remote server.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[schemars(transform = section::<Self>)]
pub struct HttpEndpoint {
    /// Address of the server: http or https, with a host.
    #[schemars(extend("format" = "url"))]
    pub url: Text,
    /// Headers of every request to the server.
    #[serde(default, with = "Named::<Text>")]
    #[schemars(extend(
        "propertyNames" = {"type": "string", "format": "header-name"},
        "additionalProperties" = {"type": "string", "format": "header", "x-optional": true},
        "maxProperties" = MAX_HEADERS,
        "x-items" = "headers",
        "default" = {},
    ))]
    pub headers: Vec<(String, Text)>,
    /// `true` trusts the system's authorities, a path those of a PEM file. `false` accepts any
    /// certificate, which is insecure.
    #[serde(default, rename = "ssl_verify")]
    #[schemars(with = "Option<String>")]
    #[schemars(extend("format" = "verify", "x-type" = "bool or string", "default" = true))]
    #[schemars(extend("x-accepts" = {"type": ["boolean", "integer"]}))]
    pub verify: Verify,
    /// Client certificate (mTLS): the path of a PEM file with certificate and key, or
    /// `[cert, key]`, or `[cert, key, password]`.
    #[schemars(with = "Option<Vec<String>>")]
    #[schemars(extend("format" = "client-cert", "x-type" = "string or list"))]
    pub client_cert: Option<ClientCert>,
    /// Skips the probe before the first connection. The probe fails if HEAD, or else GET, answers
    /// 2xx with a content type other than `application/json` or `text/event-stream`, even if POST
    /// would work. Other statuses and answers without a content type pass.
    #[serde(default)]
    pub skip_preflight: bool,
    /// `sse` selects the SSE transport of revision 2024-11-05 instead of Streamable HTTP.
    #[serde(default)]
    #[schemars(extend("default" = null, "x-accepts" = {"const": "stdio"}))]
    pub transport: HttpTransport,
    /// Whether and how to sign in.
    #[serde(skip)]
    pub auth: Auth,
}

/// The two transports over HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(extend(
    "x-words" = [
        ["http", "streamable"], ["streamable-http", "streamable"], ["streamable_http", "streamable"],
    ],
    "x-otherwise" = ["streamable", "Streamable HTTP is used"],
))]
pub enum HttpTransport {
    /// The transport of revision 2024-11-05.
    Sse,
    /// One address for all messages.
    #[default]
    Streamable,
}

/// How a server's certificate is judged.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// By the system's authorities.
    #[default]
    System,
    /// By the authorities of this PEM file; `~` is expanded.
    Bundle(Text),
    /// Not at all.
    Off,
}

/// The certificate we show to a server, and its key. Paths have `~` expanded.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ClientCert {
    /// The PEM file of the certificate, and of the key if there is no `key`.
    pub cert: Text,
    /// The PEM file of the key.
    pub key: Option<Text>,
    /// What decrypts the key.
    pub password: Option<Text>,
}

/// Whether and how to sign in to a remote server.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Auth {
    /// Only with the configured headers and certificate.
    #[default]
    Static,
    /// OAuth 2.1 with PKCE.
    OAuth(Box<OauthOptions>),
}

/// The order of handshakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(extend("x-words" = [
    ["modern", "stateless"], ["2026-07-28", "stateless"], ["handshake", "legacy"],
]))]
pub enum Protocol {
    /// `initialize`, then `server/discover` if that is refused.
    Auto,
    /// `server/discover`, then one `initialize`.
    Stateless,
    /// `initialize` only.
    Legacy,
}

/// A bare string (names separated by commas or white space) or a bare list is `include`. Patterns
/// match the server's own names, with hyphens and dots: exact names, or globs with `*`, `?`, `[seq]`
/// and `[!seq]`; case counts.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = section::<Self>)]
pub struct ToolPolicy {
    /// Only these tools. An empty list registers none; null is the same as leaving it out. A
    /// string is one name or glob.
    #[schemars(length(max = MAX_FILTERS), extend("items" = {"type": "string", "x-scalar": true}))]
    #[schemars(extend("format" = "filter", "x-type" = "string or list", "x-size" = MANY_NAMES))]
    pub include: Option<Vec<String>>,
    /// All tools but these. Ignored beside `include`.
    #[schemars(length(max = MAX_FILTERS), extend("items" = {"type": "string", "x-scalar": true}))]
    #[schemars(extend("format" = "filter", "x-type" = "string or list", "x-size" = MANY_NAMES))]
    pub exclude: Vec<String>,
    /// Whether `list_resources` and `read_resource` are registered, if the server has resources.
    pub resources: bool,
    /// Whether `list_prompts` and `get_prompt` are registered, if the server has prompts.
    pub prompts: bool,
}

// Patterns and models may come from variables: only their number is shown.
impl fmt::Debug for ToolPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolPolicy")
            .field("include", &self.include.as_ref().map(Vec::len))
            .field("exclude", &self.exclude.len())
            .field("resources", &self.resources)
            .field("prompts", &self.prompts)
            .finish()
    }
}

impl Default for ToolPolicy {
    fn default() -> Self {
        Self { include: None, exclude: Vec::new(), resources: true, prompts: true }
    }
}

/// Whether a server's write-capable tools need approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// No.
    Full,
    /// Every tool that does not say it only reads.
    Untrusted,
}

/// What the server may ask of a model. `sampling: false` is short for `enabled: false`.
#[derive(Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = section::<Self>)]
pub struct SamplingPolicy {
    /// Whether it may ask at all.
    pub enabled: bool,
    /// The model used instead of what the server hints at.
    #[schemars(extend("x-optional" = true))]
    pub model: Option<String>,
    /// The most tokens of one answer.
    #[schemars(range(min = 1, max = u32::MAX))]
    pub max_tokens_cap: u32,
    /// Seconds one answer may take.
    #[serde(with = "Seconds")]
    pub timeout: Duration,
    /// The most requests in a minute.
    #[schemars(range(min = 1, max = u32::MAX))]
    pub max_rpm: u32,
    /// The most rounds of tool use; 0 allows none.
    #[schemars(range(min = 0, max = u32::MAX))]
    pub max_tool_rounds: u32,
    /// The models it may use; empty means any.
    #[schemars(extend("items" = {"type": "string", "x-scalar": true}, "x-type" = "string or list"))]
    pub allowed_models: Vec<String>,
}

impl fmt::Debug for SamplingPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SamplingPolicy")
            .field("enabled", &self.enabled)
            .field("model", &self.model.is_some())
            .field("max_tokens_cap", &self.max_tokens_cap)
            .field("timeout", &self.timeout)
            .field("max_rpm", &self.max_rpm)
            .field("max_tool_rounds", &self.max_tool_rounds)
            .field("allowed_models", &self.allowed_models.len())
            .finish()
    }
}

impl Default for SamplingPolicy {
    fn default() -> Self {
        Self {
            enabled: true,
            model: None,
            max_tokens_cap: 4096,
            timeout: Duration::from_secs(30),
            max_rpm: 10,
            max_tool_rounds: 5,
            allowed_models: Vec::new(),
        }
    }
}

/// What the server may ask of a person. Forms go through the approval surface; requests to open an
/// address are declined. `elicitation: false` is short for `enabled: false`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = section::<Self>)]
pub struct ElicitationPolicy {
    /// Whether it may ask at all.
    pub enabled: bool,
    /// Seconds a person has to answer.
    #[serde(with = "Seconds")]
    pub timeout: Duration,
}

impl Default for ElicitationPolicy {
    fn default() -> Self {
        Self { enabled: true, timeout: Duration::from_mins(5) }
    }
}

impl Default for ServerEntry {
    fn default() -> Self {
        Self::new("", Endpoint::Stdio(StdioEndpoint::new("")))
    }
}

impl ServerEntry {
    /// An entry with every default, reached by `endpoint`.
    pub fn new(name: impl Into<String>, endpoint: Endpoint) -> Self {
        Self {
            name: name.into(),
            enabled: true,
            required: false,
            lazy: false,
            endpoint,
            timeout: DEFAULT_TIMEOUT,
            connect_timeout: DEFAULT_CONNECT_TIMEOUT,
            protocol: Protocol::Auto,
            parallel_calls: false,
            keepalive: DEFAULT_KEEPALIVE,
            tools: ToolPolicy::default(),
            trust: Trust::Full,
            sampling: SamplingPolicy::default(),
            elicitation: ElicitationPolicy::default(),
        }
    }
}

impl ServerEntry {
    /// Whether a change from `self` to `other` leaves the connection as it is: only what is
    /// registered, trusted or waited for differs.
    pub(crate) fn same_connection(&self, other: &Self) -> bool {
        self.name == other.name
            && self.enabled == other.enabled
            && self.lazy == other.lazy
            && self.endpoint.same_connection(&other.endpoint)
            && self.protocol == other.protocol
            && self.parallel_calls == other.parallel_calls
            && self.sampling == other.sampling
            && self.elicitation == other.elicitation
    }
}

impl Endpoint {
    /// The same, of a way to a server: how long a process may live can change while it does.
    fn same_connection(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stdio(one), Self::Stdio(other)) => {
                let timeless = |endpoint: &StdioEndpoint| StdioEndpoint {
                    idle_timeout: None,
                    max_lifetime: None,
                    ..endpoint.clone()
                };
                timeless(one) == timeless(other)
            }
            _ => self == other,
        }
    }
}

impl StdioEndpoint {
    /// A process without arguments and variables.
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: Text::literal(command),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
            idle_timeout: None,
            max_lifetime: None,
        }
    }
}

impl HttpEndpoint {
    /// An address with every default.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: Text::literal(url),
            headers: Vec::new(),
            transport: HttpTransport::Streamable,
            skip_preflight: false,
            verify: Verify::System,
            client_cert: None,
            auth: Auth::Static,
        }
    }
}
