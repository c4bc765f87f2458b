//! The dashboard: pages about a person's own servers, sign-ins and conversations, on loopback.
//!
//! **Boundary:** pages contain no logic of their own. They show the JSON of commands, change
//! data by commands, and a conversation is an `agent chat` (`program`). Every page needs the
//! session cookie of a one-time link, and no form is read before its origin and its token are
//! checked (`guard`).

mod access;
mod chat;
mod chats;
mod guard;
mod install;
mod job_page;
mod jobs;
mod live_chat;
mod local_peer;
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
pub use server::{Options, ask_running, lock_start, serve};
