//! What of the suite is run by default.

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
