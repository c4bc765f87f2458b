//! Validated and resolved configuration of MCP servers.
//!
//! A [`ServerEntry`] is complete: every default is filled in and every variable reference is
//! resolved. Strings that may contain references are [`Text`], which displays as written and
//! resolves on use. The structs here declare the keys of the file: the reader, the JSON Schema
//! and the reference page are derived from them.

pub mod danger;
pub mod foreign;
mod oauth;
mod read;
pub mod server_json;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{Seconds, SecondsOrZero, section};

pub(crate) use crate::url::fault_of_address;
pub use crate::url::fault_of_client_document;
pub use oauth::{Flow, OauthOptions};
pub use read::{
    Configured, Parsed, page, parse, parse_document, parse_entry, schema, schema_for_all,
    valid_name,
};
pub use settings::{
    KnownSecret, MAX_CONFIG_BYTES, MAX_PROBLEMS, MAX_SECONDS, MAX_SECRETS, Problem, Scope,
    Severity, Text, env_file, looks_like_token,
};

/// Minimum keepalive interval; smaller values are raised to it.
pub const MIN_KEEPALIVE: Duration = Duration::from_secs(5);
/// Maximum number of servers in one configuration; further ones are rejected.
pub const MAX_SERVERS: usize = 256;
pub const MAX_HEADERS: usize = 128;
pub const MAX_LAUNCH_ITEMS: usize = 1024;
pub const MAX_FILTERS: usize = 4096;

const MANY_NAMES: &str = "must have at most 4096 names";

section! {
    /// One server of `mcp_servers`.
    #[derive(PartialEq)]
    pub struct ServerEntry {
        /// The key of its entry.
        #[serde(skip)]
        pub name: String,
        /// How it is reached.
        #[serde(skip)]
        pub endpoint: Endpoint = Endpoint::Stdio(StdioEndpoint::default()),
        /// `false` skips the server: no connection, no discovery, no tools.
        pub enabled: bool = true,
        /// `true` makes startup fail if this server fails to connect.
        pub required: bool,
        /// `true` registers the tools of the last connection and connects on the first call.
        pub lazy: bool,
        /// Tool call timeout in seconds, restarted by every progress notification.
        pub timeout: Duration as "Seconds" = Duration::from_mins(5),
        /// Timeout of the first connection in seconds.
        pub connect_timeout: Duration as "Seconds" = Duration::from_mins(1),
        /// `auto`: try the `initialize` handshake, then `server/discover` if the server supports
        /// only the stateless revision 2026-07-28. `stateless`: try `server/discover`, then one
        /// handshake. `legacy`: handshake only. `modern` and `2026-07-28` are aliases of
        /// `stateless`, `handshake` of `legacy`.
        pub protocol: Protocol = Protocol::Auto,
        /// Whether tools of this server may run concurrently.
        #[serde(rename = "supports_parallel_tool_calls")]
        pub parallel_calls: bool,
        /// Seconds between liveness pings of an idle server. Values below 5 are raised to 5.
        #[serde(rename = "keepalive_interval", with = "SecondsOrZero")]
        pub keepalive: Duration = Duration::from_mins(3),
        /// Which tools to register.
        #[schemars(extend("format" = "tools", "x-type" = "mapping, string or list"))]
        #[schemars(extend("x-accepts" = {"type": ["string", "array"]}))]
        pub tools: ToolPolicy,
        /// Policy for LLM requests from the server.
        #[schemars(extend("format" = "switchable", "x-type" = "mapping or bool"))]
        #[schemars(extend("x-accepts" = {"type": ["boolean", "string", "integer"]}))]
        pub sampling: SamplingPolicy,
        /// Policy for user input requests from the server.
        #[schemars(extend("format" = "switchable", "x-type" = "mapping or bool"))]
        #[schemars(extend("x-accepts" = {"type": ["boolean", "string", "integer"]}))]
        pub elicitation: ElicitationPolicy,
        /// `untrusted` requires user approval for every call of a tool that does not claim to be
        /// read-only. Any value other than exactly `full` means `untrusted`.
        #[schemars(extend(
            "x-exact" = true,
            "x-otherwise" = ["untrusted", "the server is treated as untrusted"],
        ))]
        pub trust: Trust = Trust::Full,
        /// Whether the server learns the workspace, the folder in which you run the command, as its
        /// root. Some file servers then allow this folder instead of those in their arguments.
        pub roots: bool,
        /// Least severe level of the log messages that the server sends: `debug`, `info`, `notice`,
        /// `warning`, `error`, `critical`, `alert` or `emergency`. By default the server decides.
        pub log_level: Option<LogLevel>,
        /// Whether models get the instructions that the server sends, marked as its words. By
        /// default, those of trusted servers, unless they contain phrases of prompt injections.
        pub instructions: Option<bool>,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Endpoint {
    Stdio(StdioEndpoint),
    Http(Box<HttpEndpoint>),
}

section! {
    /// A local process that speaks over its standard streams.
    #[derive(PartialEq)]
    pub struct StdioEndpoint {
        /// Executable to launch: a name looked up in `PATH`, or a path.
        #[schemars(extend("format" = "path", "x-wanted" = "the name or path of an executable"))]
        pub command: Text,
        /// Arguments of the process. A string is split into words like in a shell, but no shell is
        /// run; a string that starts with `[` must be a JSON list.
        #[schemars(extend("format" = "args", "x-type" = "list or string", "default" = []))]
        #[schemars(extend("items" = {"type": "string", "x-scalar": true}))]
        pub args: Vec<Text>,
        /// Environment variables of the process, in addition to the safe ones that it inherits.
        #[schemars(with = "BTreeMap<String, String>")]
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
        /// Stop the process after this many idle seconds; the next call restarts it. 0 disables
        /// this.
        #[serde(rename = "idle_timeout_seconds", with = "SecondsOrZero")]
        pub idle_timeout: Option<Duration>,
        /// Stop the process at this age in seconds; the next call restarts it. 0 disables this.
        #[serde(rename = "max_lifetime_seconds", with = "SecondsOrZero")]
        pub max_lifetime: Option<Duration>,
    }
}

section! {
    /// A remote server.
    #[derive(PartialEq)]
    pub struct HttpEndpoint {
        /// URL of the server: http or https, with a host.
        #[schemars(extend("format" = "url"))]
        pub url: Text,
        /// Headers to send with every request to the server.
        #[schemars(with = "BTreeMap<String, String>")]
        #[schemars(extend(
            "propertyNames" = {"type": "string", "format": "header-name"},
            "additionalProperties" = {"type": "string", "format": "header", "x-optional": true},
            "maxProperties" = MAX_HEADERS,
            "x-items" = "headers",
            "default" = {},
        ))]
        pub headers: Vec<(String, Text)>,
        /// `true` trusts the system's certificate authorities; a path trusts those in a PEM file.
        /// `false` accepts any certificate, which is insecure.
        #[serde(rename = "ssl_verify")]
        #[schemars(with = "Option<String>")]
        #[schemars(extend("format" = "verify", "x-type" = "bool or string", "default" = true))]
        #[schemars(extend("x-accepts" = {"type": ["boolean", "integer"]}))]
        pub verify: Verify,
        /// Client certificate (mTLS): path of a PEM file with certificate and key, or `[cert,
        /// key]`, or `[cert, key, password]`.
        #[schemars(with = "Option<Vec<String>>")]
        #[schemars(extend("format" = "client-cert", "x-type" = "string or list"))]
        pub client_cert: Option<ClientCert>,
        /// Skip the probe before the first connection. The probe sends HEAD, or GET as a fallback,
        /// and fails on a 2xx response whose content type is neither `application/json` nor
        /// `text/event-stream`, even if POST would work. Other statuses and responses without a
        /// content type pass.
        pub skip_preflight: bool,
        /// `sse` selects the SSE transport of revision 2024-11-05 instead of Streamable HTTP.
        #[schemars(extend("default" = null, "x-accepts" = {"const": "stdio"}))]
        pub transport: HttpTransport,
        /// Whether to sign in, and how.
        #[serde(skip)]
        pub auth: Auth,
    }
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

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// The system's certificate authorities.
    #[default]
    System,
    /// The certificate authorities in this PEM file; `~` is expanded.
    Bundle(Text),
    Off,
}

/// Our client certificate and its key. `~` is expanded in the paths.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ClientCert {
    /// PEM file of the certificate, and of the key if `key` is not set.
    pub cert: Text,
    pub key: Option<Text>,
    pub password: Option<Text>,
}

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
    Auto,
    Stateless,
    Legacy,
}

section! { private
    /// A bare string (names separated by commas or whitespace) or a bare list sets `include`.
    /// Patterns match the server's own tool names, with hyphens and dots: exact names, or globs
    /// with `*`, `?`, `[seq]` and `[!seq]`. Matching is case-sensitive.
    #[derive(PartialEq, Eq)]
    pub struct ToolPolicy {
        /// Register only these tools. An empty list registers none; null is the same as omitting
        /// the key. A string is one name or glob.
        #[schemars(length(max = MAX_FILTERS), extend("x-type" = "string or list", "x-size" = MANY_NAMES))]
        #[schemars(extend("format" = "filter", "items" = {"type": "string", "x-scalar": true}))]
        pub include: Option<Vec<String>>,
        /// Register all tools except these. Ignored if `include` is set.
        #[schemars(length(max = MAX_FILTERS), extend("x-type" = "string or list", "x-size" = MANY_NAMES))]
        #[schemars(extend("format" = "filter", "items" = {"type": "string", "x-scalar": true}))]
        pub exclude: Vec<String>,
        /// Register `list_resources` and `read_resource` if the server has resources.
        pub resources: bool = true,
        /// Register `list_prompts` and `get_prompt` if the server has prompts.
        pub prompts: bool = true,
        /// Which tools need your approval: a mapping from names or globs to `always` (every call),
        /// `once` (the first call, and again after the tool changed) or `never` (unless the tool
        /// changed). Other tools follow `trust`. A name precedes globs; of several globs the
        /// strictest counts.
        #[schemars(with = "BTreeMap<String, ApprovalMode>")]
        #[schemars(extend("maxProperties" = MAX_FILTERS, "x-items" = "patterns", "default" = {}))]
        pub approval: Vec<(String, ApprovalMode)>,
    }
}

/// Whether calls of a tool need approval.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(extend("x-otherwise" = ["always", "every call needs approval"]))]
pub enum ApprovalMode {
    /// No call, unless the tool changed.
    Never,
    /// The first call, and the next one after the tool changed.
    Once,
    /// Every call.
    Always,
}

// Patterns and models may come from variables: only their number is shown.
impl fmt::Debug for ToolPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolPolicy")
            .field("include", &self.include.as_ref().map(Vec::len))
            .field("exclude", &self.exclude.len())
            .field("approval", &self.approval.len())
            .finish_non_exhaustive()
    }
}

/// The severity of a log message, as the protocol names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are those of the protocol")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// Whether a server's write-capable tools need approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    Full,
    Untrusted,
}

section! { private
    /// Policy for LLM requests from the server. `sampling: false` is short for `enabled: false`.
    #[derive(PartialEq)]
    pub struct SamplingPolicy {
        /// Whether the server may send these requests.
        pub enabled: bool = true,
        /// Model to use instead of the one the server hints at.
        #[schemars(extend("x-optional" = true))]
        pub model: Option<String>,
        /// Maximum number of tokens per response.
        pub max_tokens_cap: u32 where 1..=(u32::MAX) = 4096,
        /// Timeout of one response in seconds.
        pub timeout: Duration as "Seconds" = Duration::from_secs(30),
        /// Maximum number of requests per minute.
        pub max_rpm: u32 where 1..=(u32::MAX) = 10,
        /// Maximum number of tool rounds; 0 allows none.
        pub max_tool_rounds: u32 where 0..=(u32::MAX) = 5,
        /// Models the server may use; an empty list allows any.
        #[schemars(extend("x-type" = "string or list"))]
        #[schemars(extend("items" = {"type": "string", "x-scalar": true}))]
        pub allowed_models: Vec<String>,
    }
}

impl fmt::Debug for SamplingPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SamplingPolicy")
            .field("enabled", &self.enabled)
            .field("model", &self.model.is_some())
            .field("allowed_models", &self.allowed_models.len())
            .finish_non_exhaustive()
    }
}

section! {
    /// Policy for user input requests from the server. Forms are shown like approvals; requests to
    /// open a URL are declined. `elicitation: false` is short for `enabled: false`.
    #[derive(Copy, PartialEq, Eq)]
    pub struct ElicitationPolicy {
        /// Whether the server may send these requests.
        pub enabled: bool = true,
        /// Seconds to wait for the user's response.
        pub timeout: Duration as "Seconds" = Duration::from_mins(5),
    }
}

impl ServerEntry {
    /// An entry with default values.
    pub fn new(name: impl Into<String>, endpoint: Endpoint) -> Self {
        Self { name: name.into(), endpoint, ..Self::default() }
    }

    /// Whether a change from `self` to `other` keeps the connection: only registration, trust or
    /// timeouts differ.
    pub(crate) fn same_connection(&self, other: &Self) -> bool {
        self.name == other.name
            && self.enabled == other.enabled
            && self.lazy == other.lazy
            && self.endpoint.same_connection(&other.endpoint)
            && self.protocol == other.protocol
            && self.parallel_calls == other.parallel_calls
            && self.sampling == other.sampling
            && self.elicitation == other.elicitation
            && self.log_level == other.log_level
            && self.roots == other.roots
    }
}

impl Endpoint {
    /// As above, for an endpoint: the lifetime of a process can change without a restart.
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
    pub fn new(command: impl Into<String>) -> Self {
        Self { command: Text::literal(command), ..Self::default() }
    }
}

impl HttpEndpoint {
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: Text::literal(url), ..Self::default() }
    }
}
