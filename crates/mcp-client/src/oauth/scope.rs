//! Selection of the scopes to request. Pure.

use super::challenge::Challenge;

/// Grants a refresh token on servers that follow `OpenID` Connect.
const OFFLINE: &str = "offline_access";

#[derive(Debug, Clone, Copy)]
pub(crate) struct ScopeRequest<'a> {
    /// From the entry or the command line.
    pub(crate) configured: Option<&'a str>,
    /// From the refusal of the server.
    pub(crate) challenges: &'a [Challenge],
    /// Requested before, in case of a step-up.
    pub(crate) before: Option<&'a str>,
}

impl ScopeRequest<'_> {
    /// The scopes to request, given those that the resource and its issuer publish; `None` if no
    /// source names any.
    pub(crate) fn choose(
        &self,
        by_resource: Option<&[String]>,
        by_issuer: &[String],
    ) -> Option<String> {
        let challenged = challenged_scope(self.challenges);
        let published = || by_resource.map(|scopes| scopes.join(" "));
        let base = match (self.configured, self.before) {
            // A step-up keeps all earlier scopes.
            (configured, Some(before)) => {
                let all = [Some(before), configured, challenged.as_deref()];
                all.into_iter().flatten().fold(String::new(), |one, other| union(&one, other))
            }
            (Some(configured), None) => configured.to_owned(),
            (None, None) => challenged.or_else(published).unwrap_or_default(),
        };
        let offers = by_issuer.iter().any(|scope| scope == OFFLINE);
        let all = if offers && self.configured.is_none() { union(&base, OFFLINE) } else { base };
        (!all.trim().is_empty()).then(|| union(&all, ""))
    }
}

pub(crate) fn challenged_scope(challenges: &[Challenge]) -> Option<String> {
    let scopes = challenges.iter().find_map(|challenge| challenge.param("scope"))?;
    let scopes = union(scopes, "");
    (!scopes.is_empty()).then_some(scopes)
}

pub(crate) fn is_insufficient(challenges: &[Challenge]) -> bool {
    challenges.iter().any(|challenge| challenge.param("error") == Some("insufficient_scope"))
}

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
mod tests;
