//! `oidc-provider` of Node.

use super::hand::{Hand, call_tool, get, tokens};
use crate::oauth::{Oidc, OidcOptions, visit};

#[test]
fn oidc_provider_lets_a_login_go_all_the_way() {
    let server = Oidc::start(&OidcOptions::default());
    let hand = Hand::registered(server.mcp_url());
    let landed = visit(&hand.authorization("mcp:read offline_access"));
    assert_eq!(landed.parameter("iss").as_deref(), Some(server.issuer()));
    hand.goes_all_the_way(&landed);
}
