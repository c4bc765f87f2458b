//! The model of a task: which one, and one question to it with the answer as it comes.

mod chat;
mod responses;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::conversation::{Call, Conversation};
use super::toolbox::Definition;
use crate::diagnostic::Diagnostic;
use crate::mcp::nearest;
use crate::member::error::MemberError;
use crate::member::{CHARGE, Member, MemberRequest, PRICE, events, number};

/// The longest text of one answer.
const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;
/// The longest arguments of one call that are kept: more than are ever taken.
const MAX_ARGUMENT_BYTES: usize = 2 * 1024 * 1024;
/// The most calls of one answer that are kept.
const MAX_CALLS: usize = 64;

/// In which form the model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ApiKind {
    /// `POST /chat/completions`.
    #[default]
    Chat,
    /// `POST /responses`.
    Responses,
}

/// A model of a service.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    member: Arc<Member>,
    pub(crate) id: String,
    pub(crate) form: ApiKind,
    pub(crate) context_length: Option<u64>,
    /// Whether it can be given tools; the service says so where it cannot.
    pub(crate) takes_tools: bool,
    /// What a question costs; 0 where the service does not say.
    pub(crate) price_micros: i64,
}

/// A question to a model.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    pub(crate) conversation: &'a Conversation,
    pub(crate) tools: &'a [Definition],
    /// The same key gives the same answer where the service keeps it.
    pub(crate) key: &'a str,
    pub(crate) limits: &'a Limits,
}

/// What an answer is bounded by.
#[derive(Debug, Clone, Default)]
pub(crate) struct Limits {
    pub(crate) max_tokens: Option<u32>,
    pub(crate) temperature: Option<f64>,
    pub(crate) stop: Vec<String>,
}

/// What the model answered.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) finish: Finish,
    pub(crate) usage: Usage,
    /// The model that answered, as it calls itself.
    pub(crate) model: Option<String>,
    pub(crate) charge_micros: i64,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Finish {
    /// All was said.
    #[default]
    Stop,
    /// It became too long.
    Length,
    /// It was held back.
    Filtered,
}

/// What was used, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

/// A model as a service lists it. Only the id is sure to be there.
#[derive(Debug, Deserialize)]
pub(crate) struct ListedModel {
    pub(crate) id: String,
    #[serde(default)]
    capabilities: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) price_micros: Option<i64>,
    #[serde(default)]
    pub(crate) context_length: Option<u64>,
    #[serde(default)]
    tools: Option<bool>,
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
}

impl Model {
    /// The model that was asked for, the configured one, or the first that can be used.
    pub(crate) async fn find(
        member: Arc<Member>,
        asked: Option<&str>,
        form: ApiKind,
    ) -> Result<Self, Diagnostic> {
        let list: Result<List, MemberError> = member.get("/models").await;
        let list = match list {
            Ok(list) => list.data,
            // A plain service may have no list.
            Err(trouble) if trouble.status() == Some(404) => Vec::new(),
            Err(trouble) => return Err(member.diagnostic(&trouble)),
        };
        let wanted = asked.or(member.settings.model.as_ref().map(|model| model.value.as_str()));
        let named;
        let listed = if let Some(id) = wanted {
            match list.iter().find(|listed| listed.id == id) {
                Some(listed) => listed,
                None if list.is_empty() => {
                    named = ListedModel::named(id);
                    &named
                }
                None => return Err(missing(&member, id, &list, asked.is_some())),
            }
        } else {
            let usable = usable(&member).await;
            let is_usable =
                |listed: &&ListedModel| usable.as_ref().is_none_or(|all| all.contains(&listed.id));
            let able = || list.iter().filter(|listed| listed.is_for_chat());
            able().find(is_usable).or_else(|| able().next()).ok_or_else(|| none(&member))?
        };
        Ok(Self {
            id: listed.id.clone(),
            form,
            context_length: listed.context_length.filter(|length| *length > 0),
            takes_tools: listed.tools.unwrap_or(true),
            price_micros: listed.price_micros.unwrap_or_default(),
            member,
        })
    }

    /// Who provides it, by its id.
    pub(crate) fn provider(&self) -> Option<&str> {
        self.id.split_once('/').map(|(provider, _)| provider)
    }

    /// Where it is asked.
    pub(crate) fn host(&self) -> Option<String> {
        let uri: http::Uri = self.member.settings.base_url.value.parse().ok()?;
        uri.host().map(str::to_owned)
    }

    pub(crate) fn member(&self) -> &Arc<Member> {
        &self.member
    }

    /// Asks, tells the text as it comes, and gives the whole answer.
    pub(crate) async fn ask(
        &self,
        question: &Question<'_>,
        hear: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Reply, MemberError> {
        let Question { conversation, tools, key, limits } = question;
        let (path, mut body) = match self.form {
            ApiKind::Chat => ("/chat/completions", chat::body(&self.id, conversation, tools)),
            ApiKind::Responses => ("/responses", responses::body(&self.id, conversation, tools)),
        };
        let most = match self.form {
            ApiKind::Chat => "max_tokens",
            ApiKind::Responses => "max_output_tokens",
        };
        if let Some(tokens) = limits.max_tokens {
            body[most] = tokens.into();
        }
        if let Some(temperature) = limits.temperature {
            body["temperature"] = temperature.into();
        }
        if !limits.stop.is_empty() && self.form == ApiKind::Chat {
            body["stop"] = limits.stop.clone().into();
        }
        self.stream(path, &body, key, hear).await
    }

    /// The ids of all models of the service that can chat.
    pub(crate) async fn others(&self) -> Vec<String> {
        let list = self.listed().await.unwrap_or_default();
        list.into_iter().map(|listed| listed.id).collect()
    }

    /// All models of the service that can chat, with what they cost.
    pub(crate) async fn listed(&self) -> Result<Vec<ListedModel>, MemberError> {
        let list: List = self.member.get("/models").await?;
        Ok(list.data.into_iter().filter(ListedModel::is_for_chat).collect())
    }

    async fn stream(
        &self,
        path: &str,
        body: &Value,
        key: &str,
        hear: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Reply, MemberError> {
        let ask = MemberRequest::post(path, body).once(key);
        let mut stream = self.member.events(ask).await?;
        // A stream that reaches its end is charged its price; a replayed one was charged before.
        let cost = number(&stream.headers, &CHARGE).or_else(|| number(&stream.headers, &PRICE));
        let charge_micros = cost.unwrap_or_default();
        let mut growing = PartialReply::default();
        while let Some(event) = stream.next().await? {
            if *event.data() == *b"[DONE]" {
                growing.is_complete = true;
                break;
            }
            let value = events::data(&event)?;
            match self.form {
                ApiKind::Chat => chat::take(&value, &mut growing, hear),
                ApiKind::Responses => responses::take(&value, &mut growing, hear)?,
            }
            if growing.is_too_long() {
                let what = "an answer that is too long".to_owned();
                return Err(MemberError::Nonsense { what });
            }
        }
        if !growing.is_complete {
            return Err(MemberError::Broken { reason: "the answer has no end".to_owned() });
        }
        Ok(Reply { charge_micros, ..growing.reply() })
    }
}

/// An answer as it grows.
#[derive(Debug, Default)]
struct PartialReply {
    text: String,
    calls: Vec<Call>,
    finish: Finish,
    usage: Usage,
    model: Option<String>,
    is_complete: bool,
}

impl PartialReply {
    fn say(&mut self, text: &str, hear: &mut (dyn FnMut(&str) + Send)) {
        if !text.is_empty() {
            self.text.push_str(text);
            hear(text);
        }
    }

    /// The call at this place, made if it is new.
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

    fn is_too_long(&self) -> bool {
        self.text.len() > MAX_TEXT_BYTES
    }

    fn reply(mut self) -> Reply {
        self.calls.retain(|call| !call.name.is_empty());
        let mut seen = std::collections::BTreeSet::new();
        for call in &mut self.calls {
            // Results are matched by id: each call has one of its own.
            if call.id.is_empty() || !seen.insert(call.id.clone()) {
                call.id = format!("call_{}", Uuid::new_v4().simple());
            }
        }
        let Self { text, calls, finish, usage, model, .. } = self;
        Reply { text, calls, finish, usage, model, charge_micros: 0 }
    }
}

/// Adds a piece to the arguments of a call, as long as they can still be taken.
fn add_arguments(call: &mut Call, piece: &str) {
    if call.arguments.len() + piece.len() <= MAX_ARGUMENT_BYTES {
        call.arguments.push_str(piece);
    } else if call.arguments.len() < MAX_ARGUMENT_BYTES {
        // What is too long stays too long, and is no JSON any more.
        let room = MAX_ARGUMENT_BYTES - call.arguments.len();
        call.arguments.push_str(&piece[..piece.floor_char_boundary(room)]);
    }
}

/// By what a question and its repetitions are known.
pub(crate) fn new_key() -> String {
    format!("task-{}", Uuid::new_v4().simple())
}

impl ListedModel {
    fn named(id: &str) -> Self {
        let id = id.to_owned();
        Self { id, capabilities: None, price_micros: None, context_length: None, tools: None }
    }
}

/// The ids of the chat models that can be used now, where the service says so.
async fn usable(member: &Member) -> Option<Vec<String>> {
    let list: wire::capability::CapabilityList = member.get("/capabilities").await.ok()?;
    let chat = list.data.into_iter().find(|capability| capability.id == "chat")?;
    let usable = chat.models.into_iter().filter(|model| model.usable).map(|model| model.id);
    Some(usable.collect())
}

fn missing(member: &Member, id: &str, list: &[ListedModel], is_asked: bool) -> Diagnostic {
    let base = &member.settings.base_url.value;
    let diagnostic = Diagnostic::configuration(format!("there is no model `{id}` at {base}"));
    let place = member.settings.model.as_ref().filter(|_| !is_asked);
    let diagnostic = match place {
        Some(model) => diagnostic.hint(format!("it is {}", model.place)),
        None => diagnostic,
    };
    match nearest(id, list.iter().map(|listed| listed.id.as_str())) {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic.hint("`agent models` lists the models"),
    }
}

fn none(member: &Member) -> Diagnostic {
    let base = &member.settings.base_url.value;
    Diagnostic::peer(format!("{base} has no model for you"))
        .hint("`agent models` lists the models")
        .hint("on your own service, add a provider to gateway.yaml: `agent gateway example`")
}
