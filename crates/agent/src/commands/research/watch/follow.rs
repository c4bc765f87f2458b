//! The events of a job, each once, over as many connections as it takes.

use std::time::{Duration, Instant};

use http::HeaderName;
use serde_json::Value;
use task_loop::member::{MemberError, MemberRequest, data};
use wire::sse::Event;

use super::Viewer;
use crate::diagnostic::Diagnostic;
use crate::member::retry::{RetryingMember, growing};

/// How long a service may be away in the middle of a job, unless `--wait` is longer.
const MAX_AWAY: Duration = Duration::from_mins(2);
/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// A connection that held for so long was a good one.
const STEADY: Duration = Duration::from_secs(30);
/// How a job can end; nothing comes after these.
const ENDS: [&str; 4] = ["completed", "failed", "cancelled", "expired"];

static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Shows every event of a job until it has ended.
pub(super) async fn follow(
    service: &RetryingMember<'_>,
    path: &str,
    viewer: &mut Viewer<'_>,
) -> Result<(), Diagnostic> {
    let mut place = StreamPosition::default();
    let mut away: Option<Instant> = None;
    let mut breaks = 0;
    loop {
        let begun = Instant::now();
        let seen = place.last.clone();
        let trouble = match connection(service, path, viewer, &mut place).await? {
            DisconnectReason::Ended => return Ok(()),
            DisconnectReason::Trouble(trouble) => trouble,
        };
        if seen != place.last || begun.elapsed() > STEADY {
            (away, breaks) = (None, 0);
        }
        breaks += 1;
        let since = *away.get_or_insert_with(Instant::now);
        let pause = pause(&trouble, breaks);
        let most = if place.was_there { service.most().max(MAX_AWAY) } else { service.most() };
        let Some(pause) = pause.filter(|pause| since.elapsed() + *pause <= most) else {
            return Err(service.diagnostic(&trouble));
        };
        viewer.line.suspend(|| service.tell(&trouble, pause));
        tokio::time::sleep(pause).await;
    }
}

#[derive(Debug, Default)]
struct StreamPosition {
    /// The id of the last event that was shown.
    last: Option<String>,
    was_there: bool,
}

enum DisconnectReason {
    Ended,
    /// Something went wrong before.
    Trouble(MemberError),
}

async fn connection(
    service: &RetryingMember<'_>,
    path: &str,
    viewer: &mut Viewer<'_>,
    place: &mut StreamPosition,
) -> Result<DisconnectReason, Diagnostic> {
    let mut ask = MemberRequest::get(format!("{path}/events"));
    if let Some(last) = &place.last {
        ask = ask.with(LAST_EVENT_ID.clone(), last);
    }
    let mut events = match service.member.client.events(ask).await {
        Ok(events) => events,
        Err(trouble) => return Ok(DisconnectReason::Trouble(trouble)),
    };
    place.was_there = true;
    loop {
        let event = match events.next().await {
            Ok(Some(event)) => event,
            Ok(None) => {
                let reason = "the service ended the stream before the job ended".to_owned();
                return Ok(DisconnectReason::Trouble(MemberError::Broken { reason }));
            }
            Err(trouble) => return Ok(DisconnectReason::Trouble(trouble)),
        };
        let value = match read(&event) {
            Ok(value) => value,
            Err(trouble) => return Ok(DisconnectReason::Trouble(trouble)),
        };
        if let Some(id) = event.id() {
            place.last = Some(id.to_owned());
        }
        let kind = event.name().unwrap_or_default();
        viewer.see(kind, &value)?;
        if ENDS.contains(&kind) {
            return Ok(DisconnectReason::Ended);
        }
    }
}

/// What an event says. The error of one with a name is the job's, of one without the stream's.
fn read(event: &Event) -> Result<Value, MemberError> {
    match event.name() {
        None => data(event),
        Some(_) => {
            serde_json::from_slice(&event.data()).map_err(|error| MemberError::nonsense(&error))
        }
    }
}

/// How long to pause before the next connection; nothing if there need not be one.
fn pause(trouble: &MemberError, breaks: u32) -> Option<Duration> {
    let usual = growing(breaks).min(MAX_PAUSE);
    match trouble {
        MemberError::Broken { .. } | MemberError::Late { .. } => Some(usual),
        other => other.again().or(usual),
    }
}
