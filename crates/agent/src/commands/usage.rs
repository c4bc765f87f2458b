//! `agent usage`: usage totals of the account; their options and output are also those of
//! `agent gateway usage`.

use form_urlencoded::Serializer;
use task_loop::member::credits;
use wire::usage::{UsageEntry, UsageList, UsageOwner, UsageSums};

use crate::diagnostic::Result;
use crate::member::retry::{RetryOptions, RetryingMember};
use crate::output::Output;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::{Table, csv, grouped};

/// Show your usage: requests, tokens and credits
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Group by day, key, operation, model, provider or several of these. Only answered \
                        requests count. Amounts are credits; --csv and --json have micro-credits.\n\n\
                        Examples:\n  agent usage\n  agent usage --by model --from 2026-01-01\n  \
                        agent usage --by day,key --csv > usage.csv"
)]
pub(crate) struct Args {
    #[command(flatten)]
    options: UsageOptions,
    #[command(flatten)]
    waiting: RetryOptions,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let service = RetryingMember::find(session, args.waiting)?;
    let UsageOptions { from, to, by, limit, .. } = &args.options;
    let limit = limit.map(|limit| limit.to_string());
    let parameters = [("from", from), ("to", to), ("by", by), ("limit", &limit)];
    let mut query = Serializer::new(String::new());
    for (name, value) in parameters {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let answer = block_on(service.get(&format!("/me/usage?{}", query.finish())))?;
    let Some(usage) = service.read_or_print::<UsageList>(&answer)? else { return Ok(()) };
    print(&usage, &args.options, &session.output)
}

/// The range and the sums.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct UsageOptions {
    /// First day (UTC), for example `2026-01-31` [default: 29 days before the last]
    #[arg(long, value_name = "DAY")]
    pub(crate) from: Option<String>,
    /// Last day (UTC) [default: today]
    #[arg(long, value_name = "DAY")]
    pub(crate) to: Option<String>,
    /// Comma-separated columns to group by [default: day]
    #[arg(long, value_name = "WORDS")]
    pub(crate) by: Option<String>,
    /// Maximum number of lines [default: 1000]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// Print CSV
    #[arg(long)]
    pub(crate) csv: bool,
}

const NUMBERS: [&str; 4] = ["requests", "input tokens", "output tokens", "credits"];

/// Prints JSON, a table, or comma-separated values.
pub(crate) fn print(usage: &UsageList, options: &UsageOptions, output: &Output) -> Result {
    if options.csv && !output.is_json() {
        return output.bytes(&values(usage)?);
    }
    let none = format!("Nothing was used from {} to {}.", usage.from, usage.to);
    table(usage).print(output, usage, &none)?;
    if usage.has_more {
        output.tell("There are more lines: raise --limit or shorten the range.");
    }
    Ok(())
}

fn table(usage: &UsageList) -> Table {
    let words = usage.by.iter().map(String::as_str);
    let mut table = Table::new(words.chain(NUMBERS)).align_right(&NUMBERS);
    for entry in &usage.data {
        let words = usage.by.iter().map(|by| match dimension(entry, by) {
            (id, Some(name)) => format!("{name} ({id})"),
            ("", None) => "-".to_owned(),
            (id, None) => id.to_owned(),
        });
        table.row(words.chain(numbers(&entry.sums)));
    }
    // The total is below the lines, unless there is only one.
    if usage.data.len() > 1 && !usage.by.is_empty() {
        let words = usage.by.iter().enumerate();
        let words = words.map(|(index, _)| if index == 0 { "total" } else { "" }.to_owned());
        table.row(words.chain(numbers(&usage.total)));
    }
    table
}

fn numbers(sums: &UsageSums) -> [String; 4] {
    let count = |number: i64| grouped(number.unsigned_abs());
    let (input, output) = (count(sums.input_tokens), count(sums.output_tokens));
    [count(sums.requests), input, output, credits(sums.charged_micros)]
}

/// The id of an entry in this dimension, and its name, if it has one.
fn dimension<'a>(entry: &'a UsageEntry, by: &str) -> (&'a str, Option<&'a str>) {
    let owner = |owner: &'a Option<UsageOwner>| match owner {
        Some(owner) => (owner.id.as_str(), Some(owner.name.as_str())),
        None => ("", None),
    };
    let text = match by {
        "member" => return owner(&entry.member),
        "team" => return owner(&entry.team),
        "key" => return owner(&entry.key),
        "day" => &entry.day,
        "operation" => &entry.operation,
        "model" => &entry.model,
        "provider" => &entry.provider,
        _ => &None,
    };
    (text.as_deref().unwrap_or_default(), None)
}

fn values(usage: &UsageList) -> Result<Vec<u8>> {
    let numbers = ["requests", "input_tokens", "output_tokens", "charged_micros"];
    let headings = usage.by.iter().map(String::as_str).chain(numbers).map(str::to_owned);
    let line = |entry: &UsageEntry| {
        let sums = &entry.sums;
        let words = usage.by.iter().map(|by| dimension(entry, by).0.to_owned());
        let numbers = [sums.requests, sums.input_tokens, sums.output_tokens, sums.charged_micros];
        words.chain(numbers.map(|number| number.to_string())).collect()
    };
    csv(std::iter::once(headings.collect()).chain(usage.data.iter().map(line)))
}
