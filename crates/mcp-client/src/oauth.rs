//! Signing in to remote servers: OAuth 2.1 with PKCE.
//!
//! `challenge`, `redirect`, `metadata`, `identification` and `document` are pure: from texts to
//! decisions. `discovery`, `registration` and `token` each are one conversation with an
//! authorization server. `store` keeps what was granted, `login` goes through all steps with a
//! person, and `credentials` is what the transports ask for a token.

pub mod callback;
pub mod challenge;
pub mod document;
pub mod ports;
pub mod redirect;
