//! The conversations of a profile: found, read, listed.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::json;
use uuid::Uuid;

use super::record::{ChatRecord, RecordHeader, RecordLine};
use crate::diagnostic::Diagnostic;
use crate::mcp::nearest;
use crate::mcp::table::{Alignment, Table};
use crate::output::{WARNING, printable};
use crate::session::Session;
use crate::task::TaskUsage;
use crate::task::conversation::{Conversation, Message};
use crate::task_printer::shortened;

/// The largest conversation that is read.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// The most conversations that are listed.
const MAX_LISTED: usize = 200;
/// How many of the first words are listed, in characters.
const MAX_WORDS_CHARS: usize = 40;

/// Where conversations are.
#[derive(Debug)]
pub(super) struct ChatArchive {
    folder: PathBuf,
}

/// A conversation that was kept and goes on.
#[derive(Debug)]
pub(super) struct ResumedChat {
    pub(super) record: ChatRecord,
    pub(super) conversation: Conversation,
    /// The model it had last.
    pub(super) model: String,
    pub(super) spent: TaskUsage,
}

/// A file as it was read.
#[derive(Debug)]
struct ParsedRecord {
    head: RecordHeader,
    messages: Vec<Message>,
    model: String,
    spent: TaskUsage,
    /// How many bytes of it are whole lines.
    good: u64,
    is_torn: bool,
}

impl ChatArchive {
    pub(super) fn of(session: &Session) -> Result<Self, Diagnostic> {
        Ok(Self { folder: session.home()?.chat().join("sessions") })
    }

    /// A conversation that has not begun.
    pub(super) fn begin(
        &self,
        conversation: Conversation,
        model: &str,
        session: &Session,
    ) -> (ChatRecord, Conversation) {
        let now = session.clock.now().to_string();
        let digits: String = now.chars().filter(char::is_ascii_digit).take(14).collect();
        let (day, time) = digits.split_at(digits.len().min(8));
        let chance = Uuid::new_v4().simple().to_string();
        let id = format!("{day}-{time}-{}", &chance[..4]);
        let path = self.path(&id);
        let head = RecordHeader { id, created: now, model: model.to_owned() };
        let opening = conversation.messages().to_vec();
        let record = ChatRecord::begin(path, head, opening, session.output.clone());
        (record.clone(), conversation.told_to(Box::new(record)))
    }

    /// The conversation of this id, or the one that was used last.
    pub(super) fn resume(
        &self,
        id: Option<&str>,
        session: &Session,
    ) -> Result<ResumedChat, Diagnostic> {
        let id = match id {
            Some(id) => self.find(id)?,
            None => self.newest()?,
        };
        let path = self.path(&id);
        let read = read(&path)?;
        let record =
            ChatRecord::go_on(path.clone(), read.head.clone(), read.good, session.output.clone())?;
        if read.is_torn {
            let path = path.display();
            session.output.note(format!(
                "{WARNING}note:{WARNING:#} the last line of {path} was not whole; what it held is \
                 lost"
            ));
        }
        let mut conversation = Conversation::of(read.messages).told_to(Box::new(record.clone()));
        let lost = conversation.close_lost_calls();
        if !lost.is_empty() {
            let names: Vec<String> = lost.iter().map(|call| printable(&call.name)).collect();
            session.output.warn(format!("these may or may not have run: {}", names.join(", ")));
        }
        Ok(ResumedChat { record, conversation, model: read.model, spent: read.spent })
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.jsonl"))
    }

    fn find(&self, id: &str) -> Result<String, Diagnostic> {
        let ids = self.ids()?;
        if let Some((found, _)) = ids.iter().find(|(one, _)| one == id) {
            return Ok(found.clone());
        }
        let diagnostic = Diagnostic::usage(format!("there is no conversation `{}`", printable(id)));
        Err(match nearest(id, ids.iter().map(|(one, _)| one.as_str())) {
            Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
            None => diagnostic.hint("`agent chat --list` lists them"),
        })
    }

    fn newest(&self) -> Result<String, Diagnostic> {
        let newest = self.ids()?.into_iter().next();
        newest.map(|(id, _)| id).ok_or_else(|| {
            Diagnostic::usage("there is no conversation to go on with")
                .hint("`agent chat` begins one")
        })
    }

    /// The ids and when each was used last, newest first.
    fn ids(&self) -> Result<Vec<(String, SystemTime)>, Diagnostic> {
        let cannot = |error: &io::Error| {
            Diagnostic::failed(format!("cannot read {}", self.folder.display())).because(error)
        };
        let files = match fs::read_dir(&self.folder) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(cannot(&error)),
        };
        let mut ids = Vec::new();
        for file in files {
            let file = file.map_err(|error| cannot(&error))?;
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

    /// Lists the conversations, newest first.
    pub(super) fn list(&self, session: &Session) -> Result<(), Diagnostic> {
        let ids = self.ids()?;
        let mut table = Table::new([
            ("id", Alignment::Left),
            ("last used", Alignment::Left),
            ("messages", Alignment::Right),
            ("first words", Alignment::Left),
        ]);
        let mut listed = Vec::new();
        for (id, used) in ids.iter().take(MAX_LISTED) {
            let seconds = used.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
            let used = usage_metrics::clock::Timestamp::from_ms(
                i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX),
            );
            let (said, first) = match outline(&self.path(id)) {
                Ok(outline) => outline,
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
        if session.output.is_json() {
            return session.output.json(&json!({ "conversations": listed }));
        }
        if listed.is_empty() {
            session.output.note("there are no conversations yet; `agent chat` begins one");
            return Ok(());
        }
        session.output.text(table.text())?;
        if ids.len() > MAX_LISTED {
            let more = ids.len() - MAX_LISTED;
            session.output.note(format!("and {more} older ones in {}", self.folder.display()));
        }
        Ok(())
    }
}

/// How much was said by the person and the model, and the first words of the person.
fn outline(path: &Path) -> io::Result<(usize, String)> {
    let (mut said, mut first) = (0, None);
    for line in BufReader::new(fs::File::open(path)?).split(b'\n') {
        match serde_json::from_slice(&line?) {
            Ok(RecordLine::Said(Message::User { text })) => {
                said += 1;
                first.get_or_insert(text.lines().next().unwrap_or_default().to_owned());
            }
            Ok(RecordLine::Said(Message::Assistant { text, .. })) if !text.is_empty() => said += 1,
            _ => {}
        }
    }
    Ok((said, first.unwrap_or_default()))
}

fn read(path: &Path) -> Result<ParsedRecord, Diagnostic> {
    let shown = path.display();
    let cannot =
        |error: &io::Error| Diagnostic::failed(format!("cannot read {shown}")).because(error);
    let length = fs::metadata(path).map_err(|error| cannot(&error))?.len();
    if length > MAX_BYTES {
        return Err(Diagnostic::failed(format!("{shown} has more than {MAX_BYTES} bytes")));
    }
    let bytes = fs::read(path).map_err(|error| cannot(&error))?;
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let wrong = |number: usize, error: &serde_json::Error| {
        Diagnostic::failed(format!("{shown}:{number}: this is no line of a conversation"))
            .because(error)
    };
    let (first, rest) = match lines.split_first() {
        Some((first, rest)) => (*first, rest),
        None => (&b""[..], &[][..]),
    };
    let head: RecordHeader = serde_json::from_slice(first).map_err(|error| wrong(1, &error))?;
    let model = head.model.clone();
    let good = first.len() as u64;
    let (messages, spent) = (Vec::new(), TaskUsage::default());
    let mut read = ParsedRecord { head, messages, model, spent, good, is_torn: false };
    for (at, line) in rest.iter().enumerate() {
        // A line without its end may lack more than that.
        let is_whole = line.ends_with(b"\n");
        match serde_json::from_slice(line) {
            Ok(line) if is_whole => read.take(line),
            Err(error) if is_whole && at + 1 < rest.len() => return Err(wrong(at + 2, &error)),
            _ => {
                read.is_torn = true;
                break;
            }
        }
        read.good += line.len() as u64;
    }
    Ok(read)
}

impl ParsedRecord {
    fn take(&mut self, line: RecordLine) {
        match line {
            RecordLine::Said(message) => self.messages.push(message),
            RecordLine::Model { model } => self.model = model,
            RecordLine::Spent { spent } => self.spent = self.spent.plus(spent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "{\"id\":\"a\",\"created\":\"2026-01-01T00:00:00Z\",\"model\":\"m\"}\n";
    const USER: &str = "{\"role\":\"user\",\"text\":\"hi\"}\n";

    fn read_text(text: &str) -> Result<ParsedRecord, Diagnostic> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn a_torn_last_line_is_left_out() {
        let whole = format!("{HEAD}{USER}");
        for torn in ["{\"role\":\"assist", "{\"role\":\"user\",\"text\":\"ho\"}", "\u{0}\u{0}\n"] {
            let read = read_text(&format!("{whole}{torn}")).unwrap();
            assert!(read.is_torn, "{torn:?}");
            assert_eq!((read.messages.len(), read.good), (1, whole.len() as u64), "{torn:?}");
        }
        assert!(!read_text(&whole).unwrap().is_torn);
    }

    #[test]
    fn a_damaged_line_in_the_middle_is_told_with_its_number() {
        let error = read_text(&format!("{HEAD}nonsense\n{USER}")).unwrap_err();
        assert!(error.line().contains("a.jsonl:2: this is no line"), "{}", error.line());
        assert!(read_text("").is_err());
        assert!(read_text("{}\n").is_err());
    }

    #[test]
    fn models_and_costs_are_taken_as_they_came() {
        let text = format!(
            "{HEAD}{USER}{{\"spent\":{{\"model_calls\":2,\"charge_micros\":5}}}}\n{{\"model\":\"n\"}}\n\
             {{\"spent\":{{\"model_calls\":1}}}}\n"
        );
        let read = read_text(&text).unwrap();
        assert_eq!((read.spent.model_calls, read.spent.charge_micros), (3, 5));
        assert_eq!((&*read.model, &*read.head.model), ("n", "m"));
    }
}
