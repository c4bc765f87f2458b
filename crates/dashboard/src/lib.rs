//! The dashboard: pages about a person's own servers, sign-ins and conversations, on loopback.
//!
//! **Boundary:** pages contain no logic of their own. What they show is the JSON of a command, what
//! they change is changed by a command, and a conversation is an `agent chat` (`program`). Nobody
//! gets a page without the session cookie of a one-time link, and no form is read before its origin
//! and its token were checked (`guard`).

mod access;
mod chat;
mod chats;
mod guard;
mod install;
mod job_page;
mod jobs;
mod links;
mod live_chat;
mod page;
mod program;
mod server;
mod server_edit;
mod server_watch;
mod servers;
mod sign_in;
mod state;
mod stored;
mod tools;

pub use page::metrics_frame;
pub use program::Program;
pub use server::{Options, ask_running, serve};
