//! The options of a reader.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct ReaderOptions {
    /// The largest page in bytes, after decompression.
    pub max_bytes: u64,
    pub timeout: Duration,
    pub max_redirects: u32,
    /// Whether to follow redirects from https to http.
    pub allow_downgrade: bool,
    pub robots: bool,
    /// The `User-Agent`; its first word is our name in robots.txt.
    pub user_agent: String,
    pub ports: Vec<u16>,
    pub allow_private: Vec<AllowedPrivate>,
    /// A PEM file with additional certificate authorities.
    pub tls_ca_file: Option<PathBuf>,
    pub concurrency: u32,
    pub concurrency_per_host: u32,
    pub cache_bytes: u64,
    pub cache_age: Duration,
}

/// A private host or network that may be read, at one port or at all of `ports`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedPrivate {
    pub place: PrivatePlace,
    /// The allowed port, if limited.
    pub port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrivatePlace {
    /// A name in lower case, with any addresses.
    Host(String),
    /// The network with this prefix length.
    Net(IpAddr, u8),
}
