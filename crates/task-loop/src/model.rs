//! The model of a task: its selection, and requests to it with streamed answers.

pub(crate) mod adapted;
mod chat;
mod responses;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use self::adapted::{ToolHistory, adapted};
use crate::attachment::MediaKind;
use crate::conversation::{Call, Conversation, Message};
use crate::member::{self, CHARGE, MemberClient, MemberError, MemberRequest, PRICE, number};
use crate::nearest::nearest;
use crate::toolbox::Definition;

const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;
/// Maximum length of stored call arguments: more than is accepted.
const MAX_ARGUMENT_BYTES: usize = 2 * 1024 * 1024;
const MAX_CALLS: usize = 64;

/// In which form the model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApiKind {
    /// `POST /chat/completions`.
    #[default]
    Chat,
    /// `POST /responses`.
    Responses,
}

#[derive(Debug, Clone)]
pub struct Model {
    pub(crate) member: Arc<MemberClient>,
    pub id: String,
    pub form: ApiKind,
    pub context_length: Option<u64>,
    /// Whether it supports tools; true unless the service denies it.
    pub takes_tools: bool,
    pub accepts: BTreeSet<MediaKind>,
    /// The price of a request; 0 if the service has none.
    pub price_micros: i64,
}

#[derive(Debug)]
pub struct Question<'a> {
    pub conversation: &'a Conversation,
    pub tools: &'a [Definition],
    /// The instructions of the servers, placed after our own system message.
    pub instructions: Option<&'a Message>,
    pub limits: &'a Limits,
}

impl Question<'_> {
    /// The conversation, adapted to the model, with the instructions after its first message.
    fn messages(&self, model: &Model) -> Vec<Cow<'_, Message>> {
        let said = self.conversation.messages();
        let first = usize::from(matches!(said.first(), Some(Message::System { .. })));
        let (opening, rest) = said.split_at(first);
        let all = opening.iter().chain(self.instructions).chain(rest);
        let history = if model.takes_tools { ToolHistory::AsCalls } else { ToolHistory::AsText };
        adapted(all, &model.sent(self.conversation), history)
    }
}

#[derive(Debug, Clone, Default)]
pub struct Limits {
    pub max_tokens: Option<u32>,
    pub(crate) temperature: Option<f64>,
    pub stop: Vec<String>,
    /// The answer must be JSON of this schema.
    pub schema: Option<Arc<Value>>,
}

#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub text: String,
    pub calls: Vec<Call>,
    pub finish: Finish,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// The model that answered, by its own name.
    pub model: Option<String>,
    pub charge_micros: i64,
    is_complete: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Finish {
    #[default]
    Stop,
    Length,
    Filtered,
}

/// A model in the list of a service. Only the id is always present.
#[derive(Debug, Default, Deserialize)]
pub struct ListedModel {
    pub id: String,
    capabilities: Option<Vec<String>>,
    pub price_micros: Option<i64>,
    pub context_length: Option<u64>,
    tools: Option<bool>,
    input_modalities: Option<Vec<String>>,
    architecture: Option<Architecture>,
}

#[derive(Debug, Deserialize)]
struct Architecture {
    input_modalities: Option<Vec<String>>,
}

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("{base_url}: {}", .error.line())]
    Service { base_url: String, error: MemberError },
    #[error("unknown model `{id}` at {base_url}")]
    Unknown { id: String, base_url: String, nearest: Option<String> },
    #[error("no models available for you at {base_url}")]
    None { base_url: String },
}

#[derive(Debug, Deserialize)]
struct List {
    data: Vec<ListedModel>,
}

impl ListedModel {
    fn is_for_chat(&self) -> bool {
        let can = |all: &Vec<String>| all.iter().any(|one| one == "chat");
        self.capabilities.as_ref().is_none_or(can)
    }

    fn accepts(&self) -> BTreeSet<MediaKind> {
        let nested = || self.architecture.as_ref()?.input_modalities.as_deref();
        let listed = self.input_modalities.as_deref().or_else(nested);
        listed.map_or_else(MediaKind::usual, MediaKind::listed)
    }
}

impl Model {
    /// The model with the id `wanted`, else the first usable one.
    pub async fn find(
        member: Arc<MemberClient>,
        wanted: Option<&str>,
        form: ApiKind,
    ) -> Result<Self, ModelError> {
        let base_url = member.base_url.clone();
        let list: Result<List, MemberError> = member.get("/models").await;
        let list = match list {
            Ok(list) => list.data,
            // A plain service may have no list.
            Err(trouble) if trouble.status() == Some(404) => Vec::new(),
            Err(error) => return Err(ModelError::Service { base_url, error }),
        };
        let named;
        let listed = if let Some(id) = wanted {
            match list.iter().find(|listed| listed.id == id) {
                Some(listed) => listed,
                None if list.is_empty() => {
                    named = ListedModel { id: id.to_owned(), ..ListedModel::default() };
                    &named
                }
                None => {
                    let near = nearest(id, list.iter().map(|listed| listed.id.as_str()));
                    let (id, nearest) = (id.to_owned(), near.map(str::to_owned));
                    return Err(ModelError::Unknown { id, base_url, nearest });
                }
            }
        } else {
            let usable = usable(&member).await;
            let is_usable =
                |listed: &&ListedModel| usable.as_ref().is_none_or(|all| all.contains(&listed.id));
            let able = || list.iter().filter(|listed| listed.is_for_chat());
            able().find(is_usable).or_else(|| able().next()).ok_or(ModelError::None { base_url })?
        };
        Ok(Self {
            id: listed.id.clone(),
            form,
            context_length: listed.context_length.filter(|length| *length > 0),
            takes_tools: listed.tools.unwrap_or(true),
            accepts: listed.accepts(),
            price_micros: listed.price_micros.unwrap_or_default(),
            member,
        })
    }

    pub fn provider(&self) -> Option<&str> {
        self.id.split_once('/').map(|(provider, _)| provider)
    }

    pub fn host(&self) -> Option<String> {
        let uri: http::Uri = self.member.base_url.parse().ok()?;
        uri.host().map(str::to_owned)
    }

    /// The kinds of attachments to send: those that it accepts and has not rejected.
    pub(crate) fn sent(&self, conversation: &Conversation) -> BTreeSet<MediaKind> {
        let is_sent = |kind: &MediaKind| !conversation.is_rejected(&self.id, *kind);
        self.accepts.iter().copied().filter(is_sent).collect()
    }

    /// Sends a request; passes text to `hear` as it arrives; returns the whole reply.
    pub(crate) async fn ask(
        &self,
        question: &Question<'_>,
        hear: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Reply, MemberError> {
        let Question { conversation, tools, limits, .. } = question;
        let messages = question.messages(self);
        let messages: Vec<&Message> = messages.iter().map(AsRef::as_ref).collect();
        let (path, mut body, most) = match self.form {
            ApiKind::Chat => {
                ("/chat/completions", chat::body(&self.id, &messages, tools), "max_tokens")
            }
            ApiKind::Responses => {
                ("/responses", responses::body(&self.id, &messages, tools), "max_output_tokens")
            }
        };
        if let Some(tokens) = limits.max_tokens {
            body[most] = tokens.into();
        }
        if let Some(temperature) = limits.temperature {
            body["temperature"] = temperature.into();
        }
        if let Some(schema) = &limits.schema {
            match self.form {
                ApiKind::Chat => {
                    let format = json!({"name": "answer", "schema": schema});
                    body["response_format"] = json!({"type": "json_schema", "json_schema": format});
                }
                ApiKind::Responses => {
                    let format = json!({"type": "json_schema", "name": "answer", "schema": schema});
                    body["text"] = json!({"format": format});
                }
            }
        }
        if !limits.stop.is_empty() && self.form == ApiKind::Chat {
            body["stop"] = limits.stop.clone().into();
        }
        self.stream(path, &body, conversation.scope, hear).await
    }

    pub async fn listed(&self) -> Result<Vec<ListedModel>, MemberError> {
        let list: List = self.member.get("/models").await?;
        Ok(list.data.into_iter().filter(ListedModel::is_for_chat).collect())
    }

    async fn stream(
        &self,
        path: &str,
        body: &Value,
        scope: Uuid,
        hear: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Reply, MemberError> {
        let ask = MemberRequest::post(path, body).once_in(scope);
        let mut stream = self.member.events(ask).await?;
        // A stream that reaches its end is charged its price; a replayed one was charged before.
        let cost = number(&stream.headers, &CHARGE).or_else(|| number(&stream.headers, &PRICE));
        let charge_micros = cost.unwrap_or_default();
        let mut growing = Reply { charge_micros, ..Reply::default() };
        while let Some(event) = stream.next().await? {
            if *event.data() == *b"[DONE]" {
                growing.is_complete = true;
                break;
            }
            let value = member::data(&event)?;
            match self.form {
                ApiKind::Chat => chat::take(&value, &mut growing, hear),
                ApiKind::Responses => responses::take(&value, &mut growing, hear)?,
            }
            if growing.text.len() > MAX_TEXT_BYTES {
                let what = "a response that is too long".to_owned();
                return Err(MemberError::Nonsense { what });
            }
        }
        if !growing.is_complete {
            return Err(MemberError::Broken { reason: "the response ended early".to_owned() });
        }
        Ok(growing.cleaned())
    }
}

impl Reply {
    fn say(&mut self, text: &str, hear: &mut (dyn FnMut(&str) + Send)) {
        if !text.is_empty() {
            self.text.push_str(text);
            hear(text);
        }
    }

    /// The call at this index, created if it is new.
    fn call(&mut self, at: usize) -> Option<&mut Call> {
        if at >= MAX_CALLS {
            return None;
        }
        while self.calls.len() <= at {
            let (id, name, arguments) = (String::new(), String::new(), String::new());
            self.calls.push(Call { id, name, arguments });
        }
        self.calls.get_mut(at)
    }

    fn cleaned(mut self) -> Self {
        self.calls.retain(|call| !call.name.is_empty());
        let mut seen = BTreeSet::new();
        for call in &mut self.calls {
            // Results are matched by id, so ids must be unique.
            if call.id.is_empty() || !seen.insert(call.id.clone()) {
                call.id = format!("call_{}", Uuid::new_v4().simple());
            }
        }
        self
    }
}

fn add_arguments(call: &mut Call, piece: &str) {
    if call.arguments.len() + piece.len() <= MAX_ARGUMENT_BYTES {
        call.arguments.push_str(piece);
    } else if call.arguments.len() < MAX_ARGUMENT_BYTES {
        // An oversized text stays oversized, and is no longer valid JSON.
        let room = MAX_ARGUMENT_BYTES - call.arguments.len();
        call.arguments.push_str(&piece[..piece.floor_char_boundary(room)]);
    }
}

/// The ids of the chat models that are usable now, if the service lists them.
async fn usable(member: &MemberClient) -> Option<Vec<String>> {
    let list: wire::capability::CapabilityList = member.get("/capabilities").await.ok()?;
    let chat = list.data.into_iter().find(|capability| capability.id == "chat")?;
    let usable = chat.models.into_iter().filter(|model| model.usable).map(|model| model.id);
    Some(usable.collect())
}
