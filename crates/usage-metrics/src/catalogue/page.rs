//! The catalogue page.

use std::fmt::Write;

use super::{COUNTER_TYPE, Domain, KINDS, MAX_VERSION_CHARS, RESOURCE, SCHEMA_VERSION};

/// The catalogue in Markdown: the text of `docs/metrics-catalogue.md`.
pub fn markdown() -> String {
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = write_page(&mut page);
    page
}

fn write_page(page: &mut String) -> std::fmt::Result {
    writeln!(page, "# Usage metrics catalogue")?;
    writeln!(page)?;
    writeln!(
        page,
        "Every value that can be recorded. A package (`{SCHEMA_VERSION}`) contains the fields of \
         the resource block and counters of the kinds below, and nothing else; each entry has the \
         type `{COUNTER_TYPE}` and a value of at least 1."
    )?;
    writeln!(page)?;
    writeln!(page, "## Resource")?;
    writeln!(page)?;
    writeln!(page, "| field | meaning | values |")?;
    writeln!(page, "|---|---|---|")?;
    writeln!(
        page,
        "| agent_version | Version of the client. | string of 1 to {MAX_VERSION_CHARS} characters |"
    )?;
    for field in RESOURCE {
        writeln!(page, "| {} | {} | {} |", field.key, field.summary, domain(field.domain))?;
    }
    for spec in &KINDS {
        writeln!(page)?;
        writeln!(page, "## {}", spec.name)?;
        writeln!(page)?;
        match spec.kind.cardinality() {
            Some(1) => writeln!(page, "{} One counter.", spec.summary)?,
            Some(count) => writeln!(page, "{} {count} counters.", spec.summary)?,
            None => writeln!(page, "{} One counter per pair.", spec.summary)?,
        }
        writeln!(page)?;
        if spec.dimensions.is_empty() {
            writeln!(page, "No dimensions.")?;
            continue;
        }
        writeln!(page, "| dimension | meaning | values |")?;
        writeln!(page, "|---|---|---|")?;
        for dimension in spec.dimensions {
            let values = domain(dimension.domain);
            writeln!(page, "| {} | {} | {values} |", dimension.key, dimension.summary)?;
        }
    }
    Ok(())
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
