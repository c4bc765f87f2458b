//! Messages on a pipe: a JSON head and a raw body, preceded by their lengths.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest head; the links of a page are its largest part.
pub(crate) const MAX_HEAD_BYTES: usize = 8 * 1024 * 1024;
pub(crate) const PREFIX_BYTES: usize = 16;

pub(crate) fn encode(head: &impl Serialize, body_bytes: usize) -> io::Result<Vec<u8>> {
    let mut message = vec![0; PREFIX_BYTES];
    serde_json::to_writer(&mut message, head)?;
    let head_bytes = message.len() - PREFIX_BYTES;
    for (offset, length) in [(0, head_bytes), (8, body_bytes)] {
        let length = u64::try_from(length).map_err(io::Error::other)?;
        message[offset..offset + 8].copy_from_slice(&length.to_le_bytes());
    }
    Ok(message)
}

/// Decodes the lengths of head and body, if they are within limits.
pub(crate) fn lengths(
    prefix: [u8; PREFIX_BYTES],
    max_body_bytes: usize,
) -> io::Result<(usize, usize)> {
    let (head, body) = prefix.split_at(8);
    let length = |bytes: &[u8], max: usize| {
        let bytes = bytes.try_into().map_err(io::Error::other)?;
        usize::try_from(u64::from_le_bytes(bytes))
            .ok()
            .filter(|length| *length <= max)
            .ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))
    };
    Ok((length(head, MAX_HEAD_BYTES)?, length(body, max_body_bytes)?))
}

pub(crate) fn write(out: &mut impl Write, head: &impl Serialize, body: &[u8]) -> io::Result<()> {
    out.write_all(&encode(head, body.len())?)?;
    out.write_all(body)?;
    out.flush()
}

/// Reads a message; `None` at the end of the input.
pub(crate) fn read<T: DeserializeOwned>(
    input: &mut impl Read,
    max_body_bytes: usize,
) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut prefix = [0; PREFIX_BYTES];
    match input.read_exact(&mut prefix) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let (head_bytes, body_bytes) = lengths(prefix, max_body_bytes)?;
    let mut head = vec![0; head_bytes];
    input.read_exact(&mut head)?;
    let mut body = vec![0; body_bytes];
    input.read_exact(&mut body)?;
    Ok(Some((serde_json::from_slice(&head)?, body)))
}

#[cfg(test)]
mod tests;
