//! Authorization servers to test a client against: two third-party ones, and one that fails.
//!
//! - [`Oidc`]: `oidc-provider` of Node with its own login and consent pages, and an MCP server that
//!   it protects. It has what real servers have: rotation, reuse detection, resource indicators,
//!   `iss` on redirects, client metadata documents, proofs of possession.
//! - [`PythonOauth`]: the authorization server of the official Python SDK. It consents at once and
//!   is fast.
//! - [`FaultyAuthServer`]: ours, on plain sockets, with a switch for every fault.
//!
//! All listen on free loopback ports and stop with their value. [`sign_in_with_browser`] signs in
//! at a login page; [`visit`] does the same without a browser, and fast.

mod certificate;
mod faulty;
mod oidc;
mod process;
mod python;
mod recorded_request;
mod sign_in;

pub use faulty::{
    Challenge, Endpoint, Fault, FaultyAuthServer, Issuer, RedirectChange, Refresh, Script,
};
pub use oidc::{Dpop, Oidc, OidcOptions, TokenFormat};
pub use process::AuthServer;
pub(crate) use process::Process;
pub use python::PythonOauth;
pub use recorded_request::RecordedRequest;
pub use sign_in::{SignInResult, sign_in_with, sign_in_with_browser, visit, visit_and_refuse};

#[cfg(test)]
mod tests;
