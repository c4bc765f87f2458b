//! Errors of the task loop, with the next steps for a person.

use task_loop::end::TaskEnd;
use task_loop::model::ModelError;

use crate::diagnostic::{Diagnostic, Exit};
use crate::member::Member;

/// Why a task failed; `None` if it completed.
pub(crate) fn end_diagnostic(end: &TaskEnd, member: &Member) -> Option<Diagnostic> {
    let hint = match end {
        TaskEnd::Completed => return None,
        TaskEnd::Trouble(trouble) => return Some(member.diagnostic(trouble)),
        TaskEnd::Cancelled => return Some(Diagnostic::interrupted(Exit::Interrupted)),
        TaskEnd::Ended => return Some(Diagnostic::interrupted(Exit::Terminated)),
        TaskEnd::Denied => {
            "run it in a terminal to be asked, or approve calls in advance with `--approve SERVER`"
        }
        TaskEnd::Rounds { .. } => "set the limit with `--max-rounds`",
        TaskEnd::Budget { .. } => "set the limit with `--max-credits`",
        TaskEnd::TimedOut { .. } => "set the limit with `--max-time`",
        TaskEnd::Empty | TaskEnd::Filtered => "",
    };
    let hint = Some(hint).filter(|hint| !hint.is_empty()).map(str::to_owned);
    Some(Diagnostic::failed(format!("the task did not complete: {end}")).hints(hint))
}

/// Why no model was found. `asked` is the model of the command line.
pub(crate) fn model_diagnostic(
    error: &ModelError,
    asked: Option<&str>,
    member: &Member,
) -> Diagnostic {
    match error {
        ModelError::Service { error, .. } => member.diagnostic(error),
        ModelError::Unknown { nearest, .. } => {
            let configured = member.settings.model.as_ref().filter(|_| asked.is_none());
            Diagnostic::configuration(error.to_string())
                .hints(configured.map(|model| format!("the model is set by {}", model.place)))
                .did_you_mean(nearest.as_deref(), "list models with `agent models`")
        }
        ModelError::None { .. } => {
            Diagnostic::peer(error.to_string()).hint("list models with `agent models`").hint(
                "on your own service, add a provider to gateway.yaml; see `agent gateway example`",
            )
        }
    }
}
