//! What is looked for, and what was found.

use ledger::{MemberId, Time};
use wire::search::{Domains, Recency};

/// How many results, unless the request says otherwise.
pub const DEFAULT_RESULTS: usize = 10;

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// Whose cached results may be used; `None` for those that all share.
    pub owner: Option<MemberId>,
    /// The words.
    pub query: String,
    /// How many results at most.
    pub max_results: usize,
    /// How old they may be.
    pub recency: Option<Recency>,
    /// Where they may come from, in lower case.
    pub domains: Domains,
}

impl Wanted {
    /// Anything that fits these words.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            owner: None,
            query: query.into(),
            max_results: DEFAULT_RESULTS,
            recency: None,
            domains: Domains::default(),
        }
    }

    /// Whether results may come from this host.
    pub(super) fn allows(&self, host: &str) -> bool {
        let is_below = |domain: &String| {
            let start = host.strip_suffix(domain.as_str());
            start.is_some_and(|start| start.is_empty() || start.ends_with('.'))
        };
        let Domains { include, exclude } = &self.domains;
        (include.is_empty() || include.iter().any(is_below)) && !exclude.iter().any(is_below)
    }

    /// The words, with the domains as most search engines read them.
    pub(super) fn with_sites(&self) -> String {
        let Domains { include, exclude } = &self.domains;
        let sites: Vec<String> = include.iter().map(|domain| format!("site:{domain}")).collect();
        let mut query = self.query.clone();
        match &sites[..] {
            [] => {}
            [site] => query.push_str(&format!(" {site}")),
            sites => query.push_str(&format!(" ({})", sites.join(" OR "))),
        }
        for domain in exclude {
            query.push_str(&format!(" -site:{domain}"));
        }
        query
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The name of the provider that found it.
    pub provider: String,
    /// The best first.
    pub results: Vec<Hit>,
    /// When it was found, where that was for an earlier request.
    pub cached_at: Option<Time>,
}

/// One result. Its texts are plain, of one line, and bounded.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// What it is called.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// What it says about the words.
    pub snippet: String,
    /// When it was published: RFC 3339, or only the day.
    pub published_at: Option<String>,
    /// How well it fits, in the measure of its provider.
    pub score: Option<f64>,
    /// The host it is from.
    pub source: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(include: &[&str], exclude: &[&str]) -> Wanted {
        let of = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let domains = Domains { include: of(include), exclude: of(exclude) };
        Wanted { domains, ..Wanted::new("words") }
    }

    #[test]
    fn a_domain_stands_for_all_below_it_and_for_nothing_else() {
        let wanted = wanted(&["example.com"], &["bad.example.com"]);
        assert!(wanted.allows("example.com") && wanted.allows("a.b.example.com"));
        assert!(!wanted.allows("anexample.com") && !wanted.allows("example.com.evil"));
        assert!(!wanted.allows("bad.example.com") && !wanted.allows("very.bad.example.com"));
    }

    #[test]
    fn domains_are_written_as_search_engines_read_them() {
        assert_eq!(wanted(&[], &[]).with_sites(), "words");
        assert_eq!(wanted(&["a.b"], &["c.d"]).with_sites(), "words site:a.b -site:c.d");
        let two = wanted(&["a.b", "c.d"], &[]).with_sites();
        assert_eq!(two, "words (site:a.b OR site:c.d)");
    }
}
