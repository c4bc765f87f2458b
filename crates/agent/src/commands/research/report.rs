//! A job for a person: its report, steps and outcome.

use serde_json::Value;
use task_loop::member::credits;
use task_loop::untrusted::printable;
use wire::research::JobView;

use crate::diagnostic::Result;
use crate::duration::moment;
use crate::markdown;
use crate::session::Session;
use crate::table::{counted, fields};

pub(super) fn show(job: &JobView, session: &Session) -> Result {
    let output = &session.output;
    for step in &job.steps {
        let what = step_line(&step.kind, &step.detail);
        output.detail(format!("step {}  {}  {what}", step.number, moment(&step.finished_at)));
    }
    let Some(report) = &job.report else { return output.text(state(job)) };
    if let Some(columns) = output.columns() {
        output.verbatim(markdown::rendered(&report.markdown, columns))?;
    } else {
        let end = if report.markdown.ends_with('\n') { "" } else { "\n" };
        output.bytes(format!("{}{end}", report.markdown).as_bytes())?;
    }
    for source in &job.sources {
        let (url, digest) = (printable(&source.url), printable(&source.sha256));
        let at = moment(&source.fetched_at);
        output.detail(format!("source {}  {url}  read {at}  sha256 {digest}", source.n));
    }
    let sources = counted(job.sources.len(), "source");
    output.note(format!("{} from {sources} by {}", printable(&job.id), printable(&job.model)));
    if let Some(charge) = job.charge_micros {
        output.note(format!("cost: {} credits", credits(charge)));
    }
    Ok(())
}

fn state(job: &JobView) -> String {
    let progress = &job.progress;
    let mut lines = vec![
        ("job", printable(&job.id)),
        ("status", printable(&job.status)),
        ("question", printable(&job.query)),
        ("model", printable(&job.model)),
        ("queued", moment(&job.created_at)),
    ];
    lines.extend(job.started_at.as_ref().map(|at| ("started", moment(at))));
    match &job.finished_at {
        Some(at) => lines.push(("ended", moment(at))),
        None if progress.total == 0 => {}
        None => {
            let (done, total, step) = (progress.done, progress.total, printable(&progress.step));
            lines.push(("progress", format!("{done} of {total} steps, now {step}")));
        }
    }
    lines.extend(job.error.as_ref().map(|error| {
        ("error", format!("{} ({})", printable(&error.message), printable(&error.code)))
    }));
    lines.extend(job.charge_micros.map(|charge| ("cost", format!("{} credits", credits(charge)))));
    fields(&lines)
}

pub(super) fn step_line(kind: &str, detail: &Value) -> String {
    let text = |name: &str| detail[name].as_str().map(printable).filter(|text| !text.is_empty());
    let count = |name: &str| detail[name].as_u64().and_then(|count| usize::try_from(count).ok());
    let what = match kind {
        "plan" => detail["queries"].as_array().map(|queries| {
            let queries = queries.iter().filter_map(Value::as_str);
            queries.map(printable).collect::<Vec<_>>().join("; ")
        }),
        "search" => text("query")
            .map(|query| format!("{query} ({})", counted(count("found").unwrap_or(0), "page"))),
        "read" => match text("fault") {
            Some(fault) => text("url").map(|url| format!("{url}: {fault}")),
            None => text("title").or_else(|| text("url")),
        },
        "note" => text("url")
            .map(|url| format!("{} of {url}", counted(count("quotes").unwrap_or(0), "quotation"))),
        "write" => count("sources").map(|sources| format!("from {}", counted(sources, "source"))),
        "check" => count("characters").map(|length| counted(length, "character")),
        _ => None,
    };
    let kind = printable(kind);
    match what {
        Some(what) => format!("{kind}: {what}"),
        None => kind,
    }
}

#[cfg(test)]
mod tests;
