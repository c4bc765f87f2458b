//! Streaming decompression of bodies, within a limit.

use std::io::{self, Write};

use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use super::fault::{Fault, Result};

pub(crate) struct Decoder {
    inner: Inner,
    max: u64,
    /// Compressed bytes so far: a long body may decompress to nothing.
    read: u64,
}

enum Inner {
    Identity(Bounded),
    Gzip(MultiGzDecoder<Bounded>),
    /// Zlib or raw, detected by the first byte.
    Deflate,
    Zlib(ZlibDecoder<Bounded>),
    Raw(DeflateDecoder<Bounded>),
}

struct Bounded {
    bytes: Vec<u8>,
    max: u64,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let total = self.bytes.len().saturating_add(bytes.len());
        if u64::try_from(total).unwrap_or(u64::MAX) > self.max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Decoder {
    pub(crate) fn new(encoding: &str, max: u64) -> Result<Self> {
        let out = Bounded { bytes: Vec::new(), max };
        let inner = match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Inner::Identity(out),
            "gzip" | "x-gzip" => Inner::Gzip(MultiGzDecoder::new(out)),
            "deflate" => Inner::Deflate,
            _ => return Err(Fault::Encoding(encoding.to_owned())),
        };
        Ok(Self { inner, max, read: 0 })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(first) = bytes.first() else { return Ok(()) };
        self.read = self.read.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        if self.read > self.max {
            return Err(Fault::TooLarge(self.max));
        }
        if matches!(self.inner, Inner::Deflate) {
            let out = Bounded { bytes: Vec::new(), max: self.max };
            self.inner = if first & 0x0f == 8 {
                Inner::Zlib(ZlibDecoder::new(out))
            } else {
                Inner::Raw(DeflateDecoder::new(out))
            };
        }
        let result = match &mut self.inner {
            Inner::Identity(out) => out.write_all(bytes),
            Inner::Gzip(out) => out.write_all(bytes),
            Inner::Zlib(out) => out.write_all(bytes),
            Inner::Raw(out) => out.write_all(bytes),
            Inner::Deflate => Ok(()),
        };
        result.map_err(|error| fault(&error, self.max))
    }

    pub(crate) fn finish(self) -> Result<Vec<u8>> {
        let max = self.max;
        let is_empty = self.read == 0;
        let result = match self.inner {
            Inner::Identity(out) => Ok(out),
            _ if is_empty => return Ok(Vec::new()),
            Inner::Gzip(out) => out.finish(),
            Inner::Zlib(out) => out.finish(),
            Inner::Raw(out) => out.finish(),
            Inner::Deflate => return Ok(Vec::new()),
        };
        result.map(|out| out.bytes).map_err(|error| fault(&error, max))
    }
}

fn fault(error: &io::Error, max: u64) -> Fault {
    if error.kind() == io::ErrorKind::FileTooLarge {
        return Fault::TooLarge(max);
    }
    Fault::Unreadable("has invalid compressed content")
}

#[cfg(test)]
mod tests;
