//! Errors of the task loop, with what a person can do about them.

use task_loop::end::{EndCause, TaskEnd};
use task_loop::model::ModelError;

use crate::diagnostic::{Diagnostic, Exit};
use crate::member::Member;

/// Why a task failed; nothing if it completed.
pub(crate) fn end_diagnostic(end: &TaskEnd, member: &Member) -> Option<Diagnostic> {
    let told = format!("the task did not end well: {end}");
    Some(match &end.cause {
        EndCause::Completed => return None,
        EndCause::Trouble(trouble) => member.diagnostic(trouble),
        EndCause::Cancelled => Diagnostic::interrupted(Exit::Interrupted),
        EndCause::Ended => Diagnostic::interrupted(Exit::Terminated),
        EndCause::Denied => Diagnostic::failed(told)
            .hint("at a terminal you are asked; `--approve SERVER` says yes beforehand"),
        EndCause::Rounds { .. } => Diagnostic::failed(told).hint("`--max-rounds` sets the limit"),
        EndCause::Budget { .. } => Diagnostic::failed(told).hint("`--max-credits` sets the limit"),
        EndCause::TimedOut { .. } => Diagnostic::failed(told).hint("`--max-time` sets the limit"),
        EndCause::Empty | EndCause::Filtered => Diagnostic::failed(told),
    })
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
            let diagnostic = Diagnostic::configuration(error.to_string());
            let configured = member.settings.model.as_ref().filter(|_| asked.is_none());
            let diagnostic = match configured {
                Some(model) => diagnostic.hint(format!("it is {}", model.place)),
                None => diagnostic,
            };
            diagnostic.hint(match nearest {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`agent models` lists the models".to_owned(),
            })
        }
        ModelError::None { .. } => Diagnostic::peer(error.to_string())
            .hint("`agent models` lists the models")
            .hint("on your own service, add a provider to gateway.yaml: `agent gateway example`"),
    }
}
