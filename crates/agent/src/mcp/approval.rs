//! Approval of calls: the dialog for a person, and the file of approvals.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use mcp_client::host::{ApprovalDecision, ApprovalRequest, Approver, BoxFuture};
use similar::{ChangeTag, TextDiff};
use task_loop::Sanitizer;
use task_loop::approval_memory::ApprovalStore;
use task_loop::person::{ApprovalQuestion, ApprovalReason, CallContext, Person};
use task_loop::untrusted::{excerpt, without_blanks};

use crate::config::{self, lock};
use crate::diagnostic::Diagnostic;
use crate::output::WARNING;

/// Asks a person about every call that needs approval.
#[derive(Debug)]
pub(crate) struct PersonApprover(pub(crate) Arc<dyn Person>);

/// The reason for the question.
const UNTRUSTED: &str = "the server is untrusted and the tool is not marked as read-only";
const CHANGED: &str = "the tool has changed since it was last used";
const CONFIGURED: &str = "`tools.approval` of the server requires it";

/// The content of an approval question, bounded so that it stays on the screen with the
/// question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApprovalDialog {
    pub(crate) text: String,
    /// The full text, if it is cut.
    pub(crate) whole: Option<String>,
}

impl ApprovalDialog {
    /// A heading and sections, each with its maximum number of rows; the decisive part is last.
    pub(crate) fn new(heading: &str, sections: &[(&str, String, usize)]) -> Self {
        let (mut text, mut whole, mut is_cut) = (heading.to_owned(), heading.to_owned(), false);
        for (name, section, rows) in sections {
            let short = excerpt(section, *rows);
            is_cut |= short.is_cut;
            text.push_str(&entry(name, &short.text));
            whole.push_str(&entry(name, &without_blanks(section)));
        }
        Self { text, whole: is_cut.then_some(whole) }
    }
}

fn entry(name: &str, text: &str) -> String {
    format!("\n  {name:<12} {}", text.replace('\n', "\n               "))
}

const BACKGROUND_ROWS: usize = 6;
pub(crate) const DECISIVE_ROWS: usize = 12;

/// The question about a call, with its reason and the changes of the tool.
pub(crate) fn question(question: &ApprovalQuestion, shown: &Sanitizer) -> ApprovalDialog {
    let (why, sections) = sections(question, shown);
    ApprovalDialog::new(
        &format!("{WARNING}This call needs your approval:{WARNING:#} {why}."),
        &sections,
    )
}

/// The reason for the question, and its parts, each with its maximum number of rows.
pub(crate) fn sections(
    question: &ApprovalQuestion,
    shown: &Sanitizer,
) -> (&'static str, Vec<(&'static str, String, usize)>) {
    let approval = &question.call;
    let (why, changed) = match &question.why {
        ApprovalReason::Changed { before, after } => (CHANGED, Some(change(before, after, shown))),
        ApprovalReason::Untrusted => (UNTRUSTED, None),
        ApprovalReason::EveryCall | ApprovalReason::FirstCall => (CONFIGURED, None),
    };
    let arguments = serde_json::to_string_pretty(&approval.arguments).unwrap_or_default();
    let tool = format!("{} ({})", shown.line(&approval.native_name), shown.line(&approval.tool));
    let description = shown.whole(approval.description.trim_end());
    let mut sections = vec![("description", description, BACKGROUND_ROWS)];
    sections.extend(changed.map(|changed| ("changed", changed, DECISIVE_ROWS)));
    sections.push(("server", shown.line(&approval.server), DECISIVE_ROWS));
    sections.push(("tool", tool, DECISIVE_ROWS));
    sections.push(("arguments", shown.whole(&arguments), DECISIVE_ROWS));
    (why, sections)
}

/// The changes of a tool.
fn change(before: &str, after: &str, shown: &Sanitizer) -> String {
    let lines = difference(&shown.whole(before), &shown.whole(after));
    if before.is_empty() {
        format!("(the earlier definition was not saved; it is now)\n{lines}")
    } else if lines.is_empty() {
        "(the change is beyond the compared part)".to_owned()
    } else {
        lines
    }
}

/// Maximum lines compared per text.
const MAX_LINES: usize = 500;

/// The removed and added lines, each with its sign; unchanged lines are omitted.
fn difference(before: &str, after: &str) -> String {
    let before: Vec<&str> = before.lines().take(MAX_LINES).collect();
    let after: Vec<&str> = after.lines().take(MAX_LINES).collect();
    let changes = TextDiff::from_slices(&before, &after);
    let lines = changes.iter_all_changes().filter_map(|change| match change.tag() {
        ChangeTag::Equal => None,
        ChangeTag::Delete => Some(format!("- {}", change.value())),
        ChangeTag::Insert => Some(format!("+ {}", change.value())),
    });
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

impl Approver for PersonApprover {
    fn decide(&self, call: ApprovalRequest) -> BoxFuture<ApprovalDecision> {
        let why = match call.approval {
            Some(_) => ApprovalReason::EveryCall,
            None => ApprovalReason::Untrusted,
        };
        let answer = self.0.approve(ApprovalQuestion { call, why, within: CallContext::OneCall });
        Box::pin(async move {
            if answer.await.is_yes() { ApprovalDecision::Allow } else { ApprovalDecision::Deny }
        })
    }
}

#[derive(Debug)]
pub(crate) struct ApprovalFile(pub(crate) PathBuf);

impl ApprovalStore for ApprovalFile {
    fn name(&self) -> String {
        self.0.display().to_string()
    }

    fn read(&self) -> io::Result<Option<String>> {
        config::read(&self.0).map_err(one_line)
    }

    fn update(&self, change: &mut dyn FnMut() -> io::Result<Option<String>>) -> io::Result<()> {
        let _lock = lock::take(&self.0).map_err(one_line)?;
        match change()? {
            Some(text) => config::write(&self.0, &text).map_err(one_line),
            None => Ok(()),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "called by map_err")]
fn one_line(diagnostic: Diagnostic) -> io::Error {
    io::Error::other(diagnostic.line())
}

#[cfg(test)]
mod tests;
