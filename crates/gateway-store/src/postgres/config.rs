//! The connection string and TLS settings.
//!
//! The driver supports `sslmode` `disable`, `prefer` and `require`. This module adds `verify-ca`,
//! `verify-full` and `sslrootcert`, a file of certificates that replaces those of the system. Whenever
//! TLS is required, certificate and host name are verified: `require` is as strict as `verify-full`,
//! because encryption to an unverified server protects nothing.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::Result;
use crate::{Error, StoreOptions};

/// The `application_name` that the server sees.
const APPLICATION: &str = "agent-gateway";

#[derive(Clone)]
pub(super) struct PgConfig {
    pub(super) driver: Config,
    pub(super) tls: MakeRustlsConnect,
    pub(super) options: StoreOptions,
}

impl PgConfig {
    /// Parses a connection string: `postgres://…`, or pairs like `host=… dbname=…`.
    pub(super) fn parse(text: &str, options: &StoreOptions) -> Result<Self> {
        let (text, roots) = take_roots(text);
        // The driver's error could quote a password.
        let unreadable = |_| refused("invalid connection string");
        let mut driver: Config = text.parse().map_err(unreadable)?;
        if driver.get_application_name().is_none() {
            driver.application_name(APPLICATION);
        }
        if driver.get_connect_timeout().is_none() {
            driver.connect_timeout(options.timeout);
        }
        if driver.get_tcp_user_timeout().is_none() {
            driver.tcp_user_timeout(options.timeout);
        }
        let is_remote = driver.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)))
            || !driver.get_hostaddrs().is_empty();
        let tls = if is_remote && driver.get_ssl_mode() != SslMode::Disable {
            connector(load_roots(roots.as_deref())?)?
        } else {
            connector(RootCertStore::empty())?
        };
        Ok(Self { driver, tls, options: options.clone() })
    }
}

/// Does not print passwords.
impl fmt::Debug for PgConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PgConfig(…)")
    }
}

/// Removes what the driver does not support: the stricter TLS modes and the file of roots.
fn take_roots(text: &str) -> (String, Option<String>) {
    let is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
    let (head, tail, separator) = match text.split_once('?') {
        Some((head, tail)) if is_url => (format!("{head}?"), tail, '&'),
        _ if is_url => return (text.to_owned(), None),
        _ => (String::new(), text, ' '),
    };
    let mut roots = None;
    let mut kept = Vec::new();
    for pair in tail.split(separator) {
        match pair.split_once('=') {
            Some(("sslmode", "verify-ca" | "verify-full")) => kept.push("sslmode=require"),
            Some(("sslrootcert", "system")) => {}
            Some(("sslrootcert", file)) => roots = Some(file.to_owned()),
            _ => kept.push(pair),
        }
    }
    (head + &kept.join(&separator.to_string()), roots)
}

fn load_roots(file: Option<&str>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        let found = rustls_native_certs::load_native_certs();
        // Unreadable certificates of the system are skipped.
        let _ = roots.add_parsable_certificates(found.certs);
        return Ok(roots);
    };
    let unreadable = |_| refused("cannot read the file of sslrootcert");
    for certificate in CertificateDer::pem_file_iter(file).map_err(unreadable)? {
        let certificate = certificate.map_err(unreadable)?;
        let useless = |_| refused("the file of sslrootcert contains an invalid certificate");
        roots.add(certificate).map_err(useless)?;
    }
    Ok(roots)
}

fn connector(roots: RootCertStore) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Refused(Box::new(error)))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn refused(reason: &'static str) -> Error {
    Error::Refused(reason.into())
}

#[cfg(test)]
mod tests;
