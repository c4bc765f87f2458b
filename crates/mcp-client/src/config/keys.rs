//! The one table of all keys of a server entry, and of those for all servers. The reader knows no
//! other keys, and the page of the documentation is made from it.

mod page;

pub use page::page;

/// Which servers a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applies {
    /// Local processes.
    Stdio,
    /// Remote addresses.
    Http,
    /// All servers.
    Both,
}

impl Applies {
    /// The kind of server in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Stdio => "local servers (`command`)",
            Self::Http => "remote servers (`url`)",
            Self::Both => "all servers",
        }
    }

    /// The kind of server in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "HTTP",
            Self::Both => "both",
        }
    }
}

/// A mapping of known keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// Its key in the entry; empty for the entry itself.
    pub name: &'static str,
    /// What it is about, in a sentence or two.
    pub about: &'static str,
    /// Its keys.
    pub keys: &'static [Known],
}

/// A key that is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// What its value may be, in words.
    pub kind: &'static str,
    /// Which servers it is for.
    pub applies: Applies,
    /// What is used without it, as it would be written; empty if there is nothing.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// A key of a section.
pub fn find(section: &str, name: &str) -> Option<&'static Known> {
    all()
        .filter(|known| known.name == section)
        .flat_map(|known| known.keys)
        .find(|key| key.name == name)
}

/// The names of the keys of a section.
pub fn names(section: &str) -> impl Iterator<Item = &'static str> {
    let keys = all().find(|known| known.name == section).map(|known| known.keys);
    keys.unwrap_or_default().iter().map(|key| key.name)
}

fn all() -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter().chain([&FOR_ALL])
}

const fn stdio(
    name: &'static str,
    kind: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Known {
    Known { name, kind, applies: Applies::Stdio, default, meaning }
}

const fn http(
    name: &'static str,
    kind: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Known {
    Known { name, kind, applies: Applies::Http, default, meaning }
}

const fn both(
    name: &'static str,
    kind: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Known {
    Known { name, kind, applies: Applies::Both, default, meaning }
}

/// The root key beside the servers, for what holds for all of them.
pub static FOR_ALL: Section = Section {
    name: "mcp",
    about: "A root key beside `mcp_servers`, for all servers.",
    keys: &[http(
        "client_metadata_url",
        "string",
        "",
        "Address of the client document of servers that name none under `oauth`: https, with a \
         path, without fragment, user information and dot segments. Without it, that of the member \
         service if it has one, else the one that was built into the program, if any.",
    )],
};

/// Every key of an entry, section by section.
pub static SECTIONS: &[Section] = &[
    Section {
        name: "",
        about: "An entry has either `command`, which starts a local process, or `url`, which is \
                a remote address. With both, `url` wins and a warning says so; with neither, the \
                server is refused.",
        keys: ENTRY,
    },
    Section {
        name: "lifecycle",
        about: "The two periods may also stand here; the same key in the entry itself wins.",
        keys: LIFECYCLE,
    },
    Section {
        name: "tools",
        about: "A bare string (names separated by commas or white space) or a bare list is \
                `include`. Patterns match the server's own names, with hyphens and dots: exact \
                names, or globs with `*`, `?`, `[seq]` and `[!seq]`; case counts.",
        keys: TOOLS,
    },
    Section {
        name: "oauth",
        about: "Options of `auth: oauth`. All of them may be left out; an empty string is as \
                good as none.",
        keys: OAUTH,
    },
    Section {
        name: "sampling",
        about: "What the server may ask of a model. `sampling: false` is short for \
                `enabled: false`.",
        keys: SAMPLING,
    },
    Section {
        name: "elicitation",
        about: "What the server may ask of a person. Forms go through the approval surface; \
                requests to open an address are declined. `elicitation: false` is short for \
                `enabled: false`.",
        keys: ELICITATION,
    },
];

const ENTRY: &[Known] = &[
    stdio("command", "string", "", "Executable to launch: a name on the path, or a path."),
    stdio(
        "args",
        "list or string",
        "[]",
        "Arguments of the process. A string is split as a shell would, without running one; a \
         string that begins with `[` must be a JSON list.",
    ),
    stdio(
        "env",
        "mapping",
        "{}",
        "Variables the process gets beside the safe ones of our own environment.",
    ),
    stdio("cwd", "string", "", "Working directory of the process."),
    stdio(
        "idle_timeout_seconds",
        "number",
        "0",
        "Stops the process after it was idle so long; the next call starts it again. 0 is never.",
    ),
    stdio(
        "max_lifetime_seconds",
        "number",
        "0",
        "Stops the process at this age; the next call starts it again. 0 is never.",
    ),
    stdio("lifecycle", "mapping", "", "Another place for the two keys above."),
    http("url", "string", "", "Address of the server: http or https, with a host."),
    http("headers", "mapping", "{}", "Headers of every request to the server."),
    http(
        "ssl_verify",
        "bool or string",
        "true",
        "`true` trusts the system's authorities, a path those of a PEM file. `false` accepts any \
         certificate, which is insecure.",
    ),
    http(
        "client_cert",
        "string or list",
        "",
        "Client certificate (mTLS): the path of a PEM file with certificate and key, or \
         `[cert, key]`, or `[cert, key, password]`.",
    ),
    http(
        "client_key",
        "string",
        "",
        "Path of the private key, when `client_cert` is a string and the key is elsewhere.",
    ),
    http(
        "skip_preflight",
        "bool",
        "false",
        "Skips the probe before the first connection. The probe fails if HEAD, or else GET, answers \
         2xx with a content type other than `application/json` or `text/event-stream`, even if POST \
         would work. Other statuses and answers without a content type pass.",
    ),
    http(
        "transport",
        "string",
        "",
        "`sse` selects the SSE transport of revision 2024-11-05 instead of Streamable HTTP.",
    ),
    http(
        "auth",
        "string",
        "",
        "`oauth` signs in with OAuth 2.1 and PKCE. Nothing else is allowed.",
    ),
    http("oauth", "mapping", "", "Options of the sign-in."),
    both(
        "enabled",
        "bool",
        "true",
        "`false` leaves the server out entirely: no connection, no discovery, no tools.",
    ),
    both("required", "bool", "false", "`true` makes the start fail when the server does."),
    both(
        "lazy",
        "bool",
        "false",
        "`true` registers the tools that were seen last time and connects on the first call.",
    ),
    both("timeout", "number", "300", "Seconds a tool call may take without a sign of progress."),
    both("connect_timeout", "number", "60", "Seconds the first connection may take."),
    both(
        "protocol",
        "string",
        "auto",
        "`auto`: the `initialize` handshake, then `server/discover` if the server only knows the \
         stateless revision 2026-07-28. `stateless`: `server/discover`, then one handshake. \
         `legacy`: the handshake only. Also `modern` and `2026-07-28` for `stateless`, \
         `handshake` for `legacy`.",
    ),
    both(
        "supports_parallel_tool_calls",
        "bool",
        "false",
        "Whether several tools of this server may run at once.",
    ),
    both(
        "keepalive_interval",
        "number",
        "180",
        "Seconds between two pings of a quiet server. Values below 5 are raised to 5.",
    ),
    both("tools", "mapping, string or list", "", "Which tools are registered."),
    both("sampling", "mapping or bool", "", "What the server may ask of a model."),
    both("elicitation", "mapping or bool", "", "What the server may ask of a person."),
    both(
        "trust",
        "string",
        "full",
        "`untrusted` asks a person before every call of a tool that does not claim to be \
         read-only. Any value other than exactly `full` counts as `untrusted`.",
    ),
];

const LIFECYCLE: &[Known] = &[
    stdio("idle_timeout_seconds", "number", "0", "As in the entry itself."),
    stdio("max_lifetime_seconds", "number", "0", "As in the entry itself."),
];

const TOOLS: &[Known] = &[
    both(
        "include",
        "string or list",
        "",
        "Only these tools. An empty list registers none; null is the same as leaving it out. A \
         string is one name or glob.",
    ),
    both("exclude", "string or list", "[]", "All tools but these. Ignored beside `include`."),
    both(
        "resources",
        "bool",
        "true",
        "Whether `list_resources` and `read_resource` are registered, if the server has resources.",
    ),
    both(
        "prompts",
        "bool",
        "true",
        "Whether `list_prompts` and `get_prompt` are registered, if the server has prompts.",
    ),
];

const OAUTH: &[Known] = &[
    http(
        "client_metadata_url",
        "string",
        "",
        "Address of your own client document: https, with a path, without fragment, user \
         information and dot segments.",
    ),
    http("cimd", "bool", "true", "`false` registers a client instead of naming the document."),
    http(
        "user_agent",
        "string",
        "",
        "User-Agent of requests to the token endpoint, and of no others.",
    ),
    http("client_id", "string", "", "A client that was registered beforehand."),
    http("client_secret", "string", "", "Its secret."),
    http("client_name", "string", "", "The name to register under."),
    http(
        "token_endpoint_auth_method",
        "string",
        "",
        "How the client authenticates at the token endpoint: `none`, `client_secret_basic`, \
         `client_secret_post` or `private_key_jwt`.",
    ),
    http("redirect_uri", "string", "", "The whole redirect address, such as that of a proxy."),
    http("redirect_port", "integer", "0", "Port of the loopback redirect; 0 picks one."),
    http(
        "redirect_host",
        "string",
        "127.0.0.1",
        "Host written in the loopback redirect: `127.0.0.1`, `localhost` or `[::1]`.",
    ),
    http("scope", "string", "", "The scopes to ask for, separated by spaces."),
    http("timeout", "number", "300", "Seconds a login waits for the browser."),
    http(
        "flow",
        "string",
        "browser",
        "`browser`: a person signs in. Without a person: `client_credentials`, with the client's \
         own secret or key; `workload`, with a statement that the surroundings give the program; \
         `enterprise`, with an identity token that an identity provider exchanges.",
    ),
    http("private_key", "string", "", "PEM file of the key a client proves itself with."),
    http(
        "assertion_file",
        "string",
        "",
        "File with the statement about the program, or the identity token; read anew each time.",
    ),
    http("assertion", "string", "", "The same as a text, best from a variable."),
    http("idp_token_endpoint", "string", "", "Where the identity provider exchanges tokens."),
    http("idp_client_id", "string", "", "The client there."),
    http("idp_client_secret", "string", "", "Its secret."),
];

const SAMPLING: &[Known] = &[
    both("enabled", "bool", "true", "Whether it may ask at all."),
    both("model", "string", "", "The model used instead of what the server hints at."),
    both("max_tokens_cap", "integer", "4096", "The most tokens of one answer."),
    both("timeout", "number", "30", "Seconds one answer may take."),
    both("max_rpm", "integer", "10", "The most requests in a minute."),
    both("max_tool_rounds", "integer", "5", "The most rounds of tool use; 0 allows none."),
    both("allowed_models", "string or list", "[]", "The models it may use; empty means any."),
];

const ELICITATION: &[Known] = &[
    both("enabled", "bool", "true", "Whether it may ask at all."),
    both("timeout", "number", "300", "Seconds a person has to answer."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_stands_twice_and_every_key_is_explained() {
        for section in SECTIONS {
            let mut names: Vec<_> = section.keys.iter().map(|key| key.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), section.keys.len(), "{}", section.name);
            for key in section.keys {
                assert!(key.meaning.ends_with('.') && !key.kind.is_empty(), "{}", key.name);
            }
        }
    }

    #[test]
    fn every_section_is_a_key_of_the_entry() {
        for section in SECTIONS.iter().filter(|section| !section.name.is_empty()) {
            let key = find("", section.name).unwrap();
            assert!(section.keys.iter().all(|inner| inner.applies == key.applies));
        }
    }
}
