//! Retries: temporary failures are retried for as long as a person wants to wait, and broken
//! requests are resent if they cannot be charged twice.

use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use task_loop::member::{MemberError, MemberRequest, MemberResponse, RetryAdvice};
use uuid::Uuid;
use wire::error::Code;

use super::Member;
use crate::diagnostic::{Diagnostic, Result};
use crate::output::Output;
use crate::session::Session;

const USUAL_WAIT: &str = "300";
/// Maximum configurable wait, in seconds.
const MAX_WAIT: u64 = 24 * 60 * 60;
/// Maximum number of resends after broken connections.
const MAX_MENDS: u32 = 5;
/// The first pause if the service sets none; it doubles with each retry.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Maximum time that the first attempt may keep running after its connection broke.
const MAX_RUNNING: Duration = Duration::from_mins(3);
/// Poll interval for its end.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct RetryOptions {
    /// Retry while the service is unavailable, up to SECONDS [default: 300]
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = USUAL_WAIT,
        value_parser = clap::value_parser!(u64).range(1..=MAX_WAIT)
    )]
    wait: Option<u64>,
}

impl RetryOptions {
    pub(crate) fn most(self) -> Duration {
        Duration::from_secs(self.wait.unwrap_or(0))
    }
}

#[derive(Debug)]
pub(crate) struct RetryingMember<'a> {
    pub(crate) member: Member,
    output: &'a Output,
    pub(crate) most: Duration,
    /// The name and the list of what every request is about.
    subject: Option<(String, &'static str)>,
}

impl<'a> RetryingMember<'a> {
    pub(crate) fn find(session: &'a Session, waiting: RetryOptions) -> Result<Self> {
        let member = Member::find(session)?;
        Ok(Self { member, output: &session.output, most: waiting.most(), subject: None })
    }

    /// Names `subject` and how to list others if the service does not find it.
    pub(crate) fn about(mut self, subject: String, list: &'static str) -> Self {
        self.subject = Some((subject, list));
        self
    }

    pub(crate) async fn get(&self, path: &str) -> Result<MemberResponse> {
        self.ask(MemberRequest::get(path)).await
    }

    /// Sends a request that may cost money: charged once, however often it is sent.
    pub(crate) async fn pay(&self, path: &str, body: &impl Serialize) -> Result<MemberResponse> {
        self.ask(MemberRequest::post(path, body).once(&Uuid::new_v4().to_string())).await
    }

    /// Retries until there is a response or a permanent error.
    pub(crate) async fn ask(&self, ask: MemberRequest) -> Result<MemberResponse> {
        let mut tries = RetryState::new(self.most, ask.may_repeat);
        loop {
            let trouble = match self.member.client.ask(ask.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(trouble) => trouble,
            };
            let Some(pause) = tries.pause(&trouble) else { return Err(self.diagnostic(&trouble)) };
            self.report(&trouble, pause);
            tokio::time::sleep(pause).await;
        }
    }

    pub(crate) fn read<T: DeserializeOwned>(&self, answer: &MemberResponse) -> Result<T> {
        answer.json().map_err(|trouble| self.diagnostic(&trouble))
    }

    /// The parsed response; `None` if it was printed as JSON.
    pub(crate) fn read_or_print<T: DeserializeOwned>(
        &self,
        answer: &MemberResponse,
    ) -> Result<Option<T>> {
        if self.output.is_json() {
            self.print(answer).map(|()| None)
        } else {
            self.read(answer).map(Some)
        }
    }

    /// Prints a response as received.
    pub(crate) fn print(&self, answer: &MemberResponse) -> Result {
        let document = answer.document().map_err(|trouble| self.diagnostic(&trouble))?;
        self.output.bytes(document.as_bytes())
    }

    /// Prints the cost of a charged answer and, if verbose, its receipt.
    pub(crate) fn report_cost(&self, answer: &MemberResponse) {
        if let Some(cost) = answer.cost() {
            self.output.note(format!("cost: {cost}"));
        }
        if let Some(receipt) = answer.receipt() {
            self.output.detail(format!("receipt: {}", task_loop::untrusted::printable(receipt)));
        }
    }

    pub(crate) fn diagnostic(&self, trouble: &MemberError) -> Diagnostic {
        if let (Some(404), Some((subject, list))) = (trouble.status(), &self.subject) {
            return Diagnostic::failed(format!("{subject} not found"))
                .hint(format!("list others with `{list}`"));
        }
        let diagnostic = self.member.diagnostic(trouble);
        match trouble {
            MemberError::Refused { .. } if trouble.again() != RetryAdvice::Never => {
                diagnostic.hint("retry automatically with `--wait=SECONDS`")
            }
            _ => diagnostic,
        }
    }

    pub(crate) fn report(&self, trouble: &MemberError, pause: Duration) {
        let seconds = pause.as_secs_f64().ceil();
        self.output.warn(format!("{}; retrying in {seconds} s", trouble.line()));
    }
}

#[derive(Debug)]
pub(crate) struct RetryState {
    most: Duration,
    may_repeat: bool,
    begun: Instant,
    broke: Option<Instant>,
    mends: u32,
    waits: u32,
}

impl RetryState {
    pub(crate) fn new(most: Duration, may_repeat: bool) -> Self {
        Self { most, may_repeat, begun: Instant::now(), broke: None, mends: 0, waits: 0 }
    }

    /// The pause before the next attempt; `None` if there is none.
    pub(crate) fn pause(&mut self, trouble: &MemberError) -> Option<Duration> {
        let is_broken = matches!(trouble, MemberError::Broken { .. });
        let is_away = self.broke.is_some() && matches!(trouble, MemberError::Unreachable { .. });
        let is_mended = self.may_repeat && (is_broken || is_away);
        if is_mended && self.mends < MAX_MENDS {
            self.broke.get_or_insert_with(Instant::now);
            self.mends += 1;
            return Some(growing(self.mends));
        }
        if trouble.is(Code::IdempotencyInProgress) {
            // Our first request still runs; the service stores its response.
            let is_ours = self.broke.is_some_and(|broke| broke.elapsed() < MAX_RUNNING);
            return is_ours.then_some(LOOK_EVERY);
        }
        let again = if is_mended { RetryAdvice::Soon } else { trouble.again() };
        let pause = again.or(growing(self.waits + 1))?.max(FIRST_PAUSE);
        self.waits += 1;
        (self.begun.elapsed() + pause <= self.most).then_some(pause)
    }
}

pub(crate) fn growing(number: u32) -> Duration {
    let factor = 1_u32 << number.saturating_sub(1).min(16);
    FIRST_PAUSE.saturating_mul(factor).min(MAX_PAUSE)
}

#[cfg(test)]
mod tests;
