//! What the models cost, as the configuration and the providers have them today.

use gateway::config::{Config, Operation, Provider};

use crate::finding::Finding;
use crate::table::counted;

/// Prices of all models that are named or were found.
pub(super) fn prices(config: &Config, found: &[(&Provider, Vec<String>)]) -> Vec<Finding> {
    let mut ids: Vec<String> = Vec::new();
    for (provider, models) in found {
        let named = provider.models.iter().map(|model| &model.id);
        let found = models.iter().filter(|_| provider.discover);
        ids.extend(named.chain(found).map(|id| format!("{}/{id}", provider.name)));
    }
    ids.extend(config.aliases.iter().map(|alias| alias.name.clone()));
    ids.sort();
    ids.dedup();
    let mut findings: Vec<Finding> = Vec::new();
    let price = |id: &String| config.price_micros(Operation::Chat, id);
    let mut prices: Vec<i64> = ids.iter().map(price).collect();
    prices.sort_unstable();
    if let (Some(least), Some(most)) = (prices.first(), prices.last()) {
        let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let count = counted(ids.len(), "model");
        let aliases = if config.aliases.is_empty() { "" } else { ", aliases included" };
        let text = format!("{count}{aliases}: {range} micros per chat request");
        findings.push(Finding::good(text).of("prices"));
    }
    // Only names: what a glob is for may be found tomorrow.
    for (pattern, _) in config.prices.models().iter().filter(|(pattern, _)| !pattern.is_glob()) {
        if !ids.iter().any(|id| id == pattern.as_str()) {
            let text = format!("`{}` has a price, but no such model exists", pattern.as_str());
            findings.push(Finding::warning(text).of("prices"));
        }
    }
    findings
}
