//! The task loop: sends a person's messages to a model, runs its tool calls, and returns its
//! final text.
//!
//! [`run`] is the loop. It limits rounds, time and money, retries transient failures, keeps
//! the conversation within the context window of the model, and ends in exactly one of the
//! ways in [`end`]. The library has no terminal and no configuration: it reports
//! [`event::Event`]s to a listener, asks a [`person::Person`] for approval, and stores
//! approvals through [`approval_memory::ApprovalStore`]. [`chat_record`] is the file of a
//! conversation. Models are reached through [`member`].

#![expect(missing_docs, reason = "the names of most items explain them")]

pub mod approval_gate;
pub mod approval_memory;
pub mod attachment;
pub mod chat_record;
mod context_window;
pub mod conversation;
pub mod end;
pub mod event;
pub mod member;
pub mod metrics;
pub mod model;
mod nearest;
pub mod person;
mod retry;
mod sanitizer;
mod server_instructions;
pub mod server_requests;
mod task;
pub mod toolbox;
pub mod untrusted;
mod usage;

pub use attachment::Attacher;
pub use nearest::nearest;
pub use sanitizer::Sanitizer;
pub use task::{
    Bounds, DEFAULT_ROUNDS, MAX_ROUNDS, MAX_TIME, OldTurns, TaskContext, TaskResult, UserInput,
    compact, run,
};
pub use usage::TaskUsage;
