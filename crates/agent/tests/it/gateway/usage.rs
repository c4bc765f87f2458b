//! What was used, as members and operators see it.

use super::{Fixture, settings};

#[test]
fn usage_is_shown_summed_and_repaired() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    let served = fixture.serve();
    for _ in 0..2 {
        let (status, body) = served.chat(&key, "test/echo");
        assert_eq!(status, 200, "{body}");
    }
    let usage = fixture.json(["usage", "--by", "day,member"]);
    let line = &usage["data"][0];
    assert_eq!((&line["requests"], &line["charged_micros"]), (&2.into(), &2000.into()));
    let path = fixture.agent.home().join("gateway/gateway.sqlite3");
    let books = rusqlite::Connection::open(path).unwrap();
    books.execute("UPDATE usage SET requests = requests + 1", []).unwrap();
    drop(books);
    let wrong = fixture.run(["ledger", "check"]);
    assert!(wrong.code == 1 && wrong.stdout.contains("usage"), "{wrong:?}");
    assert_eq!(fixture.run(["ledger", "check", "--repair-usage"]).code, 0);
    let runs = [
        fixture.transcript(["usage", "--by", "member,model,provider"]),
        fixture.transcript(["usage", "--member", "alice", "--by", "operation", "--csv"]),
        fixture.transcript(["usage", "--to", "2020-01-01"]),
        fixture.transcript(["usage", "--by", "week"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
}
