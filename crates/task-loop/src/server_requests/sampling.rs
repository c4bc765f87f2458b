//! A server's request for a model's answer.

use mcp_client::RpcError;
use mcp_client::config::{ServerEntry, Trust};
use mcp_client::host::ServerRequest;
use serde_json::{Value, json};

use super::Inner;
use crate::conversation::{Call, Conversation, Message};
use crate::model::{Finish, Limits, Model, Question, Reply};
use crate::person::{ApprovalAnswer, SamplingRequest};
use crate::toolbox::Definition;

/// Error code for a request that a person or a policy declined.
const REFUSED: i64 = -1;
/// Maximum number of tools in a request.
const MAX_TOOLS: usize = 128;
/// Maximum size of a conversation in a request.
const MAX_PROMPT_BYTES: usize = 1024 * 1024;

impl Inner {
    pub(super) async fn sample(&self, request: &ServerRequest) -> Result<Value, RpcError> {
        let (entry, params) = (&*request.server, &request.params);
        let policy = &entry.sampling;
        if !policy.enabled {
            return Err(refused("sampling is disabled for this server"));
        }
        let (conversation, rounds) = conversation(params)?;
        if rounds > policy.max_tool_rounds {
            return Err(refused("too many tool rounds"));
        }
        let tools = tools(params)?;
        if !tools.is_empty() && policy.max_tool_rounds == 0 {
            return Err(refused("tools are not allowed"));
        }
        if !self.may_ask(entry) {
            return Err(refused("too many requests; retry in a minute"));
        }
        let (own, counting) = self.model().await.map_err(|why| refused(&why))?;
        let model = self.choose(&own, entry, params).await?;
        let wanted = params["maxTokens"].as_u64().and_then(|most| u32::try_from(most).ok());
        let max_tokens = wanted.unwrap_or(policy.max_tokens_cap).min(policy.max_tokens_cap);
        if entry.trust == Trust::Untrusted && !self.approved.contains(&entry.name) {
            let wish = SamplingRequest {
                server: entry.name.clone(),
                model: model.id.clone(),
                prompt: shown(&conversation),
                max_tokens,
            };
            let answer = match &self.person {
                Some(person) => person.allow_sampling(wish).await,
                None => ApprovalAnswer::Absent,
            };
            match answer {
                answer if answer.is_yes() => {}
                ApprovalAnswer::Absent => {
                    return Err(refused("approval is required, but no user is present"));
                }
                _ => return Err(refused("the user declined the request")),
            }
        }
        let question = Question {
            conversation: &conversation,
            tools: &tools,
            instructions: None,
            limits: &Limits { max_tokens: Some(max_tokens), ..limits(params) },
        };
        let mut nobody = |_: &str| {};
        let asked = model.ask(&question, &mut nobody);
        let asked = tokio::time::timeout(policy.timeout, asked).await;
        let Ok(asked) = asked else { return Err(refused("the model did not respond in time")) };
        counting.model_called(&model, asked.as_ref());
        match asked {
            Ok(reply) => Ok(result(&model, reply)),
            Err(trouble) => Err(refused(&trouble.line())),
        }
    }

    /// The model of the policy, the first hinted one that the server may use, or the task's own.
    async fn choose(
        &self,
        own: &Model,
        entry: &ServerEntry,
        params: &Value,
    ) -> Result<Model, RpcError> {
        let policy = &entry.sampling;
        let is_allowed = |id: &str| {
            policy.allowed_models.is_empty() || policy.allowed_models.iter().any(|one| one == id)
        };
        let chosen = if let Some(model) = &policy.model {
            Some(model.clone())
        } else {
            let hints = params["modelPreferences"]["hints"].as_array();
            let hints = hints.into_iter().flatten().filter_map(|hint| hint["name"].as_str());
            let listed = own.listed().await.unwrap_or_default();
            let ids = || listed.iter().map(|listed| &listed.id);
            let mut fitting =
                hints.filter_map(|hint| ids().find(|id| id.contains(hint) && is_allowed(id)));
            fitting.next().cloned()
        };
        let id = chosen.unwrap_or_else(|| own.id.clone());
        if !is_allowed(&id) {
            return Err(refused("no allowed model is available"));
        }
        if id == own.id {
            return Ok(own.clone());
        }
        let found = Model::find(own.member.clone(), Some(&id), own.form).await;
        found.map_err(|error| refused(&error.to_string()))
    }
}

fn refused(why: &str) -> RpcError {
    RpcError::new(REFUSED, why)
}

fn invalid(why: &str) -> RpcError {
    RpcError::new(RpcError::INVALID_PARAMS, why)
}

/// The conversation of a request, and the number of its tool rounds.
fn conversation(params: &Value) -> Result<(Conversation, u32), RpcError> {
    let mut messages = Vec::new();
    if let Some(text) = params["systemPrompt"].as_str() {
        messages.push(Message::System { text: text.to_owned() });
    }
    let given = params["messages"].as_array().ok_or_else(|| invalid("`messages` is missing"))?;
    let mut rounds = 0;
    for message in given {
        let blocks: Vec<&Value> = match &message["content"] {
            Value::Array(blocks) => blocks.iter().collect(),
            one => vec![one],
        };
        let is_result = |block: &Value| block["type"] == "tool_result";
        rounds += u32::from(blocks.iter().any(|block| is_result(block)));
        let mut text = String::new();
        let mut calls = Vec::new();
        for block in blocks {
            match block["type"].as_str() {
                Some("text") => text.push_str(block["text"].as_str().unwrap_or_default()),
                Some("tool_use") => calls.push(Call {
                    id: block["id"].as_str().unwrap_or_default().to_owned(),
                    name: block["name"].as_str().unwrap_or_default().to_owned(),
                    arguments: block["input"].to_string(),
                }),
                Some("tool_result") => messages.push(result_message(block)),
                _ => return Err(invalid("only text and tool content is supported")),
            }
        }
        match message["role"].as_str() {
            Some("assistant") => messages.push(Message::Assistant { text, calls }),
            Some("user") if text.is_empty() => {}
            Some("user") => messages.push(Message::user(text)),
            _ => return Err(invalid("`role` must be `user` or `assistant`")),
        }
    }
    let size: usize = messages.iter().map(|message| format!("{message:?}").len()).sum();
    if messages.is_empty() || size > MAX_PROMPT_BYTES {
        return Err(invalid("`messages` is empty or too long"));
    }
    Ok((Conversation::of(messages), rounds))
}

fn result_message(block: &Value) -> Message {
    let content = block["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = content.filter_map(|part| part["text"].as_str()).collect();
    let text = match (texts.is_empty(), block.get("structuredContent")) {
        (true, Some(structured)) => structured.to_string(),
        _ => texts.join("\n"),
    };
    let id = block["toolUseId"].as_str().unwrap_or_default().to_owned();
    Message::tool(id, String::new(), text)
}

fn tools(params: &Value) -> Result<Vec<Definition>, RpcError> {
    let given = params["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    if given.len() > MAX_TOOLS {
        return Err(invalid("too many tools"));
    }
    let one = |tool: &Value| {
        let name = tool["name"].as_str()?;
        Some(Definition {
            name: name.into(),
            description: tool["description"].as_str().unwrap_or_default().into(),
            parameters: std::sync::Arc::new(tool["inputSchema"].clone()),
            tokens: 0,
        })
    };
    given.iter().map(one).collect::<Option<_>>().ok_or_else(|| invalid("a tool has no name"))
}

fn limits(params: &Value) -> Limits {
    let stop = params["stopSequences"].as_array().into_iter().flatten();
    let stop = stop.filter_map(Value::as_str).take(4).map(str::to_owned).collect();
    Limits { temperature: params["temperature"].as_f64(), stop, ..Limits::default() }
}

/// The full prompt, for the person's decision.
fn shown(conversation: &Conversation) -> String {
    let line = |message: &Message| match message {
        Message::System { text } => format!("system: {text}"),
        Message::User { text, .. } => format!("user: {text}"),
        Message::Assistant { text, calls } => {
            let calls: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
            format!("assistant: {text} {}", calls.join(", "))
        }
        Message::Tool { text, .. } => format!("result: {text}"),
    };
    conversation.messages().iter().map(line).collect::<Vec<_>>().join("\n")
}

fn result(model: &Model, reply: Reply) -> Value {
    let text = json!({"type": "text", "text": reply.text});
    let (content, stop) = if reply.calls.is_empty() {
        let is_long = reply.finish == Finish::Length;
        (text, if is_long { "maxTokens" } else { "endTurn" })
    } else {
        let uses = reply.calls.iter().map(|call| {
            let input: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
        });
        let said = (!reply.text.is_empty()).then_some(text);
        (said.into_iter().chain(uses).collect(), "toolUse")
    };
    let answered = reply.model.unwrap_or_else(|| model.id.clone());
    json!({"role": "assistant", "content": content, "model": answered, "stopReason": stop})
}

#[cfg(test)]
mod tests;
