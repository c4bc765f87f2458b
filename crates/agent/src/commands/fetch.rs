//! `agent fetch`: prints the content of a page.

use task_loop::untrusted::{escaped_lines, printable};
use wire::web::{Page, PageFormat, PageRequest};

use crate::diagnostic::Result;
use crate::duration::{moment, since};
use crate::key_value::words;
use crate::markdown;
use crate::member::retry::{RetryOptions, RetryingMember};
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::grouped;

const FORMATS: [&str; 3] = ["markdown", "text", "html"];

/// Read a web page as Markdown, text or HTML
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The content goes to stdout; messages go to stderr. A terminal shows formatted Markdown unless \
--format is given.

Examples:
  agent fetch https://example.com/
  agent fetch https://example.com/ --format text --max-chars 2000
  agent fetch https://example.com/ > page.md")]
pub(crate) struct Args {
    /// An http or https URL
    url: String,
    /// Output format [default: markdown]
    #[arg(long, value_name = "FORMAT", value_parser = words::<PageFormat>(FORMATS))]
    format: Option<PageFormat>,
    /// Maximum characters of content [default: 50000]
    #[arg(long, value_name = "N")]
    max_chars: Option<u32>,
    /// Character offset to start at, to read a long page in parts
    #[arg(long, value_name = "N")]
    start: Option<u32>,
    /// Accept a cached copy up to this age; 0 skips the cache
    #[arg(long, value_name = "SECONDS")]
    max_age: Option<u32>,
    #[command(flatten)]
    waiting: RetryOptions,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let service = RetryingMember::find(session, args.waiting)?;
    let request = PageRequest {
        url: args.url.clone(),
        format: args.format,
        max_chars: args.max_chars,
        start_index: args.start,
        max_age_s: args.max_age,
    };
    let answer = block_on(service.pay("/web/fetch", &request))?;
    let Some(page) = service.read_or_print::<Page>(&answer)? else { return Ok(()) };
    report(&page, session);
    show(&page, args.format, session)?;
    if page.truncated {
        let next = page.next_index.unwrap_or_default();
        let url = crate::mcp::advice::quoted(&args.url);
        session.output.note(format!(
            "more text from character {}: agent fetch {} --start {next}",
            grouped(next),
            escaped_lines(&url),
        ));
    }
    service.report_cost(&answer);
    Ok(())
}

fn report(page: &Page, session: &Session) {
    let output = &session.output;
    let about = [("title", &page.title), ("by", &page.byline), ("published", &page.published_at)];
    for (name, text) in about {
        if let Some(text) = text {
            output.note(format!("{name}: {}", printable(text)));
        }
    }
    output.note(format!("address: {}", printable(&page.final_url)));
    if page.from_cache {
        let age = since(&page.fetched_at, session).unwrap_or_default();
        output.note(format!("fetched {age} ago; fetch it again with `--max-age 0`"));
    }
    output.detail(format!("type: {}", printable(&page.media_type)));
    output.detail(format!("fetched: {}", moment(&page.fetched_at)));
}

/// Prints the content: raw, or rendered for a person at a terminal.
fn show(page: &Page, format: Option<PageFormat>, session: &Session) -> Result {
    let content = &page.content;
    let Some(columns) = session.output.columns() else {
        return session.output.bytes(content.as_bytes());
    };
    // Only HTML was converted to Markdown.
    let is_markdown = page.media_type.contains("html")
        || page.media_type.contains("markdown")
        || page.final_url.to_ascii_lowercase().ends_with(".md");
    if format.is_none() && is_markdown {
        return session.output.verbatim(markdown::rendered(content, columns));
    }
    let end = if content.ends_with('\n') { "" } else { "\n" };
    session.output.verbatim(format!("{}{end}", escaped_lines(content)))
}
