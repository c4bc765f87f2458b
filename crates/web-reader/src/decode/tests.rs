//! Tests of `decode`.

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
fn every_offered_encoding_is_decoded() {
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
fn decompression_bomb_is_rejected() {
    let bomb = gzip(&vec![0; 50_000_000]);
    assert!(bomb.len() < 100_000);
    assert_eq!(unpack("gzip", 1_000_000, &bomb), Err(Fault::TooLarge(1_000_000)));
    assert_eq!(unpack("", 10, b"12345678901"), Err(Fault::TooLarge(10)));
    assert_eq!(unpack("", 10, b"1234567890").unwrap().len(), 10);
}

#[test]
fn a_long_body_that_decodes_to_nothing_is_rejected() {
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
