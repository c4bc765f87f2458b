//! `agent research watch`: follows a job to its end.

use std::time::{Duration, Instant};

use http::HeaderName;
use indicatif::ProgressBar;
use serde_json::Value;
use task_loop::member::{Events, MemberError, MemberRequest, credits, data};
use task_loop::untrusted::printable;
use wire::research::JobView;
use wire::sse::Event;

use super::report::{self, step_line};
use super::{JobArgs, path};
use crate::diagnostic::{Diagnostic, Exit, Result};
use crate::member::retry::{RetryingMember, growing};
use crate::runtime::block_on;
use crate::session::Session;

/// Maximum outage of the service during a job, unless `--wait` is longer.
const MAX_AWAY: Duration = Duration::from_mins(2);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// A connection of this duration resets the count of failures.
const STEADY: Duration = Duration::from_secs(30);
/// The final events of a job.
const ENDS: [&str; 4] = ["completed", "failed", "cancelled", "expired"];

static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(super) fn run(job: &JobArgs, session: &Session) -> Result {
    watch(&job.service(session)?, &job.id, session)
}

pub(super) fn watch(service: &RetryingMember<'_>, id: &str, session: &Session) -> Result {
    let path = path(id)?;
    let mut viewer = Viewer { session, line: session.output.spinner() };
    let followed = block_on(async {
        follow(service, &path, &mut viewer).await?;
        viewer.line.finish_and_clear();
        service.get(&path).await
    });
    viewer.line.finish_and_clear();
    let answer = followed.map_err(|diagnostic| left(diagnostic, id))?;
    let job: JobView = service.read(&answer)?;
    if !session.output.is_json() && job.report.is_some() {
        report::show(&job, session)?;
    }
    ended(&job)
}

fn ended(job: &JobView) -> Result {
    let status = printable(&job.status);
    let cost = match job.charge_micros {
        None | Some(0) => "nothing was charged".to_owned(),
        Some(charge) => format!("{} credits were charged", credits(charge)),
    };
    match (status.as_str(), &job.error) {
        ("completed", _) => Ok(()),
        ("cancelled", _) => Err(Diagnostic::failed(format!("the job was cancelled; {cost}"))),
        (_, Some(error)) => {
            let (message, code) = (printable(&error.message), printable(&error.code));
            let diagnostic = Diagnostic::failed(format!("the job {status}; {cost}"));
            Err(diagnostic.cause(format!("{message} ({code})")))
        }
        (_, None) => Err(Diagnostic::failed(format!("the job {status}; {cost}"))),
    }
}

fn left(diagnostic: Diagnostic, id: &str) -> Diagnostic {
    let goes_on = matches!(diagnostic.exit, Exit::Interrupted | Exit::Peer | Exit::Terminated);
    if !goes_on {
        return diagnostic;
    }
    diagnostic
        .hint(format!("the job is still running; follow it with `agent research watch {id}`"))
        .hint(format!("cancel it with `agent research cancel {id}`"))
}

struct Viewer<'a> {
    session: &'a Session,
    line: ProgressBar,
}

impl Viewer<'_> {
    fn see(&self, kind: &str, event: &Value) -> Result {
        let output = &self.session.output;
        if output.is_json() {
            return output.json_line(event);
        }
        let step = &event["step"];
        let name = step["kind"].as_str().unwrap_or_default();
        match kind {
            "queued" => self.now("queued"),
            "running" => self.now("running"),
            "step.started" => self.now(&printable(name)),
            "step.finished" => {
                let progress = &event["progress"];
                let (done, total) = (progress["done"].as_u64(), progress["total"].as_u64());
                let far = format!("[{}/{}]", done.unwrap_or(0), total.unwrap_or(0));
                self.print_note(&format!("{far} {}", step_line(name, &step["detail"])));
            }
            "step.failed" => {
                let why = event["error"]["message"].as_str().unwrap_or("unknown error");
                let pause = event["retry_in_seconds"].as_u64().unwrap_or(0);
                let again = format!("retrying in {pause} s");
                self.print_note(&format!("{}: {}; {again}", printable(name), printable(why)));
            }
            other => self.now(&printable(other)),
        }
        Ok(())
    }

    fn print_note(&self, text: &str) {
        self.line.suspend(|| self.session.output.note(text));
    }

    fn now(&self, text: &str) {
        self.line.set_message(format!("{text} …"));
        self.line.tick();
    }
}

async fn follow(service: &RetryingMember<'_>, path: &str, viewer: &mut Viewer<'_>) -> Result {
    let mut place = StreamPosition::default();
    let mut away: Option<Instant> = None;
    let mut breaks = 0;
    loop {
        let begun = Instant::now();
        let seen = place.last.clone();
        let ended = connection(service, path, viewer, &mut place).await?;
        let Some(trouble) = ended else { return Ok(()) };
        if seen != place.last || begun.elapsed() > STEADY {
            (away, breaks) = (None, 0);
        }
        breaks += 1;
        let since = *away.get_or_insert_with(Instant::now);
        let pause = pause(&trouble, breaks);
        let most = if place.was_there { service.most.max(MAX_AWAY) } else { service.most };
        let Some(pause) = pause.filter(|pause| since.elapsed() + *pause <= most) else {
            return Err(service.diagnostic(&trouble));
        };
        viewer.line.suspend(|| service.report(&trouble, pause));
        tokio::time::sleep(pause).await;
    }
}

#[derive(Debug, Default)]
struct StreamPosition {
    last: Option<String>,
    was_there: bool,
}

/// Follows the events of one connection: returns why it broke, or `None` if the job has ended.
async fn connection(
    service: &RetryingMember<'_>,
    path: &str,
    viewer: &mut Viewer<'_>,
    place: &mut StreamPosition,
) -> Result<Option<MemberError>> {
    let mut ask = MemberRequest::get(format!("{path}/events"));
    if let Some(last) = &place.last {
        ask = ask.with(LAST_EVENT_ID.clone(), last);
    }
    let mut events = match service.member.client.events(ask).await {
        Ok(events) => events,
        Err(trouble) => return Ok(Some(trouble)),
    };
    place.was_there = true;
    loop {
        let (event, value) = match next(&mut events).await {
            Ok(next) => next,
            Err(trouble) => return Ok(Some(trouble)),
        };
        if let Some(id) = event.id() {
            place.last = Some(id.to_owned());
        }
        let kind = event.name().unwrap_or_default();
        viewer.see(kind, &value)?;
        if ENDS.contains(&kind) {
            return Ok(None);
        }
    }
}

/// The next event and its data. The error of a named event is the job's, of an unnamed one the
/// stream's.
async fn next(events: &mut Events) -> Result<(Event, Value), MemberError> {
    let Some(event) = events.next().await? else {
        let reason = "the service ended the stream before the job ended".to_owned();
        return Err(MemberError::Broken { reason });
    };
    let value = match event.name() {
        None => data(&event)?,
        Some(_) => {
            serde_json::from_slice(&event.data()).map_err(|error| MemberError::nonsense(&error))?
        }
    };
    Ok((event, value))
}

/// The pause before the next connection; `None` if there is none to make.
fn pause(trouble: &MemberError, breaks: u32) -> Option<Duration> {
    let usual = growing(breaks).min(MAX_PAUSE);
    match trouble {
        MemberError::Broken { .. } | MemberError::Late { .. } => Some(usual),
        other => other.again().or(usual),
    }
}
