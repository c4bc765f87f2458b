//! `agent me` and `agent models`.

use serde_json::Value;

use super::{MemberFixture, told};

#[test]
fn every_command_has_a_help_page_with_examples() {
    let agent = crate::command_line::agent();
    for command in [
        "me", "usage", "models", "search", "fetch", "research", "research start", "research list",
        "research show", "research watch", "research cancel", "media", "media list", "media run",
    ] {
        let help = agent.run(command.split(' ').chain(["--help"]));
        let is_whole = help.stdout.contains("Examples:")
            && help.stdout.contains(&format!("  agent {command}"))
            && (help.stdout.contains("--wait") || help.stdout.contains("Commands:"));
        assert!(help.code == 0 && is_whole, "{command}: {}", help.stdout);
    }
}

#[test]
fn usage_is_shown_with_its_total() {
    let club = MemberFixture::new();
    let served = club.serve();
    for word in ["sky", "blue"] {
        club.run(&served, &["search", word]);
    }
    let runs = [
        club.run(&served, &["usage", "--by", "operation,provider"]).transcript(),
        club.run(&served, &["usage", "--by", "operation", "--csv"]).transcript(),
        club.run(&served, &["usage", "--from", "today"]).transcript(),
    ];
    told(&club, "usage", &runs.join("\n"));
    assert_eq!(club.json(&served, &["usage"])["total"]["requests"], 2);
}

#[test]
fn the_account_is_shown_with_its_limits() {
    let club = MemberFixture::new();
    let served = club.serve();
    let run = club.run(&served, &["me"]);
    told(&club, "me", &run.transcript());
    let limits =
        ["--rpm", "30", "--concurrency", "2", "--spend-limit", "1", "--models", "test/echo"];
    let key = club.other_key(&[&limits[..], &["--scopes", "models,chat"]].concat());
    let run = club.run_with(&served, &key, &["me"]);
    assert!(
        run.stdout.contains("limits      30 requests per minute, 2 concurrent requests\n"),
        "{run:?}"
    );
    assert!(run.stdout.contains("key spent   0 of 1 credits\n"), "{run:?}");
    assert!(run.stdout.contains("scopes      models, chat\n"), "{run:?}");
    let me = club.json(&served, &["me"]);
    assert_eq!((&me["object"], &me["balance_micros"]), (&"member".into(), &10_000_000.into()));
}

#[test]
fn models_are_listed_with_prices() {
    let club = MemberFixture::new();
    let served = club.serve();
    told(&club, "models", &club.run(&served, &["models"]).transcript());
    told(
        &club,
        "models_for_images",
        &club.run(&served, &["models", "--capability", "image"]).transcript(),
    );
    let wrong = club.run(&served, &["models", "--capability", "imge"]);
    told(&club, "models_for_nothing", &wrong.transcript());
    let listed = club.json(&served, &["models"]);
    assert_eq!(listed["object"], "list");
    assert_eq!(listed["data"].as_array().unwrap().len(), 4);
    let chat = club.json(&served, &["models", "--capability", "chat"]);
    let ids: Vec<&Value> = chat["data"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, ["test/echo", "test/gate-mid"]);
    let searched = club.run(&served, &["models", "--capability", "web_search"]);
    assert!(searched.stdout.contains("docs   web_search    0.004"), "{searched:?}");
}

#[test]
fn an_unusable_model_is_listed_with_the_reason() {
    let club = MemberFixture::new();
    let served = club.serve();
    let key = club.other_key(&["--scopes", "models,chat"]);
    let run = club.run_with(&served, &key, &["models"]);
    told(&club, "models_without_scopes", &run.transcript());
    let run = club.run_with(&served, &key, &["models", "--capability", "speech"]);
    assert_eq!(run.code, 0, "{run:?}");
    let why = "speech is unavailable: this key lacks the scope `media`";
    assert!(run.stderr.contains(why), "{run:?}");
    // A provider that is away when the service starts fails its first probe.
    drop(served);
    club.fixture.upstream.go_down();
    let served = club.serve();
    agent_test_support::wait::eventually("the probe has failed", || {
        let run = club.run(&served, &["models", "--capability", "chat"]);
        run.stdout.contains("unavailable: ")
    });
}
