//! Public downloads: the manifest and its signature.
//!
//! The signature is Ed25519 over [`Manifest::signed_bytes`]. It covers everything but the
//! URLs, so a manifest stays valid when the service moves. The client gets the public key
//! separately.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, UnparsedPublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// First line of the signed bytes.
const HEADING: &str = "agent downloads 2";
/// The first line for manifests without an expiry, by older versions.
const HEADING_WITHOUT_EXPIRY: &str = "agent downloads 1";
/// Maximum files per manifest.
pub const MAX_FILES: usize = 256;
/// Longest name of a file or version, in bytes.
pub const MAX_NAME: usize = 128;
/// Length of a public key, in bytes.
pub const PUBLIC_KEY_BYTES: usize = 32;

/// `GET /v1/downloads/manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// What these files are.
    pub version: String,
    /// When they were published, by RFC 3339.
    pub published_at: String,
    /// When the manifest expires, by RFC 3339. A client refuses it from then on, so that nobody can
    /// hold back updates by serving an old manifest. Empty in manifests of older versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expires_at: String,
    /// The files, in the order of their names.
    pub files: Vec<File>,
    /// The Ed25519 signature of all but the addresses, in base64.
    pub signature: String,
}

/// A file that can be downloaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Where it runs, such as `linux-x86_64`; `any` where it does not matter.
    pub platform: String,
    /// Where it is. Not signed: what counts is its size and digest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// Their SHA-256 digest, as 64 hexadecimal digits.
    pub sha256: String,
    /// What it is served as.
    pub media_type: String,
}

/// Why a manifest is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A field is invalid.
    #[error("`{0}` of the manifest is not as it must be")]
    Field(&'static str),
    /// The signature does not match the key and this manifest.
    #[error("the signature of the manifest is wrong")]
    Signature,
}

impl Manifest {
    /// The signed bytes of a manifest with valid fields. They are UTF-8 lines, each ended by a
    /// line feed, with tabs between the fields of a line:
    ///
    /// ```text
    /// agent downloads 2
    /// <version> TAB <published_at> TAB <expires_at>
    /// <name> TAB <platform> TAB <bytes> TAB <sha256> TAB <media_type>      one line a file
    /// ```
    ///
    /// Fields contain neither tabs nor line feeds, so no two manifests have equal bytes. Files
    /// are sorted by the bytes of their names, which are unique. Without an expiry the first line
    /// ends with 1, and the second with `published_at`.
    pub fn signed_bytes(&self) -> Result<Vec<u8>, Unfit> {
        check(is_name(&self.version), "version")?;
        check(is_visible(&self.published_at, 40), "published_at")?;
        check((1..=MAX_FILES).contains(&self.files.len()), "files")?;
        check(self.files.is_sorted_by(|one, next| one.name < next.name), "files")?;
        let Self { version, published_at, expires_at, .. } = self;
        let mut text = if expires_at.is_empty() {
            format!("{HEADING_WITHOUT_EXPIRY}\n{version}\t{published_at}\n")
        } else {
            check(is_visible(expires_at, 40), "expires_at")?;
            format!("{HEADING}\n{version}\t{published_at}\t{expires_at}\n")
        };
        for file in &self.files {
            let File { name, platform, bytes, sha256, media_type, .. } = file;
            check(is_name(name), "name")?;
            check(is_name(platform), "platform")?;
            check(is_digest(sha256), "sha256")?;
            check(is_visible(media_type, 100), "media_type")?;
            text += &format!("{name}\t{platform}\t{bytes}\t{sha256}\t{media_type}\n");
        }
        Ok(text.into_bytes())
    }

    /// Verifies the signature with a public key.
    pub fn verify(&self, public_key: &[u8; PUBLIC_KEY_BYTES]) -> Result<(), Unfit> {
        let bytes = self.signed_bytes()?;
        let signature = STANDARD.decode(&self.signature).map_err(|_| Unfit::Signature)?;
        let key = UnparsedPublicKey::new(&ED25519, public_key);
        key.verify(&bytes, &signature).map_err(|_| Unfit::Signature)
    }
}

/// Parses a public key in base64.
pub fn read_public_key(text: &str) -> Option<[u8; PUBLIC_KEY_BYTES]> {
    STANDARD.decode(text.trim()).ok()?.try_into().ok()
}

/// Whether a text is a valid name of a file, a version or a platform: safe as a path component
/// on every system.
pub fn is_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len())
        && !text.starts_with('.')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte))
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_visible(text: &str, max: usize) -> bool {
    (1..=max).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn check(is_right: bool, field: &'static str) -> Result<(), Unfit> {
    if is_right { Ok(()) } else { Err(Unfit::Field(field)) }
}

#[cfg(test)]
mod tests;
