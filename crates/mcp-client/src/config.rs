//! What a person configured for each MCP server, after reading, checking and resolving.
//!
//! A [`ServerEntry`] is complete: every default is filled in and every variable reference is
//! resolved. Strings that may hold references are [`Text`]: what is shown is what was written,
//! what is used is what it resolved to.

pub mod danger;
pub mod foreign;
pub mod keys;
mod read;

use std::fmt;
use std::time::Duration;

pub(crate) use read::fault_of_address;
pub use read::{Configured, Parsed, fault_of_client_document, parse, parse_entry, valid_name};
pub use settings::{
    KnownSecret, MAX_CONFIG_BYTES, MAX_PROBLEMS, MAX_SECONDS, MAX_SECRETS, Problem, Scope,
    Severity, Text, env_file, looks_like_token,
};

/// The most servers of one configuration; further ones are refused.
pub const MAX_SERVERS: usize = 256;
/// The most headers of one server.
pub const MAX_HEADERS: usize = 128;
/// The most names or globs of one filter.
pub const MAX_FILTERS: usize = 4096;
/// The most arguments or variables of one process.
pub const MAX_LAUNCH_ITEMS: usize = 1024;
/// How long a tool call may be silent, unless the entry says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);
/// How long the first connection may take, unless the entry says otherwise.
pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_mins(1);
/// How often a quiet server is asked whether it lives.
pub const DEFAULT_KEEPALIVE: Duration = Duration::from_mins(3);
/// The shortest keepalive period; smaller ones are raised to it.
pub const MIN_KEEPALIVE: Duration = Duration::from_secs(5);

/// One server of `mcp_servers`.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the configuration")]
#[derive(Debug, Clone, PartialEq)]
pub struct ServerEntry {
    /// The key it stands under.
    pub name: String,
    /// Whether it takes part at all.
    pub enabled: bool,
    /// Start fails without it.
    pub required: bool,
    /// Its tools are registered from the cache; it is connected on the first call.
    pub lazy: bool,
    /// How it is reached.
    pub endpoint: Endpoint,
    /// How long a tool call may be silent.
    pub timeout: Duration,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// Which handshake is tried, and in which order.
    pub protocol: Protocol,
    /// Whether several of its tools may run at once.
    pub parallel_calls: bool,
    /// How often it is asked whether it lives.
    pub keepalive: Duration,
    /// What of it is registered.
    pub tools: ToolPolicy,
    /// Whether its write-capable tools need a person's approval.
    pub trust: Trust,
    /// What it may ask of a model.
    pub sampling: SamplingPolicy,
    /// What it may ask of a person.
    pub elicitation: ElicitationPolicy,
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
#[derive(Debug, Clone, PartialEq)]
pub struct StdioEndpoint {
    /// The executable; `~` is expanded.
    pub command: Text,
    /// Its arguments.
    pub args: Vec<Text>,
    /// Variables it gets beyond the safe list, in the order written.
    pub env: Vec<(String, Text)>,
    /// Its working directory; `~` is expanded.
    pub cwd: Option<Text>,
    /// It is stopped after being idle this long.
    pub idle_timeout: Option<Duration>,
    /// It is stopped at this age.
    pub max_lifetime: Option<Duration>,
}

/// A remote server.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpEndpoint {
    /// Its address, http or https, with a host.
    pub url: Text,
    /// Sent with every request to it, in the order written.
    pub headers: Vec<(String, Text)>,
    /// Which transport it speaks.
    pub transport: HttpTransport,
    /// Whether the content-type probe is left out.
    pub skip_preflight: bool,
    /// How its certificate is judged.
    pub verify: Verify,
    /// The certificate we show.
    pub client_cert: Option<ClientCert>,
    /// Whether and how to sign in.
    pub auth: Auth,
}

/// The two transports over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpTransport {
    /// One address for all messages.
    Streamable,
    /// The transport of revision 2024-11-05.
    Sse,
}

/// How a server's certificate is judged.
#[derive(Debug, Clone, PartialEq)]
pub enum Verify {
    /// By the system's authorities.
    System,
    /// By the authorities of this PEM file; `~` is expanded.
    Bundle(Text),
    /// Not at all.
    Off,
}

/// The certificate we show to a server, and its key. Paths have `~` expanded.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientCert {
    /// The PEM file of the certificate, and of the key if there is no `key`.
    pub cert: Text,
    /// The PEM file of the key.
    pub key: Option<Text>,
    /// What decrypts the key.
    pub password: Option<Text>,
}

/// Whether and how to sign in to a remote server.
#[derive(Debug, Clone, PartialEq)]
pub enum Auth {
    /// Only with the configured headers and certificate.
    Static,
    /// OAuth 2.1 with PKCE.
    OAuth(Box<OauthOptions>),
}

/// The `oauth` mapping.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OauthOptions {
    /// Address of a self-hosted client document.
    pub client_metadata_url: Option<Text>,
    /// Whether the client document may be used.
    pub cimd: Option<bool>,
    /// User-Agent of requests to the token endpoint.
    pub user_agent: Option<Text>,
    /// A client registered beforehand.
    pub client_id: Option<Text>,
    /// Its secret.
    pub client_secret: Option<Text>,
    /// The name to register under.
    pub client_name: Option<Text>,
    /// How the client authenticates at the token endpoint.
    pub token_endpoint_auth_method: Option<Text>,
    /// The whole redirect address.
    pub redirect_uri: Option<Text>,
    /// The port of the loopback redirect; absent or 0 picks one.
    pub redirect_port: Option<u16>,
    /// The host written in the loopback redirect.
    pub redirect_host: Option<Text>,
    /// The scopes to ask for.
    pub scope: Option<Text>,
    /// How long a login waits.
    pub timeout: Option<Duration>,
    /// Who signs in.
    pub flow: Flow,
    /// The PEM file of the key that the client proves itself with; `~` is expanded.
    pub private_key: Option<Text>,
    /// A statement about us, or an identity token.
    pub assertion: Option<Text>,
    /// A file that holds it; `~` is expanded.
    pub assertion_file: Option<Text>,
    /// Where an identity provider exchanges identity tokens.
    pub idp_token_endpoint: Option<Text>,
    /// The client there.
    pub idp_client_id: Option<Text>,
    /// Its secret.
    pub idp_client_secret: Option<Text>,
}

/// Who signs in, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Flow {
    /// A person, in a browser.
    #[default]
    Browser,
    /// The program itself, with its own secret or key.
    ClientCredentials,
    /// The program, with a statement of its surroundings about it (RFC 7523).
    Workload,
    /// A person that an identity provider vouches for.
    Enterprise,
}

/// The order of handshakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `initialize`, then `server/discover` if that is refused.
    Auto,
    /// `server/discover`, then one `initialize`.
    Stateless,
    /// `initialize` only.
    Legacy,
}

/// What of a server is registered.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolPolicy {
    /// Only these native tools, by exact name or glob.
    pub include: Option<Vec<String>>,
    /// All native tools but these; without effect beside `include`.
    pub exclude: Vec<String>,
    /// Whether `list_resources` and `read_resource` are wanted.
    pub resources: bool,
    /// Whether `list_prompts` and `get_prompt` are wanted.
    pub prompts: bool,
}

// Patterns and models may come from variables: how many there are is all that is shown.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// No.
    Full,
    /// Every tool that does not say it only reads.
    Untrusted,
}

/// What a server may ask of a model.
#[derive(Clone, PartialEq)]
pub struct SamplingPolicy {
    /// Whether it may ask at all.
    pub enabled: bool,
    /// The model used instead of what the server hints at.
    pub model: Option<String>,
    /// The most tokens of one answer.
    pub max_tokens_cap: u32,
    /// How long one answer may take.
    pub timeout: Duration,
    /// The most requests in a minute.
    pub max_rpm: u32,
    /// The most rounds of tool use; 0 allows none.
    pub max_tool_rounds: u32,
    /// The models it may use; empty means any.
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

/// What a server may ask of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElicitationPolicy {
    /// Whether it may ask at all.
    pub enabled: bool,
    /// How long a person has to answer.
    pub timeout: Duration,
}

impl Default for ElicitationPolicy {
    fn default() -> Self {
        Self { enabled: true, timeout: Duration::from_mins(5) }
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
    /// A process with no arguments and no variables of its own.
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
