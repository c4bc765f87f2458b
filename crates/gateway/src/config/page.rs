//! The page of the documentation, made from the table.

use settings::{MAX_CONFIG_BYTES, MAX_PROBLEMS};

use super::keys::{Known, SECTIONS, Section};
use super::{
    MAX_ALIASES, MAX_HEADERS, MAX_MODELS, MAX_PRICES, MAX_PROVIDERS, MAX_TARGETS, example,
};

const INTRODUCTION: &str = "\
# The configuration of the member service

<!-- Made from the table of keys in `crates/gateway/src/config/keys.rs`. Do not edit. -->

`gateway.yaml` is YAML; JSON is a part of it. Every key may be left out, and so may the whole file.
Everything that is wrong is told at once, each with its line, column and key, what was found and what to
do. An **error** keeps the service from starting; a **warning** does not. A key that is not in these
tables is an error, and so is one that stands twice. A key without a value (null) counts as left out.

";

const VALUES: &str = "\
## Values

| kind | what may be written |
|---|---|
| bool | `true`, `1`, `yes`, `on` and `false`, `0`, `no`, `off`, in any case, quoted or not |
| seconds | a number, also with a fraction, also as a string; more than 0 unless the table says otherwise; at most a year |
| integer | a whole number, also as a string |
| micros | a whole number of micro-credits, at least 0; 1 credit is 1000000 |
| path | a leading `~` or `~/` is the home directory; a relative one starts from the folder of the file |
| address | http or https with a host; without user, password, query and fragment |

Every string may hold `${NAME}`, which becomes the value of a variable: from the profile's `.env`, or else
from the environment of the process. One that is not set, or is empty, is an error. There are no default
values and no `$NAME`. Secrets belong into variables: one that stands in the file itself is warned of, and
none is ever shown or logged.
";

const ROUTES: &str = "\
## Which model, at which price

A full id is `<provider>/<model>`. An alias leads to one model, to several that are tried in their order, or
to several by weight; it may also name other aliases, but not itself in a circle. A name that clients give is
looked up among the aliases first. No alias may begin with the name of a provider and `/`.

The price of a model is its `price_micros` at its provider; without it the entry of `prices.models` for
exactly its full id; without it the longest glob there that matches; without it
`prices.default_micros` of the operation. The price of an alias is its `price_micros`; without it the entry
of `prices.models` for exactly its name; without it that of the dearest model it leads to.
";

/// `docs/gateway-config.md`, made from the table.
pub fn reference() -> String {
    let mut page = format!("{INTRODUCTION}```yaml\n{}```\n", example());
    for section in SECTIONS {
        page.push('\n');
        page.push_str(&chapter(section));
    }
    for text in [VALUES, ROUTES, &limits()] {
        page.push('\n');
        page.push_str(text);
    }
    page
}

fn chapter(section: &Section) -> String {
    let title = match section.name {
        "" => "The file".to_owned(),
        name => format!("`{}`", name.replace('*', "NAME")),
    };
    let rows: Vec<_> = section.keys.iter().map(row).collect();
    format!(
        "## {title}\n\n{}\n\n| key | type | default | meaning |\n|---|---|---|---|\n{}",
        section.about,
        rows.concat()
    )
}

fn row(key: &Known) -> String {
    let Known { name, kind, default, meaning } = key;
    let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
    format!("| `{name}` | {kind} | {default} | {meaning} |\n")
}

fn limits() -> String {
    let rows = [
        ("size of the file", format!("{MAX_CONFIG_BYTES} bytes")),
        ("problems that are told", MAX_PROBLEMS.to_string()),
        ("providers", MAX_PROVIDERS.to_string()),
        ("models of one provider", MAX_MODELS.to_string()),
        ("extra headers of one provider", MAX_HEADERS.to_string()),
        ("aliases", MAX_ALIASES.to_string()),
        ("models that one alias leads to", MAX_TARGETS.to_string()),
        ("models and globs with a price", MAX_PRICES.to_string()),
    ];
    let rows: Vec<_> = rows.iter().map(|(what, most)| format!("| {what} | {most} |\n")).collect();
    format!("## Limits\n\n| what | at most |\n|---|---|\n{}", rows.concat())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_committed_page_is_made_from_the_table() {
        let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gateway-config.md");
        let text = std::fs::read_to_string(&committed).unwrap_or_default();
        if text != reference() {
            let made = std::env::temp_dir().join("gateway-config.md");
            std::fs::write(&made, reference()).unwrap();
            panic!("out of date: run `cp {} docs/gateway-config.md`", made.display());
        }
    }
}
