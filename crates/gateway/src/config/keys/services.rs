//! The keys of what the service does besides passing on: media, research, pages, searches, tools.

use super::{Known, key};

pub(super) const MEDIA: &[Known] = &[
    key("max_images", "integer", "1", "The most images that one request may ask for; at most 10."),
    key(
        "max_text_chars",
        "integer",
        "4096",
        "The longest text that one request may have spoken, in characters.",
    ),
];

pub(super) const DOWNLOADS: &[Known] = &[
    key("folder", "path", "downloads", "Where the files are."),
    key("key_file", "path", "downloads.key", "The key they are signed with; for publishing only."),
];

pub(super) const RESEARCH: &[Known] = &[
    key(
        "model",
        "string",
        "",
        "The model for jobs that ask for none. Without it, the first chat model that can be used.",
    ),
    key("workers", "integer", "2", "How many jobs one process works on at once; 0 is none."),
    key(
        "max_jobs_per_member",
        "integer",
        "10",
        "How many jobs of one member may be queued or running at once; more are refused with 429.",
    ),
    key(
        "lease_seconds",
        "integer",
        "30",
        "How long a job is its worker's when nobody renews that, as after a crash.",
    ),
    key(
        "attempts",
        "integer",
        "3",
        "How often a step is begun before its job fails and is refunded; at most 100.",
    ),
    key("expire_hours", "integer", "24", "How long a job may wait and run; at most 720."),
    key("keep_days", "integer", "30", "How long jobs are kept after their end; at most 3650."),
    key(
        "webhook_secret",
        "string",
        "",
        "What webhooks are signed with, at least 32 characters; `whsec_` and base64, or any text. \
         Without it there are no webhooks.",
    ),
    key(
        "webhook_retry",
        "seconds",
        "5",
        "How long after a webhook that failed it is tried again; four times as long each time.",
    ),
    key("quick", "mapping", "", "A few pages."),
    key("standard", "mapping", "", "Some more."),
    key("deep", "mapping", "", "Many pages, in several rounds."),
];

pub(super) const DEPTH: &[Known] = &[
    key("rounds", "integer", "", "How often it plans: 1, 1, 3."),
    key("queries", "integer", "", "How many searches each plan has: 2, 4, 5."),
    key("pages", "integer", "", "How many pages are read: 4, 8, 24."),
    key("steps", "integer", "", "How many steps there are in all: 20, 40, 120."),
    key("tokens", "integer", "", "How many tokens models may count: 100000, 300000, 1500000."),
    key("seconds", "seconds", "", "How long it may gather: 300, 900, 3600."),
    key("price_micros", "micros", "", "What such a job costs, if not by the price list."),
];

pub(super) const FETCH: &[Known] = &[
    key(
        "max_bytes",
        "integer",
        "10485760",
        "The largest page, counted after decompression; at most 256 MiB.",
    ),
    key("timeout", "seconds", "20", "How long reading a page may take, redirects included."),
    key("max_redirects", "integer", "5", "How many redirects are followed; at most 20."),
    key("allow_downgrade", "bool", "false", "Whether a redirect from https to http is followed."),
    key("robots", "bool", "true", "Whether the robots.txt of a site is obeyed."),
    key(
        "user_agent",
        "string",
        "agent-gateway/0.1 (reads single pages for a person)",
        "How we introduce ourselves; the word before the first `/` is what robots.txt knows us by.",
    ),
    key("ports", "list", "[80, 443]", "The ports that pages are read from."),
    key(
        "allow_private",
        "list",
        "[]",
        "Hosts and networks that may be read although they are not public: `wiki.internal`, \
         `10.1.2.0/24`, `[fd00::1]`, each also with a port as in `wiki.internal:8080`.",
    ),
    key(
        "tls_ca_file",
        "path",
        "",
        "PEM file of authorities that certificates are judged by besides the system's.",
    ),
    key("concurrency", "integer", "64", "The most pages that are read at once."),
    key("concurrency_per_host", "integer", "4", "The same for one host."),
    key(
        "timeouts_per_minute",
        "integer",
        "20",
        "How many fetches of one key may time out, or exceed the limits of the parser, in a minute. \
         Fetches that are still running count too. Beyond it the service returns 429.",
    ),
    key(
        "cache_bytes",
        "integer",
        "67108864",
        "How much of what was read is kept in memory; 0 is nothing.",
    ),
    key("cache_seconds", "integer", "300", "How long it is kept; at most a day."),
    key(
        "share_cache",
        "bool",
        "false",
        "Share cached pages between members. This saves requests, but `from_cache` tells a member \
         that another one read the page.",
    ),
];

pub(super) const SEARCH: &[Known] = &[
    key(
        "cache_seconds",
        "seconds",
        "600",
        "How long results are kept for the same question; 0 is not at all.",
    ),
    key(
        "share_cache",
        "bool",
        "false",
        "Share cached results between members. This saves searches, but `cached_at` tells a member \
         that another one asked the same question.",
    ),
];

pub(super) const MCP: &[Known] = &[
    key("allowed_hosts", "list", "[]", "Further names by which this service is known."),
    key("allowed_origins", "list", "[]", "Further sites whose pages may speak to it."),
];
