//! The service as its clients meet it: over HTTP, with a store of its own and a scripted upstream.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod admin;
mod anthropic;
mod background;
mod basics;
mod books_away;
mod bridging;
mod client_document;
mod drain;
mod edge;
mod fallback;
mod faults;
mod fixture;
mod following;
mod health;
mod idempotency;
mod keys;
mod leaving;
mod logged;
mod media;
mod openai;
mod openapi;
mod passing;
mod raw;
mod slow_client;
mod statuses;
mod support;
mod tls;
mod traces;
