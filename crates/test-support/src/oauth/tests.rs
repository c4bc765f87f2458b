//! Manual logins at each server, without our client.

mod dpop;
mod faulty;
mod manual_login;
mod oidc;
mod python;
