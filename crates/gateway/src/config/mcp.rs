//! Access to `/mcp`: `mcp`.

use settings::section;

use super::fetch::MAX_ALLOWED;

section! {
    /// Access to `/mcp`. Every request needs a key. Its `Host` must be an IP address, `localhost`
    /// or the host of `public_url`; its `Origin`, if any, must be `public_url` or this machine.
    #[derive(PartialEq, Eq)]
    pub struct Mcp {
        /// Additional accepted hosts.
        #[schemars(length(max = MAX_ALLOWED))]
        #[schemars(extend("items" = {"type": "string", "format": "host"}, "x-whole" = true))]
        pub allowed_hosts: Vec<String>,
        /// Additional accepted origins.
        #[schemars(length(max = MAX_ALLOWED))]
        #[schemars(extend("items" = {"type": "string", "format": "origin"}, "x-whole" = true))]
        pub allowed_origins: Vec<String>,
    }
}
