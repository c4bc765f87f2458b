//! Private keys in the traditional encrypted PEM format of OpenSSL (`Proc-Type: 4,ENCRYPTED`).
//!
//! The encryption is weak by today's standards, but tools still write it.

use aes::{Aes128, Aes192, Aes256};
use cbc::Decryptor;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeDecrypt, KeyIvInit};
use des::TdesEde3;
use md5::{Digest, Md5};
use pem::Pem;
use rustls_pki_types::PrivateKeyDer;

/// The first bytes of the initialization vector are the salt.
const SALT_BYTES: usize = 8;

pub(super) fn find(file: &[u8]) -> Option<Pem> {
    let is_encrypted = |part: &Pem| {
        let kind = part.headers().get("Proc-Type");
        part.tag().ends_with("PRIVATE KEY") && kind.is_some_and(|kind| kind.ends_with("ENCRYPTED"))
    };
    pem::parse_many(file).ok()?.into_iter().find(is_encrypted)
}

/// `None` if the password is wrong; an error names an unsupported encryption or type.
pub(super) fn decrypt(key: &Pem, password: &str) -> Result<Option<PrivateKeyDer<'static>>, String> {
    let info = key.headers().get("DEK-Info").unwrap_or_default();
    let unsupported = || format!("`{}`", info.escape_default());
    let (cipher, iv) = info.split_once(',').ok_or_else(unsupported)?;
    let iv = from_hex(iv.trim()).ok_or_else(unsupported)?;
    let (text, password) = (key.contents(), password.as_bytes());
    let der = match (cipher.trim().to_ascii_uppercase().as_str(), iv.len()) {
        ("AES-128-CBC", 16) => decrypt_cbc::<Decryptor<Aes128>, 16>(text, password, &iv),
        ("AES-192-CBC", 16) => decrypt_cbc::<Decryptor<Aes192>, 24>(text, password, &iv),
        ("AES-256-CBC", 16) => decrypt_cbc::<Decryptor<Aes256>, 32>(text, password, &iv),
        ("DES-EDE3-CBC", 8) => decrypt_cbc::<Decryptor<TdesEde3>, 24>(text, password, &iv),
        _ => return Err(unsupported()),
    };
    // One wrong password in 256 yields valid padding.
    let Some(der) = der.filter(|der| is_one_sequence(der)) else { return Ok(None) };
    match key.tag() {
        "RSA PRIVATE KEY" => Ok(Some(PrivateKeyDer::Pkcs1(der.into()))),
        "EC PRIVATE KEY" => Ok(Some(PrivateKeyDer::Sec1(der.into()))),
        "PRIVATE KEY" => Ok(Some(PrivateKeyDer::Pkcs8(der.into()))),
        other => Err(format!("a key of the unsupported type `{other}`")),
    }
}

fn decrypt_cbc<C: BlockModeDecrypt + KeyIvInit, const KEY_BYTES: usize>(
    text: &[u8],
    password: &[u8],
    iv: &[u8],
) -> Option<Vec<u8>> {
    let key = derive_key::<KEY_BYTES>(password, iv.get(..SALT_BYTES)?);
    C::new_from_slices(&key, iv).ok()?.decrypt_padded_vec::<Pkcs7>(text).ok()
}

/// `EVP_BytesToKey` of OpenSSL: MD5, one round.
fn derive_key<const KEY_BYTES: usize>(password: &[u8], salt: &[u8]) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    let mut last: Vec<u8> = Vec::new();
    for chunk in key.chunks_mut(16) {
        last = Md5::new()
            .chain_update(&last)
            .chain_update(password)
            .chain_update(salt)
            .finalize()
            .to_vec();
        chunk.copy_from_slice(&last[..chunk.len()]);
    }
    key
}

/// Whether the bytes are exactly one DER sequence.
fn is_one_sequence(der: &[u8]) -> bool {
    let length = match der {
        [0x30, short @ 0..=0x7f, ..] => 2 + usize::from(*short),
        [0x30, 0x81, one, ..] => 3 + usize::from(*one),
        [0x30, 0x82, high, low, ..] => 4 + (usize::from(*high) << 8 | usize::from(*low)),
        _ => return false,
    };
    der.len() == length
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
