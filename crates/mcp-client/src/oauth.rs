//! Signing in to remote servers: OAuth 2.1 with PKCE.
//!
//! `challenge`, `redirect`, `metadata`, `identification` and `document` are pure: from texts to
//! decisions. `discovery`, `registration` and `token` each are one conversation with an
//! authorization server. `store` keeps what was granted, `login` goes through all steps with a
//! person, and `credentials` is what the transports ask for a token.

mod account;
mod assertion;
mod authorizer;
pub mod callback;
pub mod challenge;
pub(crate) mod credentials;
pub(crate) mod discovery;
pub mod document;
mod dpop;
pub mod identification;
mod login;
pub mod metadata;
pub(crate) mod person;
mod pkce;
pub mod ports;
pub mod redirect;
mod registration;
pub(crate) mod scope;
mod store;
mod token;
mod wire;

pub use self::account::{Account, Grant, LoggedOut, LoginOptions, Standing};
pub use self::assertion::SigningKey;
pub use self::credentials::ClientKind;
pub use self::store::kept;
pub use crate::error::oauth::{Error, Suspect};
