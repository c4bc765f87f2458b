//! Files that everybody may download: their manifest, and how it is signed.
//!
//! The signature is Ed25519 over [`Manifest::signed_bytes`]. It covers everything but the addresses,
//! so that a manifest stays good when the service moves. The client knows the public key from
//! elsewhere.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, UnparsedPublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The first line of what is signed.
const HEADING: &str = "agent downloads 2";
/// The same of manifests without an expiry, which older versions made.
const HEADING_WITHOUT_EXPIRY: &str = "agent downloads 1";
/// The most files of one manifest.
pub const MAX_FILES: usize = 256;
/// The longest name of a file or version, in bytes.
pub const MAX_NAME: usize = 128;
/// The length of a public key, in bytes.
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

/// Why a manifest is worth nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A field is not as it must be.
    #[error("`{0}` of the manifest is not as it must be")]
    Field(&'static str),
    /// The signature is not that of the key over this manifest.
    #[error("the signature of the manifest is wrong")]
    Signature,
}

impl Manifest {
    /// The bytes that are signed, of a manifest whose fields are as they must be. They are UTF-8
    /// lines, each ended by a line feed, with tabs between the fields of a line:
    ///
    /// ```text
    /// agent downloads 2
    /// <version> TAB <published_at> TAB <expires_at>
    /// <name> TAB <platform> TAB <bytes> TAB <sha256> TAB <media_type>      one line a file
    /// ```
    ///
    /// Neither tabs nor line feeds can stand in a field, so that no two manifests give equal bytes.
    /// Files stand in the order of the bytes of their names, each name once. Without an expiry the
    /// first line ends with 1, and the second with `published_at`.
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

    /// Whether this is what the holder of a key signed.
    pub fn verify(&self, public_key: &[u8; PUBLIC_KEY_BYTES]) -> Result<(), Unfit> {
        let bytes = self.signed_bytes()?;
        let signature = STANDARD.decode(&self.signature).map_err(|_| Unfit::Signature)?;
        let key = UnparsedPublicKey::new(&ED25519, public_key);
        key.verify(&bytes, &signature).map_err(|_| Unfit::Signature)
    }
}

/// A public key as it is written: base64 of its bytes.
pub fn read_public_key(text: &str) -> Option<[u8; PUBLIC_KEY_BYTES]> {
    STANDARD.decode(text.trim()).ok()?.try_into().ok()
}

/// Whether a text can name a file, a version or a platform. It can stand in a path of any system,
/// and leads nowhere else.
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
mod tests {
    use ring::signature::{Ed25519KeyPair, KeyPair};

    use super::*;

    fn key(seed: u8) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
    }

    fn public(key: &Ed25519KeyPair) -> [u8; PUBLIC_KEY_BYTES] {
        key.public_key().as_ref().try_into().unwrap()
    }

    fn file(name: &str) -> File {
        File {
            name: name.to_owned(),
            platform: "linux-x86_64".to_owned(),
            url: String::new(),
            bytes: 12,
            sha256: "0123456789abcdef".repeat(4),
            media_type: "application/octet-stream".to_owned(),
        }
    }

    fn signed(files: Vec<File>) -> Manifest {
        let mut manifest = Manifest {
            version: "1.2.3".to_owned(),
            published_at: "2026-11-15T12:00:00Z".to_owned(),
            expires_at: "2027-02-15T12:00:00Z".to_owned(),
            files,
            signature: String::new(),
        };
        let signature = key(7).sign(&manifest.signed_bytes().unwrap());
        manifest.signature = STANDARD.encode(signature);
        manifest
    }

    #[test]
    fn the_signed_bytes_are_as_documented() {
        let manifest = signed(vec![file("agent"), file("agent.exe")]);
        let digest = "0123456789abcdef".repeat(4);
        let rest = format!("linux-x86_64\t12\t{digest}\tapplication/octet-stream");
        let expected = format!(
            "agent downloads 2\n1.2.3\t2026-11-15T12:00:00Z\t2027-02-15T12:00:00Z\n\
             agent\t{rest}\nagent.exe\t{rest}\n"
        );
        assert_eq!(String::from_utf8(manifest.signed_bytes().unwrap()).unwrap(), expected);
        let old = Manifest { expires_at: String::new(), ..manifest.clone() };
        let expected = format!(
            "agent downloads 1\n1.2.3\t2026-11-15T12:00:00Z\nagent\t{rest}\nagent.exe\t{rest}\n"
        );
        assert_eq!(String::from_utf8(old.signed_bytes().unwrap()).unwrap(), expected);
    }

    #[test]
    fn an_expiry_cannot_be_moved_or_removed() {
        let manifest = signed(vec![file("agent")]);
        for expires_at in ["", "2099-01-01T00:00:00Z"] {
            let other = Manifest { expires_at: expires_at.to_owned(), ..manifest.clone() };
            assert_eq!(other.verify(&public(&key(7))), Err(Unfit::Signature));
        }
        let text = serde_json::to_string(&manifest).unwrap();
        let moved = text.replace("2027-02-15", "2028-02-15");
        let moved: Manifest = serde_json::from_str(&moved).unwrap();
        assert_eq!(moved.verify(&public(&key(7))), Err(Unfit::Signature));
    }

    #[test]
    fn what_was_signed_is_good_wherever_it_is_served_from() {
        let mut manifest = signed(vec![file("agent")]);
        assert_eq!(manifest.verify(&public(&key(7))), Ok(()));
        manifest.files[0].url = "https://elsewhere.example/agent".to_owned();
        assert_eq!(manifest.verify(&public(&key(7))), Ok(()));
        assert_eq!(manifest.verify(&public(&key(8))), Err(Unfit::Signature));
        let text = STANDARD.encode(public(&key(7)));
        assert_eq!(read_public_key(&format!("{text}\n")), Some(public(&key(7))));
        assert_eq!(read_public_key(&text[4..]), None);
    }

    #[test]
    fn a_wrong_byte_anywhere_is_found() {
        let manifest = signed(vec![file("agent"), file("agent.exe")]);
        let text = serde_json::to_string(&manifest).unwrap();
        for place in 0..text.len() {
            for change in [0x01, 0x02, 0x10] {
                let mut bytes = text.clone().into_bytes();
                bytes[place] ^= change;
                let Ok(other) = serde_json::from_slice::<Manifest>(&bytes) else { continue };
                assert!(other.verify(&public(&key(7))).is_err(), "{place}: {other:?}");
            }
        }
    }

    #[test]
    fn files_that_were_left_out_doubled_or_moved_are_found() {
        let manifest = signed(vec![file("a"), file("b")]);
        let with =
            |files: Vec<File>| Manifest { files, ..manifest.clone() }.verify(&public(&key(7)));
        assert_eq!(with(vec![file("a"), file("b")]), Ok(()));
        assert_eq!(with(vec![file("a")]), Err(Unfit::Signature));
        assert_eq!(with(vec![file("b"), file("a")]), Err(Unfit::Field("files")));
        assert_eq!(with(vec![file("a"), file("a"), file("b")]), Err(Unfit::Field("files")));
        assert_eq!(with(Vec::new()), Err(Unfit::Field("files")));
        let many = (0..=MAX_FILES).map(|number| file(&format!("f{number:04}"))).collect();
        assert_eq!(with(many), Err(Unfit::Field("files")));
    }

    #[test]
    fn names_lead_nowhere_else() {
        for good in ["agent", "1.2.3", "a_b-c+d.tar.gz"] {
            assert!(is_name(good), "{good}");
        }
        let long = "a".repeat(MAX_NAME + 1);
        for bad in ["", ".", "..", ".hidden", "a/b", "a\\b", "a b", "a\tb", "a\nb", "ä", &long] {
            assert!(!is_name(bad), "{bad}");
        }
        let mut wrong = file("agent");
        wrong.sha256 = "0123456789ABCDEF".repeat(4);
        let manifest = Manifest { files: vec![wrong], ..signed(vec![file("agent")]) };
        assert_eq!(manifest.signed_bytes(), Err(Unfit::Field("sha256")));
    }
}
