//! Tests of `download`.

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
fn signed_bytes_match_the_documentation() {
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
fn the_signature_covers_the_expiry() {
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
fn the_signature_does_not_cover_the_url() {
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
fn any_changed_byte_is_detected() {
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
fn missing_duplicate_and_reordered_files_are_detected() {
    let manifest = signed(vec![file("a"), file("b")]);
    let with = |files: Vec<File>| Manifest { files, ..manifest.clone() }.verify(&public(&key(7)));
    assert_eq!(with(vec![file("a"), file("b")]), Ok(()));
    assert_eq!(with(vec![file("a")]), Err(Unfit::Signature));
    assert_eq!(with(vec![file("b"), file("a")]), Err(Unfit::Field("files")));
    assert_eq!(with(vec![file("a"), file("a"), file("b")]), Err(Unfit::Field("files")));
    assert_eq!(with(Vec::new()), Err(Unfit::Field("files")));
    let many = (0..=MAX_FILES).map(|number| file(&format!("f{number:04}"))).collect();
    assert_eq!(with(many), Err(Unfit::Field("files")));
}

#[test]
fn file_names_cannot_contain_paths() {
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
