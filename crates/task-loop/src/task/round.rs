//! One round of tool calls: in parallel if their servers allow it, else one after the other.

use std::sync::Arc;

use futures_util::future::join_all;
use mcp_client::{Progress, ProgressSink};
use tokio::sync::mpsc::channel;

use super::{RunningTask, TaskContext};
use crate::attachment::Attachment;
use crate::conversation::{Call, Message};
use crate::event::{Event, Listener};
use crate::person::ApprovalAnswer;
use crate::toolbox::CallOutcome;

/// Maximum calls per round; the rest are not run.
const MAX_CALLS: usize = 32;
const MAX_AT_ONCE: usize = 8;

const MAX_QUEUED_PROGRESS: usize = 256;

#[derive(Debug)]
pub(super) struct RoundOutcome {
    pub(super) is_stopped: bool,
    /// No call was approved.
    pub(super) is_all_denied: bool,
}

impl RunningTask<'_, '_> {
    pub(super) async fn run_calls(&mut self, calls: &[Call]) -> RoundOutcome {
        let mut round = RoundOutcome { is_stopped: false, is_all_denied: true };
        let (wanted, too_many) = calls.split_at(calls.len().min(MAX_CALLS));
        let mut rest = wanted;
        while !rest.is_empty() && !round.is_stopped {
            let toolbox = self.context.toolbox;
            let together = rest.iter().take_while(|call| toolbox.is_parallel(call)).count();
            let (batch, later) = rest.split_at(together.clamp(1, MAX_AT_ONCE));
            rest = later;
            self.running = batch.to_vec();
            let outcomes = run_together(self.context, self.listener, batch).await;
            self.running.clear();
            for (call, outcome) in batch.iter().zip(outcomes) {
                self.listener.event(Event::Called { call, outcome: &outcome });
                self.context.counting.tool_called(&outcome);
                self.spent.tool_calls += 1;
                self.spent.charge_micros += outcome.charge_micros.unwrap_or_default();
                round.is_stopped |= outcome.approval == Some(ApprovalAnswer::Stop);
                round.is_all_denied &= outcome.approval.is_some_and(|answer| !answer.is_yes());
                self.push_result(call, outcome.text, outcome.attachments);
            }
        }
        let why =
            if round.is_stopped { "the task is ending" } else { "too many calls in one round" };
        for call in rest.iter().chain(too_many) {
            self.push_result(call, format!("not run: {why}"), Vec::new());
        }
        round
    }

    fn push_result(&mut self, call: &Call, text: String, attachments: Vec<Attachment>) {
        let Call { id, name, .. } = call.clone();
        self.conversation.push(Message::Tool { id, name, text, attachments });
    }
}

async fn run_together(
    context: &TaskContext<'_>,
    listener: &mut dyn Listener,
    batch: &[Call],
) -> Vec<CallOutcome> {
    for call in batch {
        let server = context.toolbox.server(&call.name);
        listener.event(Event::Calling { call, server: server.as_deref() });
    }
    let (sender, mut heard) = channel::<(String, String)>(MAX_QUEUED_PROGRESS);
    let sink = |call: &Call| -> ProgressSink {
        let (id, sender) = (call.id.clone(), sender.clone());
        Arc::new(move |progress: Progress| {
            // Full, or closed because the round is over: progress is for display only.
            let _ = sender.try_send((id.clone(), progress.to_string()));
        })
    };
    let running = join_all(batch.iter().map(|call| context.toolbox.run(call, Some(sink(call)))));
    tokio::pin!(running);
    loop {
        tokio::select! {
            done = &mut running => return done,
            Some((call, text)) = heard.recv() => {
                listener.event(Event::Progress { call: &call, text: &text });
            }
        }
    }
}
