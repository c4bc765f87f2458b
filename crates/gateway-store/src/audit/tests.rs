//! Tests of `audit`.

use super::*;

#[test]
fn digest_covers_every_field_and_the_previous_digest() {
    let actor = Actor { name: "cli:a".to_owned(), request: Some(String::new()) };
    let first = AuditEntry {
        id: 1,
        at: Time::from_micros(5),
        actor,
        action: "member.create".to_owned(),
        subject: "mem_1".to_owned(),
        detail: "{}".to_owned(),
        digest: [0; 32],
    };
    let mut others = vec![first.clone(); 8];
    others[1].id = 2;
    others[2].at = Time::from_micros(6);
    others[3].actor.name = "cli:b".to_owned();
    others[4].actor.request = None;
    others[5].action = "member.createm".to_owned();
    others[5].subject = "em_1".to_owned();
    others[6].subject = "mem_2".to_owned();
    others[7].detail = "{ }".to_owned();
    let mut digests: Vec<_> = others.iter().map(|entry| entry.digest_after(&[0; 32])).collect();
    digests.push(first.digest_after(&[1; 32]));
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 9);
}
