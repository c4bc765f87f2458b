//! Tool calls, resource reads and prompts.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::task::{self, StartedTask};
use super::{ActiveCall, CallOptions, Request, Session, Timeouts};
use crate::content::{self, PromptMessages, ToolOutcome};
use crate::error::Error;
use crate::message::{Params, RawJson, RpcError};
use crate::protocol::Era;
use crate::tool::{Tool, header_value, printable_excerpt};
use crate::transport::Connection;

/// Maximum number of suggestions for one argument, a limit of the protocol.
const MAX_COMPLETIONS: usize = 100;

#[derive(Debug)]
pub enum CallReply {
    Done(ToolOutcome),
    Task(StartedTask),
}

impl Session {
    /// Calls a tool of this server; as a task, if both support it.
    pub async fn call_tool(
        &self,
        tool: &Tool,
        arguments: &Value,
        options: &CallOptions,
    ) -> Result<CallReply, Error> {
        match self.call_once(tool, arguments, options).await {
            Err(Error::Rpc(error)) if error.code == RpcError::HEADER_MISMATCH && self.mirrors() => {
                // The mirrored headers follow an outdated definition: list again and retry once.
                let listed = self.list_tools().await?;
                self.inner.router.all_changed();
                let fresh = listed.tools.iter().find(|fresh| fresh.name == tool.name);
                self.call_once(fresh.ok_or(Error::Rpc(error))?, arguments, options).await
            }
            other => other,
        }
    }

    async fn call_once(
        &self,
        tool: &Tool,
        arguments: &Value,
        options: &CallOptions,
    ) -> Result<CallReply, Error> {
        let mut params = Params::default().with("name", &tool.name);
        if !arguments.is_null() {
            params = params.with("arguments", arguments);
        }
        let mut request = self.named("tools/call", &tool.name, params);
        if self.mirrors() {
            request.headers.extend(tool.param_headers(arguments));
        }
        let asks = tool.runs_as_task && self.handshake().runs_tasks();
        let progress = asks.then(|| self.ask_for_task(&mut request, options));
        let answer = self.run(request, options).await?;
        if (asks || self.handshake().era == Era::Stateless)
            && let Some(started) = task::started(self, answer.text(), progress)?
        {
            return Ok(CallReply::Task(started));
        }
        let mut outcome = content::tool_outcome(answer.text())?;
        outcome.check(tool.output_schema.as_ref());
        Ok(CallReply::Done(outcome))
    }

    pub async fn read_resource(
        &self,
        uri: &str,
        options: &CallOptions,
    ) -> Result<ToolOutcome, Error> {
        let request = self.named("resources/read", uri, Params::default().with("uri", uri));
        let answer = self.run(request, options).await?;
        content::resource_outcome(answer.text()).map_err(Error::from)
    }

    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
        options: &CallOptions,
    ) -> Result<PromptMessages, Error> {
        let params = Params::default().with("name", name).with("arguments", arguments);
        let answer = self.run(self.named("prompts/get", name, params), options).await?;
        content::prompt_outcome(answer.text()).map_err(Error::from)
    }

    /// Calls `completion/complete`, with the other arguments that were given. A server without
    /// completions returns no suggestions.
    pub async fn complete(
        &self,
        reference: &Value,
        argument: &str,
        begun: &str,
        given: &BTreeMap<String, String>,
    ) -> Result<Vec<String>, Error> {
        if !self.handshake().offers("completions") {
            return Ok(Vec::new());
        }
        let argument = json!({ "name": argument, "value": begun });
        let mut params = Params::default().with("ref", reference).with("argument", &argument);
        if !given.is_empty() {
            params = params.with("context", &json!({ "arguments": given }));
        }
        let within = Timeouts::total(self.inner.entry.connect_timeout);
        let answer = self.request(Request::new("completion/complete", params, within)).await?;
        let answer = answer.value();
        let values = answer["completion"]["values"].as_array().into_iter().flatten();
        let values = values.filter_map(Value::as_str).take(MAX_COMPLETIONS);
        Ok(values.map(printable_excerpt).collect())
    }

    async fn run(&self, request: Request<'_>, options: &CallOptions) -> Result<RawJson, Error> {
        let _busy = ActiveCall::new(&self.inner);
        let timeouts = Timeouts::call(options.timeout.unwrap_or(self.inner.entry.timeout));
        let progress = options.progress.clone();
        self.request_with_input(Request { progress, timeouts, ..request }).await
    }

    /// Whether parameters are mirrored into headers: only on stateless Streamable HTTP.
    pub(super) fn mirrors(&self) -> bool {
        self.handshake().era == Era::Stateless
            && matches!(self.inner.connection, Connection::Http(_))
    }

    /// A request about the tool, resource, prompt or task of this name.
    pub(super) fn named<'a>(&self, method: &'a str, name: &str, params: Params) -> Request<'a> {
        let mut request =
            Request::new(method, params, Timeouts::total(self.inner.entry.connect_timeout));
        if self.mirrors() {
            request.headers.push(("Mcp-Name".to_owned(), header_value(name)));
        }
        request
    }
}
