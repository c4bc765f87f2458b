//! Tools of our own.

use std::fmt;

use mcp_client::host::BoxFuture;
use serde_json::Value;
use usage_metrics::catalogue::ToolCategory;

use super::Definition;

/// A tool that this program has itself.
pub(crate) trait OwnTool: fmt::Debug + Send + Sync {
    /// As a model is offered it.
    fn definition(&self) -> Definition;

    /// As what its calls are counted.
    fn category(&self) -> ToolCategory;

    /// Runs it: what the model is told, or what went wrong.
    fn call(&self, arguments: Value) -> BoxFuture<Result<String, String>>;
}
