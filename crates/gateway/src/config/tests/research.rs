//! `research`: how research jobs are done.

use super::*;

#[test]
fn every_research_key_is_parsed() {
    let config = clean(
        "research:
  model: p/m
  workers: 7
  lease_seconds: 9
  attempts: 4
  expire_hours: 48
  keep_days: 5
  webhook_secret: ${LONG}
  webhook_retry: 0.5
  deep: {rounds: 2, queries: 3, pages: 4, steps: 50, tokens: 6000, seconds: 70, price_micros: 8}
",
    );
    let research = config.research;
    assert_eq!(research.model.as_deref(), Some("p/m"));
    assert_eq!((research.workers, research.attempts), (7, 4));
    assert_eq!(
        (research.lease, research.expire),
        (Duration::from_secs(9), Duration::from_hours(48))
    );
    assert_eq!(research.kept, Duration::from_hours(5 * 24));
    assert_eq!(research.webhook_secret.map(|secret| secret.reveal().to_owned()), Some(LONG.into()));
    assert_eq!(research.webhook_retry, Duration::from_millis(500));
    let deep = Depth {
        rounds: 2,
        queries: 3,
        pages: 4,
        steps: 50,
        tokens: 6000,
        time: Duration::from_secs(70),
        price_micros: Some(8),
    };
    assert_eq!(research.deep, deep);
    assert_eq!(research.quick, Research::default().quick);
}

#[test]
fn documented_depths_match_the_defaults() {
    let Research { quick, standard, deep, .. } = Research::default();
    let listed = |of: fn(&Depth) -> u64| {
        [&quick, &standard, &deep].map(|depth| of(depth).to_string()).join(", ")
    };
    let sections = schema().sections();
    let section = sections.iter().find(|section| section.name == "research.*").unwrap();
    for (name, numbers) in [
        ("rounds", listed(|depth| depth.rounds.into())),
        ("queries", listed(|depth| depth.queries.into())),
        ("pages", listed(|depth| depth.pages.into())),
        ("steps", listed(|depth| depth.steps.into())),
        ("tokens", listed(|depth| depth.tokens)),
        ("seconds", listed(|depth| depth.time.as_secs())),
    ] {
        let key = section.keys.iter().find(|key| key.name == name).unwrap();
        assert!(key.meaning.contains(&format!(": {numbers}.")), "{name}: {numbers}");
    }
}

#[test]
fn invalid_research_values_are_rejected() {
    refused(
        "research: {workers: 1001, quick: {pages: 0}, webhook_secret: \"${SHORT}\"}",
        &[
            "error 1:21: research.workers: must be a whole number from 0 to 1000",
            "error 1:42: research.quick.pages: must be a whole number from 1 to 200",
            "error 1:62: research.webhook_secret: must be at least 32 characters long (create one \
             with `openssl rand -hex 32`)",
        ],
    );
}
