//! Tools of our own.

use std::fmt;

use mcp_client::host::BoxFuture;
use serde_json::Value;
use usage_metrics::catalogue::ToolCategory;

use super::Definition;

/// A tool that this program has itself.
pub trait OwnTool: fmt::Debug + Send + Sync {
    fn definition(&self) -> Definition;

    fn category(&self) -> ToolCategory;

    /// Runs it: the result for the model, or an error text.
    fn call(&self, arguments: Value) -> BoxFuture<Result<String, String>>;
}
