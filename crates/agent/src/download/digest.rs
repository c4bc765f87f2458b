//! SHA-256 digests: parsing, formatting, hashing of files.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ring::digest::{Context, SHA256};

const PIECE_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest([u8; 32]);

impl Digest {
    /// Reads 64 hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let mut bytes = [0; 32];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(place * 2..place * 2 + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    pub(crate) fn of(context: &Context) -> Self {
        let digest = context.clone().finish();
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

/// Hashes all input; returns its length too.
pub(super) fn hash(from: &mut impl Read) -> io::Result<(u64, Context)> {
    let mut context = Context::new(&SHA256);
    let mut piece = vec![0; PIECE_BYTES];
    let mut count = 0;
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok((count, context)),
            Ok(length) => {
                context.update(&piece[..length]);
                count += length as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

pub(crate) fn of_bytes(bytes: &[u8]) -> Digest {
    let mut context = Context::new(&SHA256);
    context.update(bytes);
    Digest::of(&context)
}

pub(crate) fn of_file(path: &Path) -> io::Result<Digest> {
    Ok(Digest::of(&hash(&mut File::open(path)?)?.1))
}

#[cfg(test)]
mod tests;
