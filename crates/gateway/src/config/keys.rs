//! The one table of all keys of `gateway.yaml`. The reader knows no other keys, and the page of the
//! documentation is made from it.

mod caps;
mod limits;
mod services;

use self::caps::{MAX_IMAGES, MAX_MESSAGE_BYTES, MAX_N, MAX_TOKENS};
use self::limits::{LIMITS, NEW_KEYS};
use self::services::{DEPTH, DOWNLOADS, FETCH, MCP, MEDIA, RESEARCH, SEARCH};

/// A mapping of known keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// Its place in the file, `*` for a name that the operator chooses; empty for the file itself.
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
    /// What is used without it, as it would be written; empty if there is nothing.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// Whether a section has this key.
pub(super) fn find(section: &str, name: &str) -> bool {
    names(section).any(|known| known == name)
}

/// The names of the keys of a section.
pub(super) fn names(section: &str) -> impl Iterator<Item = &'static str> {
    let keys = SECTIONS.iter().find(|known| known.name == section).map(|known| known.keys);
    keys.unwrap_or_default().iter().map(|key| key.name)
}

/// The same in words.
pub(super) fn listed(section: &str) -> String {
    names(section).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

const fn key(
    name: &'static str,
    kind: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Known {
    Known { name, kind, default, meaning }
}

/// Every key, section by section.
pub static SECTIONS: &[Section] = &[
    Section { name: "", about: "All keys at the outermost level.", keys: ROOT },
    Section {
        name: "database",
        about: "Either the address alone, or a mapping. SQLite is for one process; several \
                processes share one PostgreSQL database.",
        keys: DATABASE,
    },
    Section {
        name: "artifacts",
        about: "Either the address alone, or a mapping. `region`, `endpoint` and the keys are for \
                buckets only.",
        keys: ARTIFACTS,
    },
    Section {
        name: "providers.*",
        about: "One upstream. Its name is 1 to 64 letters, digits, dots, underscores and hyphens, \
                and the full ids of its models begin with it. It needs a `kind`; if it has models, \
                `models` or `discover` or both.",
        keys: PROVIDER,
    },
    Section {
        name: "providers.*.models.*",
        about: "What is known of one model. `models` may also be a list of ids, and a model of \
                which there is nothing to say may be left without a value.",
        keys: MODEL,
    },
    Section {
        name: "providers.*.timeout",
        about: "One number instead of the mapping is for `first_byte` and `idle`, and for \
                `connect` if it is less than 10.",
        keys: TIMEOUT,
    },
    Section {
        name: "providers.*.health",
        about: "How the upstream is looked after; `health: false` leaves that out.",
        keys: HEALTH,
    },
    Section {
        name: "models.*",
        about: "An alias: a full id, a list of ids in the order they are tried, or a mapping. Its \
                name is 1 to 128 letters, digits and characters of `._-/:`.",
        keys: ALIAS,
    },
    Section {
        name: "models.*.targets.*",
        about: "One of several models that are chosen from by weight.",
        keys: TARGET,
    },
    Section { name: "prices", about: "What requests cost.", keys: PRICES },
    Section {
        name: "prices.default_micros",
        about: "What one request of each operation costs where nothing else is said. Listing and \
                polling are operations too.",
        keys: OPERATIONS,
    },
    Section { name: "limits", about: "How much of everything.", keys: LIMITS },
    Section {
        name: "limits.new_keys",
        about: "The limits of keys that are made without limits of their own. Without a value \
                there is no limit.",
        keys: NEW_KEYS,
    },
    Section {
        name: "media",
        about: "A request for media has one price, whatever it asks for within these limits.",
        keys: MEDIA,
    },
    Section {
        name: "downloads",
        about: "Files under `/v1/downloads`, put there by `agent gateway downloads publish`.",
        keys: DOWNLOADS,
    },
    Section {
        name: "research",
        about: "How research jobs are done. A job searches, reads pages and writes a report; every \
                step is stored, and any process on the same database goes on where another one \
                stopped.",
        keys: RESEARCH,
    },
    Section {
        name: "research.*",
        about: "How much a job of one depth may do: `quick`, `standard` or `deep`. When steps, \
                pages, tokens or time are used up, the report is written from what there is.",
        keys: DEPTH,
    },
    Section {
        name: "fetch",
        about: "How pages are read for `/v1/web/fetch`. Only addresses of the public internet are \
                connected to; what else may be read is named in `allow_private`.",
        keys: FETCH,
    },
    Section {
        name: "search",
        about: "How searches are answered. Who is asked stands under `providers`: those of the \
                kinds `searxng`, `brave`, `tavily` and `index`, in the order of the file; the next \
                where one fails or finds nothing.",
        keys: SEARCH,
    },
    Section {
        name: "mcp",
        about: "Who may speak to `/mcp`. A key is needed always; besides, requests must name this \
                service by an address, as `localhost`, or by the name in `public_url`, and pages in \
                a browser must come from there or from this machine.",
        keys: MCP,
    },
    Section {
        name: "log",
        about: "Lines on standard error. Bodies and secrets are never in them.",
        keys: LOG,
    },
    Section {
        name: "trace",
        about: "OpenTelemetry traces; without it there are none.",
        keys: TRACE,
    },
];

const ROOT: &[Known] = &[
    key("listen", "address:port", "127.0.0.1:8930", "Where the service listens."),
    key(
        "metrics_listen",
        "address:port",
        "",
        "Serve `/metrics` on this address alone, such as `127.0.0.1:9464`. Without it, `/metrics` \
         is a path of the service.",
    ),
    key(
        "public_url",
        "address",
        "",
        "How clients reach the service, without a path: https, or http on this machine. Without \
         it, `http://` and `listen`.",
    ),
    key(
        "database",
        "string or mapping",
        "sqlite:gateway.sqlite3",
        "Where members, keys and money are kept: `sqlite:PATH` or `postgres://…`.",
    ),
    key(
        "artifacts",
        "string or mapping",
        "file:artifacts",
        "Where files that were made are kept: `file:PATH` or `s3://BUCKET/PREFIX`. Without it, in \
         the folder `artifacts` beside the SQLite file, or else beside this file.",
    ),
    key(
        "admin_token",
        "string",
        "",
        "What the admin API asks for, at least 32 characters. Without it there is no admin API.",
    ),
    key(
        "key_secret",
        "string",
        "",
        "What the secrets of keys are hashed with, at least 32 characters. Without it, the content \
         of `gateway.secret` beside the file, which is made when it is missing. With another one \
         all keys are void.",
    ),
    key("providers", "mapping", "", "The upstreams, by name."),
    key("models", "mapping", "", "Aliases, by name."),
    key("prices", "mapping", "", "What requests cost."),
    key("limits", "mapping", "", "How much of everything."),
    key(
        "remote_images",
        "`refuse` or `inline`",
        "refuse",
        "What becomes of `image_url`s that lead elsewhere (`http`, `https`): the request is refused, \
         or the service fetches the image through the guard of `fetch` and sends it inline. \
         Upstreams never see such an address. `data:` addresses always pass.",
    ),
    key(
        "on_client_gone",
        "string",
        "cancel",
        "What becomes of an answer whose client has left after its first byte: `cancel` stops the \
         upstream, `finish` reads to the end. It is charged in either case.",
    ),
    key(
        "idempotency_hours",
        "integer",
        "24",
        "How long an `Idempotency-Key` and its answer are kept; at most 720.",
    ),
    key("responses_days", "integer", "30", "How long stored responses are kept; at most 3650."),
    key(
        "hold_lease_seconds",
        "integer",
        "60",
        "How long reserved money stays reserved when nobody renews it, as after a crash.",
    ),
    key("log", "mapping", "", "What is logged."),
    key("trace", "mapping", "", "Where traces go."),
    key("research", "mapping", "", "How research jobs are done."),
    key("fetch", "mapping", "", "How pages are read."),
    key(
        "downloads",
        "mapping",
        "",
        "Files that everybody may download; without it there are none.",
    ),
    key("media", "mapping", "", "What one request for media may ask for."),
    key("search", "mapping", "", "How searches are answered."),
    key("mcp", "mapping", "", "Who may speak to `/mcp`."),
];

const DATABASE: &[Known] = &[
    key("url", "string", "", "`sqlite:PATH` or `postgres://…`."),
    key("pool_size", "integer", "", "PostgreSQL: the most connections, 8 if not given."),
    key(
        "durability",
        "string",
        "",
        "SQLite: what an acknowledged request survives: `power` (the loss of power, the default) \
         or `process` (the end of the process only, which is faster).",
    ),
];

const ARTIFACTS: &[Known] = &[
    key("url", "string", "", "`file:PATH` or `s3://BUCKET/PREFIX`."),
    key("days", "integer", "30", "How long runs and their files are kept; at most 3650."),
    key("max_bytes", "integer", "67108864", "The largest file; at most 1 GiB."),
    key("region", "string", "us-east-1", "The region of the bucket."),
    key("endpoint", "address", "", "Its server, where that is not the one of the region."),
    key(
        "access_key_id",
        "string",
        "",
        "How the server knows us: `${NAME}`. Without it, by the role of the machine.",
    ),
    key("secret_access_key", "string", "", "Its secret: `${NAME}`."),
];

const PROVIDER: &[Known] = &[
    key(
        "kind",
        "string",
        "",
        "What it speaks: `openai` (also compatible servers) or `anthropic` for models; `espeak` for \
         speech by the program espeak-ng on this machine, whose models are voices; `local` for \
         models that this process computes itself, each a GGUF file; `searxng`, `brave`, `tavily` \
         or `index` (an index of files) for results of searches.",
    ),
    key(
        "base_url",
        "address",
        "",
        "What `/chat/completions`, `/messages`, `/models` or `/search` is appended to. Without it \
         `https://api.openai.com/v1`, `https://api.anthropic.com/v1`, \
         `https://api.search.brave.com/res/v1` or `https://api.tavily.com`; `searxng` needs one. \
         `index`: what the paths of files are appended to; without it `public_url` and the name \
         of the provider.",
    ),
    key(
        "program",
        "path",
        "",
        "Only for `espeak`: the program, `espeak-ng` if not given, found as a shell finds it.",
    ),
    key("api_key", "string", "", "How it knows us: `${NAME}`."),
    key("headers", "mapping", "{}", "Sent with every request to it."),
    key("models", "list or mapping", "", "Its models: ids, or a mapping from ids."),
    key(
        "discover",
        "bool",
        "false",
        "Whether it is asked for its models; those of `models` are kept. `local`: every file \
         `*.gguf` of its `folder`.",
    ),
    key("timeout", "seconds or mapping", "", "How long it may take."),
    key(
        "max_concurrency",
        "integer",
        "",
        "The most requests to it at once; without it, any number. `local`: how many answers of one \
         model are computed at once; without it, as many as the machine has cores.",
    ),
    key("weight", "integer", "1", "Its share where a target has no weight of its own."),
    key(
        "responses",
        "string",
        "auto",
        "How `/v1/responses` is brought to it: `native` passes it through, `bridged` makes chat \
         completions of it, `auto` finds out.",
    ),
    key("stream_usage", "bool", "true", "Whether streams are asked for their usage."),
    key("health", "bool or mapping", "true", "How it is looked after."),
    key(
        "tls_ca_file",
        "path",
        "",
        "PEM file of the authorities that its certificate is judged by, instead of the system's.",
    ),
    key(
        "folder",
        "path",
        "",
        "`index`: the folder of the files to be found; needed. `local`: the folder of its files; \
         without it `models` beside this file.",
    ),
    key(
        "index_folder",
        "path",
        "",
        "`index`: where the index is kept; without it `search-index/NAME` beside the database.",
    ),
    key("rescan", "seconds", "60", "`index`: how often the folder is looked at for changes."),
    key(
        "max_file_bytes",
        "integer",
        "16777216",
        "`index`: the largest file that is read; at most 1 GiB.",
    ),
    key(
        "window",
        "integer",
        "2048",
        "`local`: the most tokens of a conversation with its answer; never more than the model was \
         made for. Each conversation that is answered takes memory for so many at most.",
    ),
    key(
        "max_waiting",
        "integer",
        "8",
        "`local`: how many requests for one model wait while others are computed; who comes then \
         gets 429.",
    ),
    key(
        "idle",
        "seconds",
        "600",
        "`local`: the memory of a model is let go after so long without a request.",
    ),
    key(
        "system",
        "string",
        "",
        "`local`: the first message of conversations that have no system message; without it, what \
         the model itself has there.",
    ),
    key(
        "temperature",
        "number",
        "0.2",
        "`local`: how freely answers are drawn where a request does not say, from 0 (always the \
         likeliest token) to 2.",
    ),
    key(
        "top_p",
        "number",
        "0.95",
        "`local`: the share of likely tokens that are drawn from where a request does not say, \
         from 0.01 to 1.",
    ),
    key(
        "repeat_penalty",
        "number",
        "1.1",
        "`local`: how much less likely tokens become that came lately where a request does not \
         say, from 0.5 to 2; 1 for not at all.",
    ),
];

const MODEL: &[Known] = &[
    key("name", "string", "", "What the upstream calls it, if not by its id."),
    key(
        "path",
        "path",
        "",
        "`local`: its file, from the folder of this file; without it, `NAME.gguf` in `folder`.",
    ),
    key("context_length", "integer", "", "How many tokens it can look at."),
    MAX_N,
    MAX_TOKENS,
    MAX_MESSAGE_BYTES,
    MAX_IMAGES,
    key(
        "capabilities",
        "list",
        "[\"chat\", \"responses\"]",
        "What it can be used for: `chat`, `responses`, `research`, `image`, `speech`, \
         `web_search`, `web_fetch`. A voice of `espeak` is for `speech` alone, and a file of \
         `local` for no media.",
    ),
    key("price_micros", "micros", "", "What one request costs, if not by the price list."),
    key("description", "string", "", "What it is, in at most 2000 characters."),
];

const TIMEOUT: &[Known] = &[
    key("connect", "seconds", "10", "Until it is connected, TLS included."),
    key(
        "first_byte",
        "seconds",
        "300",
        "From the request to the first byte of the answer. Of a search: to the end of it, 15 if \
         not given.",
    ),
    key("idle", "seconds", "120", "Between two parts of an answer."),
];

const HEALTH: &[Known] = &[
    key(
        "path",
        "string",
        "/models",
        "What is asked for, appended to `base_url`. `searxng`: `/healthz` if not given; `brave` and \
         `tavily`: nothing is asked for if not given.",
    ),
    key("interval", "seconds", "30", "How often."),
    key("timeout", "seconds", "5", "How long an answer may take."),
    key(
        "failures",
        "integer",
        "3",
        "After so many failures in a row it is left out. Only those count that no member can bring \
         about: it cannot be reached, begins no stream in time, refuses our key, or fails by its \
         own word.",
    ),
    key("eject", "seconds", "15", "For so long at least; then one request may try again."),
];

const ALIAS: &[Known] = &[
    key(
        "targets",
        "list",
        "",
        "Ids or aliases in the order they are tried, or mappings with `model` and `weight`.",
    ),
    key("price_micros", "micros", "", "What one request costs, if not by the price list."),
    key("description", "string", "", "What it is, in at most 2000 characters."),
    key("context_length", "integer", "", "How many tokens it can look at."),
    MAX_N,
    MAX_TOKENS,
    MAX_MESSAGE_BYTES,
    MAX_IMAGES,
];

const TARGET: &[Known] = &[
    key("model", "string", "", "A full id, or an alias of one model."),
    key("weight", "integer", "", "Its share, at least 1; without it, that of its provider."),
];

const PRICES: &[Known] = &[
    key("default_micros", "mapping", "", "The price of each operation."),
    key("models", "mapping", "", "From full ids, aliases, or globs with `*` and `?`, to micros."),
];

const OPERATIONS: &[Known] = &[
    key("chat", "micros", "1000", "A chat completion."),
    key("responses", "micros", "1000", "A response."),
    key("responses_read", "micros", "0", "Looking at a stored response."),
    key("models", "micros", "0", "The list of models."),
    key("me", "micros", "0", "The caller's own record."),
    key("capabilities", "micros", "0", "The list of capabilities."),
    key("research", "micros", "1000", "A research job."),
    key("research_read", "micros", "0", "Looking at a research job."),
    key("media", "micros", "1000", "Making media."),
    key("media_read", "micros", "0", "Looking at media that were made."),
    key("search", "micros", "1000", "A search."),
    key("fetch", "micros", "1000", "Reading a page."),
];

const LOG: &[Known] = &[
    key("format", "string", "json", "`json` or `text`."),
    key("level", "string", "info", "`error`, `warn`, `info`, `debug` or `trace`."),
    key("requests", "bool", "true", "Whether every request gets a line."),
];

const TRACE: &[Known] = &[
    key("otlp_endpoint", "address", "", "A collector that takes OTLP over HTTP; needed."),
    key("sample", "number", "0.1", "The share of requests that are traced, from 0 to 1."),
];
