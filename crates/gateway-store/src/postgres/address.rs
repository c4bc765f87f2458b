//! Where the database is, read from a connection string.
//!
//! The driver knows `sslmode` `disable`, `prefer` and `require`. Here `verify-ca` and `verify-full`
//! are known as well, and so is `sslrootcert`, a file of certificates in place of the system's.
//! Whenever TLS is required, certificate and host name are verified: `require` is as strict as
//! `verify-full`, because encryption to a server that nobody verified protects nothing.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::backend::Result;
use crate::{Error, StoreOptions};

/// How a server sees who is connected.
const APPLICATION: &str = "agent-gateway";

/// Where the database is, and how to talk to it.
#[derive(Clone)]
pub(super) struct Address {
    config: Config,
    tls: MakeRustlsConnect,
    wait: Duration,
    repeats_kept_micros: i64,
    power_loss_safe: bool,
}

impl Address {
    /// Reads a connection string: `postgres://…`, or words like `host=… dbname=…`.
    pub(super) fn read(place: &str, options: &StoreOptions) -> Result<Self> {
        let (place, roots) = take_roots(place);
        // The driver's own words could quote a part of the string, which may hold a password.
        let unreadable = |_| refused("the connection string cannot be read");
        let mut config: Config = place.parse().map_err(unreadable)?;
        if config.get_application_name().is_none() {
            config.application_name(APPLICATION);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(options.wait);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(options.wait);
        }
        let is_remote = config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)))
            || !config.get_hostaddrs().is_empty();
        let tls = if is_remote && config.get_ssl_mode() != SslMode::Disable {
            connector(load_roots(roots.as_deref())?)?
        } else {
            connector(RootCertStore::empty())?
        };
        Ok(Self {
            config,
            tls,
            wait: options.wait,
            repeats_kept_micros: options.repeats_kept_micros(),
            power_loss_safe: options.power_loss_safe,
        })
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn tls(&self) -> MakeRustlsConnect {
        self.tls.clone()
    }

    /// How long anything may take.
    /// How long idempotency keys and answers are kept.
    pub(super) fn repeats_kept_micros(&self) -> i64 {
        self.repeats_kept_micros
    }

    pub(super) fn wait(&self) -> Duration {
        self.wait
    }

    /// Whether a commit outlives a power loss.
    pub(super) fn is_power_loss_safe(&self) -> bool {
        self.power_loss_safe
    }
}

/// Passwords are not shown.
impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Address(…)")
    }
}

/// Takes out what the driver does not know: the stricter modes of TLS, and the file of roots.
fn take_roots(place: &str) -> (String, Option<String>) {
    let is_url = place.starts_with("postgres://") || place.starts_with("postgresql://");
    let (head, tail, between) = match place.split_once('?') {
        Some((head, tail)) if is_url => (format!("{head}?"), tail, '&'),
        _ if is_url => return (place.to_owned(), None),
        _ => (String::new(), place, ' '),
    };
    let mut roots = None;
    let mut kept = Vec::new();
    for word in tail.split(between) {
        match word.split_once('=') {
            Some(("sslmode", "verify-ca" | "verify-full")) => kept.push("sslmode=require"),
            Some(("sslrootcert", "system")) => {}
            Some(("sslrootcert", file)) => roots = Some(file.to_owned()),
            _ => kept.push(word),
        }
    }
    (head + &kept.join(&between.to_string()), roots)
}

fn load_roots(file: Option<&str>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        let found = rustls_native_certs::load_native_certs();
        // Certificates of the system that cannot be read are no reason not to use the others.
        let _ = roots.add_parsable_certificates(found.certs);
        return Ok(roots);
    };
    let unreadable = |_| refused("the file of sslrootcert cannot be read");
    for certificate in CertificateDer::pem_file_iter(file).map_err(unreadable)? {
        let certificate = certificate.map_err(unreadable)?;
        let useless = |_| refused("the file of sslrootcert holds what is no certificate");
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

fn refused(why: &'static str) -> Error {
    Error::Refused(why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(place: &str) -> Result<Address> {
        Address::read(place, &StoreOptions::default())
    }

    #[test]
    fn stricter_modes_of_tls_are_known() {
        for place in [
            "postgres://a:b@localhost/x?sslmode=verify-full&connect_timeout=3",
            "postgresql://localhost/x?sslmode=verify-ca&sslrootcert=system",
            "host=localhost sslmode=verify-full user=a",
        ] {
            let mode = read(place).unwrap().config().get_ssl_mode();
            assert_eq!(mode, SslMode::Require, "{place}");
        }
        let mode = read("postgres://localhost/x").unwrap().config().get_ssl_mode();
        assert_eq!(mode, SslMode::Prefer);
    }

    #[test]
    fn roots_come_from_a_file_that_must_be_good() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("roots.pem");
        let place = format!("postgres://h/x?sslmode=require&sslrootcert={}", file.display());
        assert!(matches!(read(&place), Err(Error::Refused(_))));
        std::fs::write(&file, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
            .unwrap();
        assert!(matches!(read(&place), Err(Error::Refused(_))));
    }

    #[test]
    fn a_string_that_cannot_be_read_is_not_repeated() {
        for place in ["host=a hunter2=x", "postgres://a:hunter2@h:port/x", "hunter2"] {
            let error = read(place).unwrap_err();
            let said = format!("{error:?} {error}");
            assert!(!said.contains("hunter2"), "{said}");
        }
        let address = read("postgres://a:hunter2@h/x").unwrap();
        assert!(!format!("{address:?}").contains("hunter2"));
    }
}
