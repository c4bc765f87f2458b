//! Tests of `key`.

use super::*;

fn key() -> ApiKey {
    let mut bytes = [0; RANDOM_BYTES];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::try_from(index * 3).unwrap();
    }
    ApiKey::from_random(&bytes).unwrap()
}

#[test]
fn a_key_round_trips() {
    let key = key();
    let again = ApiKey::parse(key.as_str()).unwrap();
    assert_eq!(again, key);
    assert_eq!((again.public_id().len(), again.secret().len()), (12, 33));
    assert!(key.as_str().starts_with(&format!("agk_{}_{}", key.public_id(), key.secret())));
}

#[test]
fn any_changed_character_is_detected() {
    let text = key().as_str().to_owned();
    for index in 0..text.len() {
        let mut changed = text.clone().into_bytes();
        changed[index] = if changed[index] == b'x' { b'y' } else { b'x' };
        assert_eq!(ApiKey::parse(&String::from_utf8(changed).unwrap()), None, "at {index}");
    }
    assert_eq!(ApiKey::parse(&text[..text.len() - 1]), None);
    assert_eq!(ApiKey::parse(&format!("{text}0")), None);
    assert_eq!(ApiKey::parse(""), None);
}

#[test]
fn debug_output_of_a_key_contains_no_secret() {
    let key = key();
    assert!(!format!("{key:?}").contains(key.secret()));
}

#[test]
fn biased_random_bytes_are_rejected() {
    assert_eq!(ApiKey::from_random(&[255; RANDOM_BYTES]), None);
}
