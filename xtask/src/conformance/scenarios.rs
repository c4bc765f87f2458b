//! The scenarios that run by default, and those that do not apply to the service.

/// Revisions for which the suite has a set of required scenarios.
pub(super) const REVISIONS: &[&str] = &["2025-11-25", "2026-07-28"];

/// Scenarios outside these sets, with their revision; `None` leaves it to the scenario.
pub(super) const EXTRA_SCENARIOS: &[(&str, Option<&str>)] = &[
    ("initialize", Some("2025-06-18")),
    ("tools_call", Some("2025-06-18")),
    ("auth/2025-03-26-oauth-metadata-backcompat", None),
    ("auth/2025-03-26-oauth-endpoint-fallback", None),
];

/// Scenarios that the suite runs in addition to the required ones, and that must pass as well: the
/// authorization extensions, and later additions.
pub(super) const EXTENSIONS: &[&str] = &[
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/enterprise-managed-authorization",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/wif-jwt-bearer",
    "json-schema-2020-12-preservation",
];

pub(super) fn required_count(revision: &str) -> Option<usize> {
    match revision {
        "2025-11-25" => Some(18),
        "2026-07-28" => Some(32),
        _ => None,
    }
}

const HANDSHAKE: &[&str] = &["2025-11-25"];
const STATELESS: &[&str] = &["2026-07-28"];

/// The scenarios that a server with only tools must pass, and in which of [`REVISIONS`].
pub(super) const SERVER_SCENARIOS: &[(&str, &[&str])] = &[
    ("server-initialize", HANDSHAKE),
    ("server-session-lifecycle", HANDSHAKE),
    ("ping", HANDSHAKE),
    ("tools-list", REVISIONS),
    ("server-sse-multiple-streams", REVISIONS),
    ("dns-rebinding-protection", REVISIONS),
    ("server-stateless", STATELESS),
    ("caching", STATELESS),
    ("http-header-validation", STATELESS),
    ("input-required-result-unsupported-methods", STATELESS),
];

/// Server scenarios outside these sets, with their revision.
pub(super) const EXTRA_SERVER_SCENARIOS: &[(&str, &str)] = &[
    ("server-initialize", "2025-06-18"),
    ("ping", "2025-06-18"),
    ("tools-list", "2025-06-18"),
    ("server-session-lifecycle", "2025-03-26"),
];

const DIAGNOSTIC: &str = "they call a diagnostic tool of the suite, which the service has not";
const NO_PROMPTS: &str = "the service has no prompts, and says so";
const NO_RESOURCES: &str = "the service has no resources, and says so";
const NO_INPUT: &str = "no tool of the service asks its client for input";

/// Server scenarios that do not apply, by reason. They never count as passed, even if the suite
/// accepts an unrelated error.
#[rustfmt::skip] // a table of words
pub(super) const NOT_APPLICABLE: &[(&str, &[&str])] = &[
    (DIAGNOSTIC, &[
        "tools-call-simple-text", "tools-call-image", "tools-call-audio",
        "tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-error",
        "tools-call-with-progress", "json-schema-2020-12", "server-sse-polling",
    ]),
    (NO_PROMPTS, &[
        "prompts-list", "prompts-get-simple", "prompts-get-with-args",
        "prompts-get-embedded-resource", "prompts-get-with-image",
    ]),
    (NO_RESOURCES, &[
        "resources-list", "resources-read-text", "resources-read-binary",
        "resources-templates-read", "resources-subscribe", "resources-unsubscribe",
        "sep-2164-resource-not-found",
    ]),
    (NO_INPUT, &[
        "tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults",
        "elicitation-sep1330-enums", "input-required-result-basic-elicitation",
        "input-required-result-basic-sampling", "input-required-result-basic-list-roots",
        "input-required-result-request-state", "input-required-result-multiple-input-requests",
        "input-required-result-multi-round", "input-required-result-missing-input-response",
        "input-required-result-non-tool-request", "input-required-result-result-type",
        "input-required-result-tampered-state", "input-required-result-capability-check",
        "input-required-result-ignore-extra-params", "input-required-result-validate-input",
    ]),
    ("the service sends no log messages", &["logging-set-level", "tools-call-with-logging"]),
    ("the service completes no arguments", &["completion-complete"]),
    ("no argument of a tool is to be sent as a header", &["http-custom-header-server-validation"]),
    ("the service has no tasks", &[
        "tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields",
        "tasks-request-state-removal", "tasks-mrtr-input", "tasks-request-headers",
        "tasks-dispatch-and-envelope", "tasks-status-notifications", "tasks-required-task-error",
        "tasks-mrtr-composition",
    ]),
];

/// Checks that do not apply, of scenarios that do: scenario, check, reason.
pub(super) const SKIPPED_CHECKS: &[(&str, &str, &str)] = &[
    ("server-stateless", "sep-2575-server-rejects-undeclared-capability", DIAGNOSTIC),
    ("server-stateless", "sep-2575-missing-capability-http-400", DIAGNOSTIC),
    ("server-stateless", "sep-2575-http-server-no-independent-requests-on-stream", DIAGNOSTIC),
    ("server-stateless", "sep-2575-server-no-log-without-loglevel", DIAGNOSTIC),
    ("caching", "sep-2549-prompts-list-caching-hints", NO_PROMPTS),
    ("caching", "sep-2549-resources-list-caching-hints", NO_RESOURCES),
    ("caching", "sep-2549-resources-templates-list-caching-hints", NO_RESOURCES),
];
