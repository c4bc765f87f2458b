//! Tests of `connector`.

use super::*;

fn proxied(spared: &str, address: &str) -> bool {
    let variables = [("ALL_PROXY", "http://proxy.test:3128"), ("NO_PROXY", spared)];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    ProxySettings::from_environment(&variables.into()).for_url(&address.parse().unwrap()).is_some()
}

#[test]
fn no_proxy_matches_names_suffixes_stars_and_networks() {
    for (spared, address, through) in [
        ("", "http://mcp.test/", true),
        ("mcp.test", "http://mcp.test/", false),
        ("mcp.test", "https://MCP.test:8443/", false),
        ("mcp.test", "http://a.mcp.test/", false),
        ("mcp.test", "http://other-mcp.test/", true),
        (".mcp.test", "http://a.mcp.test/", false),
        (" x.test , *.mcp.test ", "http://a.b.mcp.test/", false),
        ("*.mcp.test", "http://amcp.test/", true),
        ("*", "http://mcp.test/", false),
        ("192.0.2.7", "http://192.0.2.7/", false),
        ("192.0.2.0/24", "http://192.0.2.200:81/", false),
        ("192.0.2.0/24", "http://192.0.3.1/", true),
        ("2001:db8::/32", "http://[2001:db8::1]/", false),
        ("", "http://localhost:3000/", false),
        ("", "http://a.localhost/", false),
        ("", "http://127.0.0.9/", false),
        ("", "http://[::1]:80/", false),
    ] {
        assert_eq!(proxied(spared, address), through, "NO_PROXY={spared} {address}");
    }
}
