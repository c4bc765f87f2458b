//! A certificate for the loopback interface, and the authority that signed it.

use std::path::PathBuf;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use tempfile::TempDir;

/// An identity for `127.0.0.1` and `localhost`, and its authority in a file.
#[derive(Debug)]
pub(super) struct LoopbackCertificate {
    pub(super) certificate: String,
    pub(super) key: String,
    folder: TempDir,
}

impl LoopbackCertificate {
    pub(super) fn new() -> Self {
        Self::try_new().expect("a certificate can be made")
    }

    pub(super) fn authority(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }

    fn try_new() -> Result<Self, Box<dyn std::error::Error>> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name.push(DnType::CommonName, "the authority of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let mut params = CertificateParams::new(names)?;
        params.not_before = date_time_ymd(2019, 1, 1);
        params.not_after = date_time_ymd(2090, 1, 1);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &authority)?;
        let folder = tempfile::tempdir()?;
        let loopback = Self { certificate: certificate.pem(), key: key.serialize_pem(), folder };
        std::fs::write(loopback.authority(), authority.pem())?;
        Ok(loopback)
    }
}
