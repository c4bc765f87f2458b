//! What of the suite is run by default, and what of it can say nothing about the service.

/// A revision whose required scenarios the suite knows as a set.
pub(super) const REVISIONS: &[&str] = &["2025-11-25", "2026-07-28"];

/// Scenarios that belong to no such set, each with the revision it is run for; none chooses for
/// itself.
pub(super) const OTHERS: &[(&str, Option<&str>)] = &[
    ("initialize", Some("2025-06-18")),
    ("tools_call", Some("2025-06-18")),
    ("auth/2025-03-26-oauth-metadata-backcompat", None),
    ("auth/2025-03-26-oauth-endpoint-fallback", None),
];

/// What the suite runs beside the required scenarios of a revision, and must hold as well: the
/// extensions of authorization, and what was added later.
pub(super) const BESIDE: &[&str] = &[
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/enterprise-managed-authorization",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/wif-jwt-bearer",
    "json-schema-2020-12-preservation",
];

/// How many scenarios each revision requires.
pub(super) fn required(revision: &str) -> Option<usize> {
    match revision {
        "2025-11-25" => Some(18),
        "2026-07-28" => Some(32),
        _ => None,
    }
}

/// The revisions before the stateless one, of which the suite has a set.
const BEFORE: &[&str] = &["2025-11-25"];
const STATELESS: &[&str] = &["2026-07-28"];

/// The scenarios that a server of tools alone must hold, and in which of [`REVISIONS`].
pub(super) const OF_TOOLS: &[(&str, &[&str])] = &[
    ("server-initialize", BEFORE),
    ("server-session-lifecycle", BEFORE),
    ("ping", BEFORE),
    ("tools-list", REVISIONS),
    ("server-sse-multiple-streams", REVISIONS),
    ("dns-rebinding-protection", REVISIONS),
    ("server-stateless", STATELESS),
    ("caching", STATELESS),
    ("http-header-validation", STATELESS),
    ("input-required-result-unsupported-methods", STATELESS),
];

/// Scenarios of servers that belong to no set, each with the revision it is run for.
pub(super) const OTHERS_OF_TOOLS: &[(&str, &str)] = &[
    ("server-initialize", "2025-06-18"),
    ("ping", "2025-06-18"),
    ("tools-list", "2025-06-18"),
    ("server-session-lifecycle", "2025-03-26"),
];

const DIAGNOSTIC: &str = "they call a diagnostic tool of the suite, which the service has not";
const NO_PROMPTS: &str = "the service has no prompts, and says so";
const NO_RESOURCES: &str = "the service has no resources, and says so";
const NO_INPUT: &str = "no tool of the service asks its client for input";

/// The scenarios of servers that cannot be judged here, by the reason. They never count as held,
/// even where the suite is satisfied with an error that means something else.
pub(super) const NOT_APPLICABLE: &[(&str, &[&str])] = &[
    (
        DIAGNOSTIC,
        &[
            "tools-call-simple-text",
            "tools-call-image",
            "tools-call-audio",
            "tools-call-embedded-resource",
            "tools-call-mixed-content",
            "tools-call-error",
            "tools-call-with-progress",
            "json-schema-2020-12",
            "server-sse-polling",
        ],
    ),
    (
        NO_PROMPTS,
        &[
            "prompts-list",
            "prompts-get-simple",
            "prompts-get-with-args",
            "prompts-get-embedded-resource",
            "prompts-get-with-image",
        ],
    ),
    (
        NO_RESOURCES,
        &[
            "resources-list",
            "resources-read-text",
            "resources-read-binary",
            "resources-templates-read",
            "resources-subscribe",
            "resources-unsubscribe",
            "sep-2164-resource-not-found",
        ],
    ),
    (
        NO_INPUT,
        &[
            "tools-call-sampling",
            "tools-call-elicitation",
            "elicitation-sep1034-defaults",
            "elicitation-sep1330-enums",
            "input-required-result-basic-elicitation",
            "input-required-result-basic-sampling",
            "input-required-result-basic-list-roots",
            "input-required-result-request-state",
            "input-required-result-multiple-input-requests",
            "input-required-result-multi-round",
            "input-required-result-missing-input-response",
            "input-required-result-non-tool-request",
            "input-required-result-result-type",
            "input-required-result-tampered-state",
            "input-required-result-capability-check",
            "input-required-result-ignore-extra-params",
            "input-required-result-validate-input",
        ],
    ),
    ("the service sends no log messages", &["logging-set-level", "tools-call-with-logging"]),
    ("the service completes no arguments", &["completion-complete"]),
    ("no argument of a tool is to be sent as a header", &["http-custom-header-server-validation"]),
    (
        "the service has no tasks",
        &[
            "tasks-lifecycle",
            "tasks-capability-negotiation",
            "tasks-wire-fields",
            "tasks-request-state-removal",
            "tasks-mrtr-input",
            "tasks-request-headers",
            "tasks-dispatch-and-envelope",
            "tasks-status-notifications",
            "tasks-required-task-error",
            "tasks-mrtr-composition",
        ],
    ),
];

/// Checks that cannot be made here, of scenarios that are judged otherwise: scenario, check, reason.
pub(super) const NOT_CHECKED: &[(&str, &str, &str)] = &[
    ("server-stateless", "sep-2575-server-rejects-undeclared-capability", DIAGNOSTIC),
    ("server-stateless", "sep-2575-missing-capability-http-400", DIAGNOSTIC),
    ("server-stateless", "sep-2575-http-server-no-independent-requests-on-stream", DIAGNOSTIC),
    ("server-stateless", "sep-2575-server-no-log-without-loglevel", DIAGNOSTIC),
    ("caching", "sep-2549-prompts-list-caching-hints", NO_PROMPTS),
    ("caching", "sep-2549-resources-list-caching-hints", NO_RESOURCES),
    ("caching", "sep-2549-resources-templates-list-caching-hints", NO_RESOURCES),
];
