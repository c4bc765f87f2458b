//! Tests of `digest`.

use super::*;

const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[test]
fn a_digest_is_written_as_it_is_read() {
    let digest = Digest::parse(ABC).unwrap();
    assert_eq!(digest.to_string(), ABC);
    assert_eq!(Digest::parse(&ABC.to_uppercase()), Some(digest));
    for wrong in ["", &ABC[1..], &format!("{ABC}0"), &ABC.replace('b', "x"), &"ä".repeat(32)] {
        assert_eq!(Digest::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn a_digest_is_that_of_all_bytes() {
    let (count, context) = hash(&mut &b"abc"[..]).unwrap();
    assert_eq!((count, Digest::of(&context).to_string().as_str()), (3, ABC));
}
