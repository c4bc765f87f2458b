//! Which scenarios of the suite are run by default, and for which revisions each has a meaning.

/// One scenario of the suite and the revisions it applies to.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) versions: &'static [&'static str],
}

const JUNE: &str = "2025-06-18";
const NOVEMBER: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// The client scenarios that need no authorization.
pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario { name: "initialize", versions: &[JUNE, NOVEMBER] },
    Scenario { name: "tools_call", versions: &[JUNE, NOVEMBER, STATELESS] },
    Scenario { name: "sse-retry", versions: &[NOVEMBER] },
    Scenario { name: "elicitation-sep1034-client-defaults", versions: &[NOVEMBER] },
    Scenario { name: "request-metadata", versions: &[STATELESS] },
    Scenario { name: "sep-2322-client-request-state", versions: &[STATELESS] },
    Scenario { name: "http-standard-headers", versions: &[STATELESS] },
    Scenario { name: "http-custom-headers", versions: &[STATELESS] },
    Scenario { name: "http-invalid-tool-headers", versions: &[STATELESS] },
    Scenario { name: "json-schema-ref-no-deref", versions: &[STATELESS] },
    Scenario { name: "json-schema-2020-12-preservation", versions: &[NOVEMBER, STATELESS] },
];

/// The revisions a scenario is run for; one that is not in the table chooses for itself.
pub(super) fn versions(name: &str) -> Vec<Option<&'static str>> {
    SCENARIOS.iter().find(|scenario| scenario.name == name).map_or_else(
        || vec![None],
        |scenario| scenario.versions.iter().copied().map(Some).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_runs_for_each_of_its_revisions_and_an_unknown_one_once() {
        assert_eq!(versions("initialize"), [Some(JUNE), Some(NOVEMBER)]);
        assert_eq!(versions("auth/basic-cimd"), [None]);
    }
}
