//! Calling tools, reading resources, getting prompts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;

use super::{Ask, Inner, Limit, Session};
use crate::content::{self, PromptMessages, ResourceContents, ToolOutcome};
use crate::error::Error;
use crate::message::{Params, RpcError};
use crate::protocol::Era;
use crate::router::ProgressSink;
use crate::tool::{Tool, header_value};
use crate::transport::Link;

/// What a caller may want different.
#[derive(Clone, Default)]
pub struct CallOptions {
    /// Hears of progress.
    pub progress: Option<ProgressSink>,
    /// How long the call may be silent, instead of what the entry says.
    pub timeout: Option<Duration>,
    /// The [digest](Tool::digest) of the definition that was approved; a tool that is defined
    /// otherwise by now is not called. Without it the host is asked where the server is untrusted.
    pub approved: Option<String>,
}

impl std::fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallOptions").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl Session {
    /// Calls a tool of this server.
    pub async fn call_tool(
        &self,
        tool: &Tool,
        arguments: &Value,
        options: &CallOptions,
    ) -> Result<ToolOutcome, Error> {
        let answer = match self.call_once(tool, arguments, options).await {
            Err(Error::Rpc(error)) if error.code == RpcError::HEADER_MISMATCH && self.mirrors() => {
                // The definition we mirrored headers by is an older one: look, and try once more.
                let listed = self.list_tools().await?;
                self.inner.router.all_changed();
                let fresh = listed.tools.iter().find(|fresh| fresh.name == tool.name);
                self.call_once(fresh.ok_or(Error::Rpc(error))?, arguments, options).await
            }
            other => other,
        }?;
        Ok(answer)
    }

    async fn call_once(
        &self,
        tool: &Tool,
        arguments: &Value,
        options: &CallOptions,
    ) -> Result<ToolOutcome, Error> {
        let mut params = Params::new().with("name", &tool.name);
        if !arguments.is_null() {
            params = params.with("arguments", arguments);
        }
        let mut headers = self.named(&tool.name);
        if self.mirrors() {
            headers.extend(tool.param_headers(arguments));
        }
        let answer = self.run("tools/call", params, headers, options).await?;
        content::tool_outcome(answer.text()).map_err(Error::from)
    }

    /// Reads a resource.
    pub async fn read_resource(
        &self,
        uri: &str,
        options: &CallOptions,
    ) -> Result<ResourceContents, Error> {
        let params = Params::new().with("uri", uri);
        let answer = self.run("resources/read", params, self.named(uri), options).await?;
        content::resource_outcome(answer.text()).map_err(Error::from)
    }

    /// Gets a prompt, filled in.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
        options: &CallOptions,
    ) -> Result<PromptMessages, Error> {
        let params = Params::new().with("name", name).with("arguments", arguments);
        let answer = self.run("prompts/get", params, self.named(name), options).await?;
        content::prompt_outcome(answer.text()).map_err(Error::from)
    }

    async fn run(
        &self,
        method: &str,
        params: Params,
        headers: Vec<(String, String)>,
        options: &CallOptions,
    ) -> Result<crate::message::Payload, Error> {
        let _busy = Busy::new(&self.inner);
        let limit = Limit::call(options.timeout.unwrap_or(self.inner.entry.timeout));
        self.ask_to_the_end(|| Ask {
            method,
            params: params.clone(),
            headers: headers.clone(),
            progress: options.progress.clone(),
            limit,
        })
        .await
    }

    /// Whether parameters are mirrored into headers: only on stateless Streamable HTTP.
    pub(super) fn mirrors(&self) -> bool {
        self.agreed().era == Era::Stateless && matches!(self.inner.link, Link::Http(_))
    }

    fn named(&self, name: &str) -> Vec<(String, String)> {
        if self.mirrors() { vec![("Mcp-Name".to_owned(), header_value(name))] } else { Vec::new() }
    }
}

/// Counts a call for as long as it runs.
struct Busy(Arc<Inner>);

impl Busy {
    fn new(inner: &Arc<Inner>) -> Self {
        inner.busy.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(inner))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}
