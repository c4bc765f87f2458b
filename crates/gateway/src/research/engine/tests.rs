//! The order of steps, and what ends it.

use super::*;

fn bounds() -> Bounds {
    Bounds { rounds: 2, queries: 2, pages: 4, steps: 40, tokens: 1000, seconds: 60 }
}

fn hit(name: &str) -> Hit {
    Hit { title: name.to_owned(), url: format!("https://{name}.example") }
}

fn page(name: &str, text: Option<&str>) -> Output {
    let Hit { title, url } = hit(name);
    let text = text.map(str::to_owned);
    let (sha256, fetched_at, fault) = (String::new(), String::new(), None);
    Output::Read { page: Page { url, title, text, sha256, fetched_at, fault } }
}

fn note(name: &str, quotes: &[&str]) -> Output {
    let notes = quotes.iter().map(|quote| Note { quote: (*quote).to_owned() }).collect();
    Output::Note { url: hit(name).url, notes, spent: TokenUse { input: 10, output: 1 } }
}

fn plan(queries: &[&str]) -> Output {
    let queries = queries.iter().map(|query| (*query).to_owned()).collect();
    Output::Plan { queries, spent: TokenUse::default() }
}

fn kinds(state: &State) -> &'static str {
    state.next(&bounds(), 0).map_or("done", |step| step.kind())
}

#[test]
fn a_job_runs_its_steps_in_order() {
    let mut state = State::default();
    assert_eq!(kinds(&state), "plan");
    state.add(plan(&["q1", "q2"]));
    assert_eq!(state.next(&bounds(), 0), Some(Step::Search { query: "q1".to_owned() }));
    state.add(Output::Search { hits: vec![hit("a"), hit("b")] });
    state.add(Output::Search { hits: vec![hit("c"), hit("a")] });
    // The best of each search first, no page twice, and one that fails makes room.
    assert_eq!(state.next(&bounds(), 0), Some(Step::Read { hit: hit("a") }));
    state.add(page("a", None));
    assert_eq!(state.next(&bounds(), 0), Some(Step::Read { hit: hit("c") }));
    state.add(page("c", Some("text")));
    assert_eq!(state.next(&bounds(), 0), Some(Step::Note { url: hit("c").url }));
    state.add(note("c", &["quote"]));
    state.add(page("b", Some("text")));
    state.add(note("b", &["quote"]));
    // Half of the pages are for the second round.
    assert_eq!(kinds(&state), "plan");
    state.add(plan(&["q3"]));
    state.add(Output::Search { hits: vec![hit("b"), hit("d")] });
    state.add(page("d", Some("text")));
    state.add(note("d", &[]));
    assert_eq!(kinds(&state), "write");
    state.add(Output::Write { markdown: "draft".to_owned(), spent: TokenUse::default() });
    assert_eq!(kinds(&state), "check");
    state.add(Output::Check { markdown: "report".to_owned() });
    assert_eq!(kinds(&state), "done");
    // Sources have the numbers in which they were read, and those that say nothing have none.
    let result = state.result();
    let urls: Vec<&str> = result["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| source["url"].as_str().unwrap())
        .collect();
    assert_eq!(urls, ["https://c.example", "https://b.example"]);
    assert_eq!(result["sources"][1]["n"], 2);
}

#[test]
fn every_limit_ends_the_search_phase() {
    let mut state = State::default();
    state.add(plan(&["q1", "q2"]));
    let next = |bounds: &Bounds, seconds| state.next(bounds, seconds).map(|step| step.kind());
    assert_eq!(next(&bounds(), 59), Some("search"));
    assert_eq!(next(&bounds(), 60), Some("write"));
    assert_eq!(next(&Bounds { steps: 3, ..bounds() }, 0), Some("write"));
    assert_eq!(next(&Bounds { steps: 4, ..bounds() }, 0), Some("search"));
    assert_eq!(next(&Bounds { tokens: 0, ..bounds() }, 0), Some("write"));
}

#[test]
fn a_state_is_restored_from_its_steps() {
    let outputs = [plan(&["q"]), Output::Search { hits: vec![hit("a")] }, page("a", Some("t"))];
    let stored: Vec<JobStep> = (0..)
        .zip(&outputs)
        .map(|(number, output)| JobStep {
            number,
            kind: "any".to_owned(),
            attempt: 1,
            detail: Vec::new(),
            output: Some(serde_json::to_vec(output).unwrap()),
            started_at: ledger::Time::default(),
            finished_at: ledger::Time::default(),
        })
        .collect();
    let state = State::from_steps(&stored).unwrap();
    assert_eq!(state.next(&bounds(), 0), Some(Step::Note { url: hit("a").url }));
    let progress = state.progress(&bounds(), state.next(&bounds(), 0).as_ref());
    assert_eq!((progress.done, progress.total, &*progress.step), (3, 16, "note"));
    assert!(State::from_steps(&[JobStep { output: None, ..stored[0].clone() }]).is_err());
}
