//! Streaming decompression of bodies, within a limit.

use std::io::{self, Write};

use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use super::fault::Fault;

pub(crate) struct Decoder {
    inner: Inner,
    max: u64,
    /// Compressed bytes so far: a long body may decompress to nothing.
    read: u64,
}

enum Inner {
    Identity(Bounded),
    Gzip(MultiGzDecoder<Bounded>),
    /// Zlib or raw; its first byte shows which.
    Deflate,
    Zlib(ZlibDecoder<Bounded>),
    Raw(DeflateDecoder<Bounded>),
}

/// Bytes up to a limit.
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
    /// A decoder for this `Content-Encoding`.
    pub(crate) fn new(encoding: &str, max: u64) -> Result<Self, Fault> {
        let out = Bounded { bytes: Vec::new(), max };
        let inner = match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Inner::Identity(out),
            "gzip" | "x-gzip" => Inner::Gzip(MultiGzDecoder::new(out)),
            "deflate" => Inner::Deflate,
            _ => return Err(Fault::Encoding(encoding.to_owned())),
        };
        Ok(Self { inner, max, read: 0 })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Fault> {
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
        result.map_err(|error| self.fault(&error))
    }

    /// The whole decoded body.
    pub(crate) fn finish(self) -> Result<Vec<u8>, Fault> {
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

    fn fault(&self, error: &io::Error) -> Fault {
        fault(error, self.max)
    }
}

fn fault(error: &io::Error, max: u64) -> Fault {
    if error.kind() == io::ErrorKind::FileTooLarge {
        return Fault::TooLarge(max);
    }
    Fault::Unreadable("is compressed, and damaged")
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn unpack(encoding: &str, max: u64, packed: &[u8]) -> Result<Vec<u8>, Fault> {
        let mut decoder = Decoder::new(encoding, max)?;
        for part in packed.chunks(7) {
            decoder.write(part)?;
        }
        decoder.finish()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = GzEncoder::new(Vec::new(), Compression::best());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    #[test]
    fn every_encoding_that_is_offered_is_unpacked() {
        let text = b"hello hello hello hello".as_slice();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::best());
        zlib.write_all(text).unwrap();
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::best());
        raw.write_all(text).unwrap();
        assert_eq!(unpack("", 100, text).unwrap(), text);
        assert_eq!(unpack("GZIP", 100, &gzip(text)).unwrap(), text);
        assert_eq!(unpack("deflate", 100, &zlib.finish().unwrap()).unwrap(), text);
        assert_eq!(unpack("deflate", 100, &raw.finish().unwrap()).unwrap(), text);
        assert_eq!(unpack("gzip", 100, b"").unwrap(), b"");
        assert_eq!(unpack("br", 100, text), Err(Fault::Encoding("br".to_owned())));
        assert_eq!(unpack("gzip, gzip", 100, text), Err(Fault::Encoding("gzip, gzip".to_owned())));
    }

    #[test]
    fn decompression_bomb_is_refused() {
        let bomb = gzip(&vec![0; 50_000_000]);
        assert!(bomb.len() < 100_000);
        assert_eq!(unpack("gzip", 1_000_000, &bomb), Err(Fault::TooLarge(1_000_000)));
        assert_eq!(unpack("", 10, b"12345678901"), Err(Fault::TooLarge(10)));
        assert_eq!(unpack("", 10, b"1234567890").unwrap().len(), 10);
    }

    #[test]
    fn a_long_body_that_unpacks_to_nothing_is_rejected() {
        let nothing = gzip(b"").repeat(100);
        assert_eq!(unpack("gzip", 1000, &nothing), Err(Fault::TooLarge(1000)));
        assert_eq!(unpack("gzip", 10_000, &nothing).unwrap(), b"");
    }

    #[test]
    fn damaged_body_is_an_error() {
        let mut packed = gzip(b"hello hello hello");
        packed.truncate(packed.len() - 9);
        assert!(matches!(unpack("gzip", 100, &packed), Err(Fault::Unreadable(_))));
        assert!(matches!(unpack("gzip", 100, b"not gzip at all"), Err(Fault::Unreadable(_))));
    }
}
