//! Stored conversations of a profile: search, reading, listing.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use serde_json::json;
use task_loop::chat_record::{
    self, ChatRecord, ParsedRecord, RecordError, RecordHeader, RecordObserver, ToolChoice,
};
use task_loop::conversation::{Conversation, Message};
use task_loop::untrusted::printable;
use task_loop::{TaskUsage, nearest};
use uuid::Uuid;

use super::export::markdown;
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::home::write_hint;
use crate::output::{Output, WARNING};
use crate::session::Session;
use crate::table::{Table, counted};
use crate::task_printer::shortened;
use crate::task_setup::TaskConfig;

const MAX_LISTED: usize = 200;
/// Maximum length of the excerpt in a list, in characters.
const MAX_WORDS_CHARS: usize = 40;

/// Prefix of the ids of `agent run` conversations.
const RUN: &str = "run-";

#[derive(Debug)]
pub(crate) struct ChatArchive {
    folder: PathBuf,
    /// Prefix of the ids of new conversations.
    prefix: &'static str,
}

#[derive(Debug)]
pub(crate) struct ResumedChat {
    pub(crate) record: ChatRecord,
    pub(crate) conversation: Conversation,
    pub(crate) model: String,
    pub(crate) spent: TaskUsage,
    pub(crate) tools: ToolChoice,
}

impl ChatArchive {
    pub(crate) fn of(session: &Session) -> Result<Self> {
        Ok(Self { folder: session.home()?.chat().join("sessions"), prefix: "" })
    }

    /// As above for `agent run`, which resumes its own conversations unless an id is given.
    pub(crate) fn of_runs(session: &Session) -> Result<Self> {
        Ok(Self { prefix: RUN, ..Self::of(session)? })
    }

    pub(crate) fn begin(
        &self,
        conversation: Conversation,
        model: &str,
        tools: ToolChoice,
        session: &Session,
    ) -> (ChatRecord, Conversation) {
        let now = session.clock.now().to_string();
        let digits: String = now.chars().filter(char::is_ascii_digit).take(14).collect();
        let (day, time) = digits.split_at(digits.len().min(8));
        let chance = Uuid::new_v4().simple().to_string();
        let id = format!("{}{day}-{time}-{}", self.prefix, &chance[..8]);
        let head = RecordHeader { id: id.clone(), created: now, model: model.to_owned(), tools };
        let opening = conversation.messages().to_vec();
        let warner = Box::new(StorageWarning(session.output.clone()));
        let record = ChatRecord::begin(self.path(&id), head, opening, warner);
        (record.clone(), conversation.kept_as(&id, Box::new(record)))
    }

    /// The conversation with this id, or the last used one.
    pub(crate) fn resume(&self, id: Option<&str>, session: &Session) -> Result<ResumedChat> {
        let id = id.map_or_else(|| self.newest(), |id| self.find(id))?;
        let path = self.path(&id);
        let read = ParsedRecord::read(&path).map_err(failed)?;
        let warner = Box::new(StorageWarning(session.output.clone()));
        let record = ChatRecord::resume(path.clone(), read.head.clone(), read.good, warner);
        let record = record.map_err(failed)?;
        if read.is_torn {
            let path = path.display();
            session.output.note(format!(
                "{WARNING}note:{WARNING:#} the last line of {path} is incomplete and was discarded"
            ));
        }
        let mut conversation =
            Conversation::of(read.messages).kept_as(&id, Box::new(record.clone()));
        let lost = conversation.close_open_calls("the program ended");
        if !lost.is_empty() {
            let names: Vec<String> = lost.iter().map(|call| printable(&call.name)).collect();
            session
                .output
                .warn(format!("these tool calls may or may not have run: {}", names.join(", ")));
        }
        let (model, spent, tools) = (read.model, read.spent, read.head.tools);
        Ok(ResumedChat { record, conversation, model, spent, tools })
    }

    /// Whether a message of the person or the model contains these words, in lower case.
    fn contains(&self, id: &str, words: &str) -> bool {
        let Ok(read) = ParsedRecord::read(&self.path(id)) else { return false };
        read.messages.iter().any(|message| match message {
            Message::User { text, .. } | Message::Assistant { text, .. } => {
                text.to_lowercase().contains(words)
            }
            Message::System { .. } | Message::Tool { .. } => false,
        })
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.jsonl"))
    }

    fn find(&self, id: &str) -> Result<String> {
        let ids = self.ids()?;
        if let Some((found, _)) = ids.iter().find(|(one, _)| one == id) {
            return Ok(found.clone());
        }
        let near = nearest(id, ids.iter().map(|(one, _)| one.as_str()));
        Err(Diagnostic::usage(format!("unknown conversation `{}`", printable(id)))
            .did_you_mean(near, "list conversations with `agent chat --list`"))
    }

    fn newest(&self) -> Result<String> {
        let is_own = |(id, _): &(String, SystemTime)| id.starts_with(RUN) == (self.prefix == RUN);
        let newest = self.ids()?.into_iter().find(is_own);
        newest.map(|(id, _)| id).ok_or_else(|| {
            let command = if self.prefix == RUN { "agent run" } else { "agent chat" };
            Diagnostic::usage("no conversation to resume")
                .hint(format!("start one with `{command}`"))
        })
    }

    fn ids(&self) -> Result<Vec<(String, SystemTime)>> {
        let files = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            files => files.or_cannot("read", &self.folder)?,
        };
        let mut ids = Vec::new();
        for file in files {
            let file = file.or_cannot("read", &self.folder)?;
            let name = file.file_name();
            let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else {
                continue;
            };
            let used = file.metadata().and_then(|data| data.modified());
            ids.push((id.to_owned(), used.unwrap_or(SystemTime::UNIX_EPOCH)));
        }
        ids.sort_by(|(id, used), (other, later)| (later, other).cmp(&(used, id)));
        Ok(ids)
    }

    /// Deletes these conversations, and those not used for this number of days.
    pub(super) fn remove(&self, ids: &[String], days: Option<u32>, session: &Session) -> Result {
        let ids: Vec<String> = ids.iter().map(|id| self.find(id)).collect::<Result<_, _>>()?;
        let mut removed = 0;
        for id in &ids {
            if !self.remove_one(id)? {
                let message = format!("conversation `{id}` is open in another process");
                return Err(Diagnostic::failed(message));
            }
            removed += 1;
        }
        if let Some(days) = days {
            removed += self.remove_older(days, session)?;
        }
        let note = format!("{} removed", counted(removed, "conversation"));
        session.output.print_or_note(&json!({ "removed": removed }), note)
    }

    /// Deletes conversations older than the configured limit.
    pub(crate) fn prune(&self, session: &Session) -> Result {
        let days = TaskConfig::load(session)?.keep_days;
        days.map_or(Ok(0), |days| self.remove_older(days, session)).map(drop)
    }

    /// Deletes conversations not used for this number of days and not open.
    fn remove_older(&self, days: u32, session: &Session) -> Result<usize> {
        let oldest = session.clock.now().minus_days(days).as_ms();
        let mut removed = 0;
        for (id, used) in self.ids()? {
            let used = used.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
            if i64::try_from(used).unwrap_or(i64::MAX) < oldest && self.remove_one(&id)? {
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Deletes a conversation unless it is open; returns whether it was deleted.
    fn remove_one(&self, id: &str) -> Result<bool> {
        let path = self.path(id);
        let remove = || -> io::Result<bool> {
            let file = fs::File::open(&path)?;
            match file.try_lock() {
                Ok(()) => fs::remove_file(&path).map(|()| true),
                Err(fs::TryLockError::WouldBlock) => Ok(false),
                Err(fs::TryLockError::Error(error)) => Err(error),
            }
        };
        remove().or_cannot("delete", &path)
    }

    /// Prints a conversation as Markdown, or as JSON.
    pub(super) fn export(&self, id: &str, session: &Session) -> Result {
        let id = self.find(id)?;
        let read = ParsedRecord::read(&self.path(&id)).map_err(failed)?;
        let text = markdown(&id, &read.model, &read.messages);
        let ParsedRecord { messages, model, spent, .. } = read;
        let json = json!({ "id": id, "model": model, "messages": messages, "spent": spent });
        session.output.document(&json, text)
    }

    /// Lists the conversations, or those that contain these words.
    pub(super) fn list(&self, words: Option<&str>, session: &Session) -> Result {
        let mut ids = self.ids()?;
        if let Some(words) = words.map(str::to_lowercase) {
            ids.retain(|(id, _)| self.contains(id, &words));
        }
        let mut table =
            Table::new(["id", "last used", "messages", "first words"]).align_right(&["messages"]);
        let mut listed = Vec::new();
        for (id, used) in ids.iter().take(MAX_LISTED) {
            let seconds = used.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
            let used = usage_metrics::clock::Timestamp::from_ms(
                i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX),
            );
            let (said, first) = match chat_record::summary(&self.path(id)) {
                Ok(summary) => summary,
                Err(error) => {
                    session.output.warn(format!("{}: {error}", self.path(id).display()));
                    continue;
                }
            };
            let when = used.to_string().replace('T', " ").replace('Z', "");
            table.row([
                id.clone(),
                when,
                said.to_string(),
                shortened(&printable(&first), MAX_WORDS_CHARS),
            ]);
            listed.push(json!({
                "id": id, "used": used.to_string(), "messages": said, "first_words": first,
            }));
        }
        let none = "No conversations yet. Start one with `agent chat`.";
        table.print(&session.output, &json!({ "conversations": listed }), none)?;
        if ids.len() > MAX_LISTED {
            let (more, folder) = (ids.len() - MAX_LISTED, self.folder.display());
            session.output.tell(format!("Older conversations not shown: {more}, in {folder}."));
        }
        Ok(())
    }
}

/// Warns once that a conversation is no longer stored.
#[derive(Debug)]
struct StorageWarning(Output);

impl RecordObserver for StorageWarning {
    fn failed(&self, path: &Path, error: &io::Error) {
        let (path, hint) = (path.display(), write_hint(error));
        self.0.warn(format!("the conversation is no longer saved to {path}: {error}; {hint}"));
    }
}

#[expect(clippy::needless_pass_by_value, reason = "called by map_err")]
fn failed(error: RecordError) -> Diagnostic {
    let diagnostic = Diagnostic::failed(error.to_string());
    error.source().into_iter().fold(diagnostic, Diagnostic::because)
}
