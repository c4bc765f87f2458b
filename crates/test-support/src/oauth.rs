//! Authorization servers to test a client against: two that nobody here wrote, and one that fails.
//!
//! - [`Oidc`]: `oidc-provider` of Node with its own login and consent pages, and an MCP server that it
//!   protects. Whatever a real server does, it does: rotation, reuse detection, resource indicators,
//!   `iss` on redirects, client metadata documents, proofs of possession.
//! - [`PythonOauth`]: the authorization server of the official Python SDK. It consents at once and is
//!   fast.
//! - [`Faulty`]: ours, on bare sockets, with a switch for every way to be wrong.
//!
//! All listen on free ports of the loopback interface and end with their value.
//! [`sign_in_with_browser`] is a person at a login page; [`visit`] goes the same way without a browser,
//! and fast.

mod document;
mod faulty;
mod oidc;
mod process;
mod python;
mod seen;
mod sign_in;

pub use faulty::{Challenge, Endpoint, Fault, Faulty, Issuer, Refresh, Script, Twist};
pub use oidc::{Dpop, Offer, Oidc, OidcOptions, RefreshTokens, TokenFormat};
pub(crate) use process::Process;
pub use python::{PythonOauth, PythonOptions};
pub use seen::Seen;
pub use sign_in::{Landed, sign_in_with, sign_in_with_browser, visit, visit_and_refuse};

#[cfg(test)]
mod tests;
