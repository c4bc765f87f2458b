//! Tests of `digest`.

use super::*;

const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[test]
fn digests_round_trip_through_text() {
    let digest = Digest::parse(ABC).unwrap();
    assert_eq!(digest.to_string(), ABC);
    assert_eq!(Digest::parse(&ABC.to_uppercase()), Some(digest));
    for wrong in ["", &ABC[1..], &format!("{ABC}0"), &ABC.replace('b', "x"), &"ä".repeat(32)] {
        assert_eq!(Digest::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn digest_covers_all_bytes() {
    let (count, context) = hash(&mut &b"abc"[..]).unwrap();
    assert_eq!((count, Digest::of(&context).to_string().as_str()), (3, ABC));
}
