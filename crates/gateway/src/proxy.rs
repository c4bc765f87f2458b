//! From a paid request to the answer of an upstream.
//!
//! [`chat_request`], [`messages_request`] and [`responses_request`] hold a member's request and
//! translate it for an upstream. [`begin`] asks one upstream after the other until one begins to
//! answer; nothing has been sent to the client by then, so that the next one can be tried. [`relay`]
//! passes a stream on, [`whole`] an answer without a stream; both determine whether the answer is
//! charged. [`rounds`] executes web searches in between.

pub(crate) mod begin;
pub(crate) mod chat;
pub(crate) mod chat_request;
pub(crate) mod event_buffer;
pub(crate) mod messages_request;
pub(crate) mod native;
pub(crate) mod recorder;
pub(crate) mod relay;
pub(crate) mod responses_request;
pub(crate) mod rounds;
pub(crate) mod stage;
pub(crate) mod stream_timer;
pub(crate) mod whole;
