//! Tests of `config`.

use super::*;

fn parse(text: &str) -> Result<PgConfig> {
    PgConfig::parse(text, &StoreOptions::default())
}

#[test]
fn stricter_tls_modes_are_supported() {
    for text in [
        "postgres://a:b@localhost/x?sslmode=verify-full&connect_timeout=3",
        "postgresql://localhost/x?sslmode=verify-ca&sslrootcert=system",
        "host=localhost sslmode=verify-full user=a",
    ] {
        let mode = parse(text).unwrap().driver.get_ssl_mode();
        assert_eq!(mode, SslMode::Require, "{text}");
    }
    let mode = parse("postgres://localhost/x").unwrap().driver.get_ssl_mode();
    assert_eq!(mode, SslMode::Prefer);
}

#[test]
fn an_invalid_root_certificate_file_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("roots.pem");
    let text = format!("postgres://h/x?sslmode=require&sslrootcert={}", file.display());
    assert!(matches!(parse(&text), Err(Error::Refused(_))));
    std::fs::write(&file, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        .unwrap();
    assert!(matches!(parse(&text), Err(Error::Refused(_))));
}

#[test]
fn errors_do_not_quote_the_connection_string() {
    for text in ["host=a hunter2=x", "postgres://a:hunter2@h:port/x", "hunter2"] {
        let error = parse(text).unwrap_err();
        let message = format!("{error:?} {error}");
        assert!(!message.contains("hunter2"), "{message}");
    }
    let config = parse("postgres://a:hunter2@h/x").unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
}
