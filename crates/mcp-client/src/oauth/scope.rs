//! Selection of the scopes to request. Pure.

use super::challenge::Challenge;

/// Grants a refresh token on servers that follow `OpenID` Connect.
const OFFLINE: &str = "offline_access";

/// The sources of scopes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScopeRequest<'a> {
    /// By the entry or the command line.
    pub(crate) configured: Option<&'a str>,
    /// By the refusal of the server.
    pub(crate) challenges: &'a [Challenge],
    /// Requested before, if more is needed now.
    pub(crate) before: Option<&'a str>,
}

/// The scopes that metadata lists.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfferedScopes<'a> {
    /// By the MCP server.
    pub(crate) by_resource: Option<&'a [String]>,
    /// By the authorization server.
    pub(crate) by_issuer: &'a [String],
}

impl ScopeRequest<'_> {
    /// The scopes to request; `None` if no source names any.
    pub(crate) fn choose(&self, offered: OfferedScopes<'_>) -> Option<String> {
        let challenged = challenged_scope(self.challenges);
        let published = || offered.by_resource.map(|scopes| scopes.join(" "));
        let base = match (self.configured, self.before) {
            // A step-up keeps all earlier scopes.
            (configured, Some(before)) => {
                let all = [Some(before), configured, challenged.as_deref()];
                all.into_iter().flatten().fold(String::new(), |one, other| union(&one, other))
            }
            (Some(configured), None) => configured.to_owned(),
            (None, None) => challenged.or_else(published).unwrap_or_default(),
        };
        let offers = offered.by_issuer.iter().any(|scope| scope == OFFLINE);
        let all = if offers && self.configured.is_none() { union(&base, OFFLINE) } else { base };
        (!all.trim().is_empty()).then(|| union(&all, ""))
    }
}

/// The scopes that a refusal demands.
pub(crate) fn challenged_scope(challenges: &[Challenge]) -> Option<String> {
    let scopes = challenges.iter().find_map(|challenge| challenge.param("scope"))?;
    let scopes = union(scopes, "");
    (!scopes.is_empty()).then_some(scopes)
}

/// Whether a refusal says `insufficient_scope`.
pub(crate) fn is_insufficient(challenges: &[Challenge]) -> bool {
    challenges.iter().any(|challenge| challenge.param("error") == Some("insufficient_scope"))
}

/// The scopes that an `insufficient_scope` refusal demands.
pub(crate) fn missing_scope(challenge: &str) -> Option<String> {
    let challenges = super::challenge::parse(challenge);
    is_insufficient(&challenges).then(|| challenged_scope(&challenges)).flatten()
}

pub(crate) fn union(one: &str, other: &str) -> String {
    let mut all: Vec<&str> = Vec::new();
    for scope in one.split_whitespace().chain(other.split_whitespace()) {
        if !all.contains(&scope) {
            all.push(scope);
        }
    }
    all.join(" ")
}

pub(crate) fn contains_all(one: &str, other: &str) -> bool {
    other.split_whitespace().all(|wanted| one.split_whitespace().any(|scope| scope == wanted))
}

#[cfg(test)]
mod tests {
    use super::super::challenge::parse;
    use super::*;

    /// Scopes of a resource, and whether its authorization server offers offline access.
    type Offer<'a> = (Option<&'a [&'a str]>, bool);

    fn choose(
        configured: Option<&str>,
        challenge: &str,
        before: Option<&str>,
        (published, offline): Offer<'_>,
    ) -> Option<String> {
        let owned = |scopes: &[&str]| scopes.iter().map(|&scope| scope.to_owned()).collect();
        let by_resource: Option<Vec<String>> = published.map(owned);
        let by_issuer: &[String] = if offline { &[OFFLINE.to_owned()] } else { &[] };
        let offered = OfferedScopes { by_resource: by_resource.as_deref(), by_issuer };
        ScopeRequest { configured, challenges: &parse(challenge), before }.choose(offered)
    }

    #[test]
    fn the_challenge_goes_before_what_is_published_and_nothing_before_a_guess() {
        let published: Offer<'_> = (Some(&["read", "write"]), false);
        assert_eq!(choose(None, "Bearer scope=\"a b\"", None, published).as_deref(), Some("a b"));
        assert_eq!(choose(None, "Bearer", None, published).as_deref(), Some("read write"));
        assert_eq!(choose(None, "Bearer", None, (None, false)), None);
        assert_eq!(
            choose(Some("mine"), "Bearer scope=\"a\"", None, published).as_deref(),
            Some("mine")
        );
    }

    #[test]
    fn a_longer_login_is_asked_for_only_where_it_is_offered_and_the_person_did_not_choose() {
        let offered: Offer<'_> = (Some(&["read"]), true);
        assert_eq!(choose(None, "", None, offered).as_deref(), Some("read offline_access"));
        assert_eq!(choose(Some("read"), "", None, offered).as_deref(), Some("read"));
        assert_eq!(choose(None, "", None, (Some(&["read"]), false)).as_deref(), Some("read"));
    }

    #[test]
    fn a_step_up_keeps_what_there_was() {
        let published: Offer<'_> = (Some(&["profile"]), false);
        let challenge = "Bearer error=\"insufficient_scope\", scope=\"write\"";
        assert!(is_insufficient(&parse(challenge)));
        assert_eq!(choose(None, challenge, Some("read"), published).as_deref(), Some("read write"));
        assert_eq!(
            choose(Some("own"), challenge, Some("read"), published).as_deref(),
            Some("read own write")
        );
        assert!(contains_all("read write", "write") && !contains_all("read", "write"));
    }
}
