//! The catalogue page.

use super::{
    COUNTER_TYPE, DimensionSpec, Domain, KINDS, MAX_VERSION_CHARS, RESOURCE, SCHEMA_VERSION,
};

/// The catalogue in Markdown: the text of `docs/metrics-catalogue.md`.
pub fn markdown() -> String {
    let mut page = format!(
        "# Usage metrics catalogue\n\n\
         Every value that can be recorded. A package (`{SCHEMA_VERSION}`) contains the fields of \
         the resource block and counters of the kinds below, and nothing else; each entry has the \
         type `{COUNTER_TYPE}` and a value of at least 1.\n\n\
         ## Resource\n\n\
         | field | meaning | values |\n|---|---|---|\n\
         | agent_version | Version of the client. | string of 1 to {MAX_VERSION_CHARS} characters |\n"
    );
    page.extend(RESOURCE.iter().map(row));
    for spec in &KINDS {
        let counters = match spec.kind.cardinality() {
            Some(1) => "One counter.".to_owned(),
            Some(count) => format!("{count} counters."),
            None => "One counter per pair.".to_owned(),
        };
        page.push_str(&format!("\n## {}\n\n{} {counters}\n\n", spec.name, spec.summary));
        if spec.dimensions.is_empty() {
            page.push_str("No dimensions.\n");
        } else {
            page.push_str("| dimension | meaning | values |\n|---|---|---|\n");
            page.extend(spec.dimensions.iter().map(row));
        }
    }
    page
}

fn row(dimension: &DimensionSpec) -> String {
    format!("| {} | {} | {} |\n", dimension.key, dimension.summary, domain(dimension.domain))
}

fn domain(domain: Domain) -> String {
    match domain {
        Domain::Listed(values) => {
            values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
        }
        Domain::Identifier { max_chars } => format!(
            "1 to {max_chars} characters: a lowercase letter or digit, then lowercase letters, \
             digits and `. _ : / @ + -`"
        ),
    }
}
