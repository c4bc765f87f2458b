//! State of a running conversation: its model, tools, messages and record.

use std::fmt::Display;

use anstream::adapter::strip_str;
use mcp_client::Client;
use serde_json::{Value, json};
use task_loop::TaskUsage;
use task_loop::chat_record::ChatRecord;
use task_loop::conversation::Conversation;
use task_loop::metrics::TaskMetrics;
use task_loop::model::Model;
use task_loop::toolbox::Toolbox;

use super::archive::{ChatArchive, ResumedChat};
use super::library::Library;
use crate::diagnostic::Result;
use crate::output::Output;
use crate::session::Session;
use crate::task_setup::TaskSetup;

#[derive(Debug)]
pub(super) struct ChatSession<'a> {
    pub(super) session: &'a Session,
    pub(super) setup: TaskSetup,
    pub(super) client: Client,
    pub(super) counting: TaskMetrics,
    pub(super) model: Model,
    pub(super) toolbox: Toolbox,
    pub(super) conversation: Conversation,
    pub(super) spent: TaskUsage,
    pub(super) record: ChatRecord,
    pub(super) library: Library,
    archive: ChatArchive,
}

impl<'a> ChatSession<'a> {
    pub(super) fn begin(
        setup: TaskSetup,
        client: &Client,
        counting: TaskMetrics,
        model: Model,
        session: &'a Session,
    ) -> Result<Self> {
        let archive = ChatArchive::of(session)?;
        let toolbox = setup.toolbox(client, &model, session)?;
        let fresh = setup.conversation(&model, session);
        let tools = setup.wanted.tools.clone();
        let (record, conversation) = archive.begin(fresh, &model.id, tools, session);
        let spent = TaskUsage::default();
        let library = Library::new(client);
        setup.fleet.tasks.in_conversation(record.id());
        Ok(Self {
            session,
            setup,
            client: client.clone(),
            counting,
            model,
            toolbox,
            conversation,
            spent,
            record,
            library,
            archive,
        })
    }

    /// Resumes a stored conversation, with its model unless another one was requested.
    pub(super) async fn resume(&mut self, kept: ResumedChat, is_model_asked_for: bool) {
        let ResumedChat { record, conversation, model, spent, .. } = kept;
        (self.record, self.conversation, self.spent) = (record, conversation, spent);
        self.setup.fleet.tasks.in_conversation(self.record.id());
        self.open();
        if model == self.model.id {
            return;
        }
        if is_model_asked_for {
            self.record.model(&self.model.id);
        } else if let Err(diagnostic) = self.take_model(&model).await {
            let now = &self.model.id;
            self.output().warn(format!("{}; continuing with {now}", diagnostic.line()));
            self.record.model(&self.model.id);
        }
    }

    pub(super) fn output(&self) -> &Output {
        &self.session.output
    }

    /// Prints the text, or the JSON response to a program.
    pub(super) fn print(&self, value: Value, text: String) -> Result {
        if self.output().is_json() {
            self.print_json(value, &text)
        } else {
            self.output().text(text)
        }
    }

    /// Prints a note, or the JSON response to a program.
    pub(super) fn print_or_note(&self, value: Value, note: impl Display) -> Result {
        if self.output().is_json() {
            return self.print_json(value, &note.to_string());
        }
        self.output().note(note);
        Ok(())
    }

    /// Prints the JSON response to a program, without secrets. A frontend also gets the text.
    pub(super) fn print_json(&self, mut value: Value, text: &str) -> Result {
        if self.setup.wanted.attended.is_some() {
            value["shown"] = strip_str(text).to_string().into();
        }
        self.output().json_line(&self.setup.fleet.shown.json(value))
    }

    pub(super) async fn take_model(&mut self, id: &str) -> Result {
        let had_tools = self.model.takes_tools;
        self.model = self.setup.model(Some(id), &self.client, &self.counting).await?;
        self.record.model(&self.model.id);
        if self.model.takes_tools != had_tools {
            self.open();
        }
        self.renew_toolbox()
    }

    /// Renews the system prompt, for this model and today's date.
    fn open(&mut self) {
        self.conversation.open_like(self.setup.conversation(&self.model, self.session));
    }

    pub(super) fn renew_toolbox(&mut self) -> Result {
        self.toolbox = self.setup.toolbox(&self.client, &self.model, self.session)?;
        Ok(())
    }

    pub(super) async fn clear(&mut self) -> Result {
        let before = self.record.has_begun().then(|| self.record.id());
        let fresh = self.setup.conversation(&self.model, self.session);
        let tools = self.setup.wanted.tools.clone();
        let begun = self.archive.begin(fresh, &self.model.id, tools, self.session);
        (self.record, self.conversation) = begun;
        self.setup.fleet.tasks.in_conversation(self.record.id());
        self.library.unwatch().await;
        self.spent = TaskUsage::default();
        let note = match before {
            Some(id) => format!("new conversation; the previous one is {id}"),
            None => "new conversation".to_owned(),
        };
        self.print_or_note(json!({"type": "cleared", "id": self.record.id()}), note)
    }
}
