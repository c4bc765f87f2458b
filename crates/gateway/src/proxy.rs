//! From a paid request to an upstream's answer: which upstream, which words, and what came of it.
//!
//! [`ask`] holds what a member asked and puts it into an upstream's words. [`begin`] asks one
//! upstream after the other until one begins to answer; nothing has been sent to the client by
//! then, so that the next one may be tried. [`relay`] passes a stream on, [`whole`] an answer in
//! one piece; both judge whether the answer was worth its price.

pub(crate) mod ask;
pub(crate) mod ask_responses;
pub(crate) mod begin;
pub(crate) mod chat;
pub(crate) mod native;
pub(crate) mod patience;
pub(crate) mod relay;
pub(crate) mod stage;
pub(crate) mod whole;
