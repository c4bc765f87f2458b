//! The keys of `limits`.

use super::{Known, key};

pub(super) const LIMITS: &[Known] = &[
    key("max_body_bytes", "integer", "33554432", "The largest body of a request; at most 1 GiB."),
    key(
        "parsing_bytes",
        "integer",
        "268435456",
        "Bytes of large bodies (over 64 KiB) that are parsed at once, over all requests; further \
         requests wait, and get 503 after `body_timeout`. At least `max_body_bytes` counts.",
    ),
    key(
        "max_header_bytes",
        "integer",
        "65536",
        "The most bytes of the head of a request; from 8192 to 1 MiB.",
    ),
    key(
        "max_connections",
        "integer",
        "10000",
        "The most connections of clients at once. At the limit, a new connection replaces the \
         oldest idle one that never sent a valid key.",
    ),
    key(
        "max_connections_per_address",
        "integer",
        "1000",
        "The most connections of one client address (IPv6: of one /64 network) at once; more are \
         closed. 0 is no limit.",
    ),
    key(
        "exempt_addresses",
        "list",
        "",
        "Addresses and networks without `max_connections_per_address`; without this key \
         `127.0.0.0/8` and `::1`. Name your reverse proxies here: all clients behind one share its \
         address.",
    ),
    key("header_timeout", "seconds", "10", "How long the head of a request may take."),
    key(
        "idle_timeout",
        "seconds",
        "75",
        "How long a connection may wait for its next request; then it is closed.",
    ),
    key("body_timeout", "seconds", "60", "How long the body of a request may take."),
    key(
        "write_timeout",
        "seconds",
        "60",
        "How long a client may take none of an answer that is ready; then it is left.",
    ),
    key(
        "keepalive_comment",
        "seconds",
        "15",
        "How often a quiet stream gets a comment; 0 is never.",
    ),
    key("max_stream_seconds", "seconds", "3600", "How long one stream may last."),
    key(
        "max_answer_bytes",
        "integer",
        "67108864",
        "The largest answer of an upstream; at most 1 GiB.",
    ),
    key(
        "parser_workers",
        "integer",
        "",
        "How many processes parse pages, PDF files, images and audio: from 2 to 1024; one per core \
         if not set, from 2 to 16. Each may use 512 MiB and four times the largest document.",
    ),
    key(
        "drain_seconds",
        "seconds",
        "30",
        "How long requests may finish after the service was told to stop; 0 is not at all.",
    ),
    key("new_keys", "mapping", "", "The limits of new keys."),
];

pub(super) const NEW_KEYS: &[Known] = &[
    key("requests_per_minute", "integer", "", "Requests in a minute."),
    key("concurrency", "integer", "", "Requests at once."),
    key("spend_micros", "micros", "", "Micro-credits in all."),
];
