//! A file of tasks, run a few at a time. Each prints a line of JSON on standard output.

use std::path::Path;

use futures_util::stream::{self, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use task_loop::end::TaskEnd;
use task_loop::event::{Event, Listener};
use task_loop::{OldTurns, TaskContext};
use usage_metrics::catalogue::{Entrypoint, ExecutionSurface};

use super::{Args, SharedTaskSetup};
use crate::config;
use crate::diagnostic::{Diagnostic, Exit, Result};
use crate::runtime::{Signals, StopSignal};
use crate::session::Session;

const MAX_TASKS: usize = 100_000;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BatchTask {
    /// Identifies its answer: the name, or else the line number.
    #[serde(default)]
    id: Value,
    task: String,
}

/// Reads the tasks: one per line, skipping empty lines.
pub(super) fn read(path: &Path) -> Result<Vec<BatchTask>> {
    let text = config::read(path)?.ok_or_else(|| Diagnostic::no_file(Exit::Usage, path))?;
    let mut jobs = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = at + 1;
        let mut job = if line.trim_start().starts_with('{') {
            serde_json::from_str::<BatchTask>(line).map_err(|error| {
                let message = format!("{}:{number}: invalid task", path.display());
                Diagnostic::usage(message)
                    .because(&error)
                    .hint("use `{\"task\": \"…\"}`, or plain text")
            })?
        } else {
            BatchTask { id: Value::Null, task: line.trim().to_owned() }
        };
        if job.id.is_null() {
            job.id = json!(number);
        }
        jobs.push(job);
    }
    if jobs.is_empty() || jobs.len() > MAX_TASKS {
        let message = format!("{} has {} tasks", path.display(), jobs.len());
        return Err(
            Diagnostic::usage(message).hint(format!("a file may have 1 to {MAX_TASKS} tasks"))
        );
    }
    Ok(jobs)
}

/// Runs them. A failed one does not affect the others.
pub(super) async fn run(
    jobs: &[BatchTask],
    args: &Args,
    SharedTaskSetup { setup, client, schema }: SharedTaskSetup<'_>,
    signals: &mut Signals,
    session: &Session,
) -> Result {
    let ran = signals.stop_on_signal(async |stop: StopSignal| {
        let counting = setup.counting(Entrypoint::Batch, ExecutionSurface::Batch);
        let model = setup.model(setup.wanted.model.as_deref(), client, &counting).await?;
        let bar = session.output.progress(jobs.len() as u64, "tasks");
        let work = |job: BatchTask| {
            let (model, counting) = (&model, &counting);
            let (stop, schema) = (stop.clone(), schema.clone());
            async move {
                let toolbox = setup.toolbox(client, model, session)?;
                let context = TaskContext {
                    old_turns: OldTurns::Cut,
                    output_schema: schema,
                    ..setup.context(model, &toolbox, counting, stop)
                };
                let mut conversation = setup.conversation(model, session);
                let input = Some(job.task.as_str().into());
                let done =
                    task_loop::run(input, &mut conversation, &context, &mut SilentListener).await;
                Ok::<_, Diagnostic>((job, done))
            }
        };
        let waiting = jobs.iter().cloned().take_while(|_| !stop.now.is_cancelled());
        let mut running = stream::iter(waiting).map(work).buffer_unordered(args.jobs.into());
        let (mut failed, mut seen) = (0_usize, 0_usize);
        while let Some(finished) = running.next().await {
            let (job, done) = finished?;
            seen += 1;
            failed += usize::from(done.end != TaskEnd::Completed);
            let line = json!({
                "id": job.id,
                "end_reason": done.end.ending().end_reason.text(),
                "message": done.end.to_string(),
                "answer": done.answer,
                "spent": done.spent,
            });
            session.output.json_line(&setup.fleet.shown.json(line))?;
            bar.inc(1);
            if let TaskEnd::Trouble(trouble) = &done.end
                && trouble.status() == Some(401)
            {
                return Err(setup.member.diagnostic(trouble));
            }
        }
        bar.finish_and_clear();
        Ok((failed, seen))
    });
    let (failed, seen) = ran.await??;
    if seen < jobs.len() {
        let message = format!("interrupted after {seen} of {} tasks", jobs.len());
        return Err(Diagnostic {
            message: Some(message),
            ..Diagnostic::interrupted(Exit::Interrupted)
        });
    }
    if failed > 0 {
        return Err(Diagnostic::failed(format!("{failed} of {seen} tasks failed")));
    }
    Ok(())
}

struct SilentListener;

impl Listener for SilentListener {
    fn event(&mut self, _: Event<'_>) {}
}

#[cfg(test)]
mod tests;
