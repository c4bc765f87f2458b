//! Each server behaves as it says: logins by hand, without any client of ours.

mod dpop;
mod faulty;
mod hand;
mod oidc;
mod python;
