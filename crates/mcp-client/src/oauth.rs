//! OAuth 2.1 with PKCE for remote servers.
//!
//! `challenge`, `redirect`, `metadata`, `identification`, `scope` and `client_document` are pure.
//! `discovery`, `registration` and `token` are one exchange with an authorization server each.
//! `token_store` stores grants, `credentials` provides and renews tokens and sends requests with them,
//! and `login` runs all steps with a person.

mod account;
mod assertion;
pub mod callback;
pub mod challenge;
pub mod client_document;
pub(crate) mod credentials;
pub(crate) mod discovery;
mod dpop;
pub mod identification;
pub(crate) mod login;
pub(crate) mod metadata;
mod oauth_http;
mod pkce;
pub mod redirect;
mod registration;
pub(crate) mod scope;
mod token;
mod token_store;

pub use self::account::{Account, Grant, LogoutReport, SignInStatus};
pub use self::credentials::ClientKind;
pub use self::identification::LoginFrontend;
pub use self::login::{DeviceCode, DeviceCodeDisplay, LoginOptions};
pub use self::token_store::{move_tokens, token_files};
pub use crate::error::oauth::{Error, LikelyCause};
