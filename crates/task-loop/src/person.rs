//! Interface to the person who decides on approvals and requests.

use std::fmt;

use mcp_client::host::{ApprovalRequest, BoxFuture};
use serde_json::{Map, Value};
use usage_metrics::catalogue::ApprovalOutcome;

#[derive(Debug, Clone)]
pub struct ApprovalQuestion {
    pub call: ApprovalRequest,
    pub why: ApprovalReason,
    pub within: CallContext,
}

/// The context of a call, which determines the possible answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallContext {
    /// A task: further calls may follow.
    Task,
    /// `agent mcp call`: a single call.
    OneCall,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalReason {
    Untrusted,
    EveryCall,
    FirstCall,
    Changed { before: String, after: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalAnswer {
    Once,
    /// Run it, and run later calls with the same definition without a question.
    Always,
    No,
    Stop,
    /// There is no person to ask.
    Absent,
}

impl ApprovalQuestion {
    pub fn answers(&self) -> &'static [ApprovalAnswer] {
        use ApprovalAnswer::{Always, No, Once, Stop};
        match self.within {
            CallContext::Task if self.why == ApprovalReason::EveryCall => &[Once, No, Stop],
            CallContext::Task => &[Once, Always, No, Stop],
            CallContext::OneCall => &[Once, No],
        }
    }
}

impl ApprovalAnswer {
    pub fn is_yes(self) -> bool {
        matches!(self, Self::Once | Self::Always)
    }

    pub(crate) fn counted(self) -> ApprovalOutcome {
        if self.is_yes() { ApprovalOutcome::Approved } else { ApprovalOutcome::Denied }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct FormRequest {
    pub server: String,
    pub message: String,
    /// The schema of a flat object.
    pub schema: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FormAnswer {
    Accepted(Map<String, Value>),
    Declined,
    /// There is no person, or the form was cancelled.
    Cancelled,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SamplingRequest {
    pub server: String,
    pub model: String,
    pub prompt: String,
    pub max_tokens: u32,
}

pub trait Person: fmt::Debug + Send + Sync {
    fn approve(&self, question: ApprovalQuestion) -> BoxFuture<ApprovalAnswer>;

    fn fill(&self, form: FormRequest) -> BoxFuture<FormAnswer>;

    fn allow_sampling(&self, wish: SamplingRequest) -> BoxFuture<ApprovalAnswer>;
}
