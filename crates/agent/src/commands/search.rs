//! `agent search`: searches pages for a query.

use anstyle::Style;
use task_loop::untrusted::{escaped_lines, printable};
use wire::search::{Domains, Recency, SearchAnswer, SearchRequest, SearchResult};

use crate::diagnostic::Result;
use crate::duration::{moment, since};
use crate::key_value::words;
use crate::member::retry::{RetryOptions, RetryingMember};
use crate::output::DIM;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::counted;
use crate::wrap;

const AGES: [&str; 4] = ["day", "week", "month", "year"];

const TITLE: Style = Style::new().bold();

/// Search the web or the documents of the service
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Results go to stdout; the provider and the cost go to stderr.

Examples:
  agent search tide tables hamburg
  agent search rust async traits --recency year --max 5
  agent search borrow checker --site rust-lang.org --not-site forum.rust-lang.org
  agent search tides --json")]
pub(crate) struct Args {
    /// Search terms
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// Maximum number of results [default: 10]
    #[arg(long, value_name = "N")]
    max: Option<u32>,
    /// Maximum age of results
    #[arg(long, value_name = "AGE", value_parser = words::<Recency>(AGES))]
    recency: Option<Recency>,
    /// Include only this domain and its subdomains; can be repeated
    #[arg(long, value_name = "DOMAIN")]
    site: Vec<String>,
    /// Exclude this domain and its subdomains; can be repeated
    #[arg(long, value_name = "DOMAIN")]
    not_site: Vec<String>,
    #[command(flatten)]
    waiting: RetryOptions,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let service = RetryingMember::find(session, args.waiting)?;
    let has_sites = !(args.site.is_empty() && args.not_site.is_empty());
    let request = SearchRequest {
        query: args.query.join(" "),
        max_results: args.max,
        recency: args.recency,
        domains: has_sites
            .then(|| Domains { include: args.site.clone(), exclude: args.not_site.clone() }),
    };
    let answer = block_on(service.pay("/search", &request))?;
    let Some(found) = service.read_or_print::<SearchAnswer>(&answer)? else { return Ok(()) };
    session.output.text(text(&found.results, session.output.columns()))?;
    let count = counted(found.results.len(), "result");
    let age = found.cached_at.as_deref().and_then(|at| since(at, session));
    let age = age.map_or_else(String::new, |age| format!(", found {age} ago"));
    session.output.note(format!("{count} from {}{age}", printable(&found.provider)));
    service.report_cost(&answer);
    Ok(())
}

fn text(results: &[SearchResult], columns: Option<usize>) -> String {
    let margin = results.len().to_string().len() + 2;
    let indent = " ".repeat(margin);
    let width = columns.map_or(usize::MAX, |columns| columns.saturating_sub(margin));
    let mut text = String::new();
    for (number, result) in (1..).zip(results) {
        if number > 1 {
            text.push('\n');
        }
        let mark = format!("{number}.");
        let title = if result.title.is_empty() { &result.url } else { &result.title };
        for (at, line) in wrap::plain(&escaped_lines(title), width).iter().enumerate() {
            let before = if at == 0 { format!("{mark:<margin$}") } else { indent.clone() };
            text.push_str(&format!("{before}{TITLE}{line}{TITLE:#}\n"));
        }
        text.push_str(&format!(
            "{indent}{DIM}{}{DIM:#}\n",
            escaped_lines(&result.url).replace('\n', " ")
        ));
        for line in wrap::plain(&escaped_lines(&result.snippet), width) {
            text.push_str(&format!("{indent}{line}\n"));
        }
        if let Some(at) = &result.published_at {
            text.push_str(&format!("{indent}{DIM}published {}{DIM:#}\n", moment(at)));
        }
    }
    text
}

#[cfg(test)]
mod tests;
