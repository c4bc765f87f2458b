//! The `curl` lines of docs/member-api.md, pasted against `agent up`, and what they say comes back.

use std::process::Command;

use serde_json::Value;

use super::up::Machine;

/// A line to paste, and the answer that is shown after it.
struct Example {
    line: String,
    answer: Option<Value>,
}

/// What the page shows, in its order.
fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut blocks = page.split("```");
    let _ = blocks.next();
    // A block, then the text behind it.
    while let (Some(block), rest) = (blocks.next(), blocks.next()) {
        let (kind, text) = block.split_once('\n').unwrap_or_default();
        if kind == "sh" && text.starts_with("curl ") {
            examples.push(Example { line: text.to_owned(), answer: None });
        } else if kind == "json" {
            let last = examples.last_mut().filter(|example| example.answer.is_none());
            let answer =
                serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
            last.unwrap_or_else(|| panic!("no line before {text}")).answer = Some(answer);
        }
        if rest.is_none() {
            break;
        }
    }
    examples
}

/// Fails unless all that is shown is there: texts as they are shown, `…` for whatever varies,
/// numbers of any size, and null for what need not be there.
#[track_caller]
fn agree(shown: &Value, got: &Value, place: &str) {
    match (shown, got) {
        (Value::Null, _) | (Value::Number(_), Value::Number(_)) => {}
        (Value::String(shown), Value::String(got)) => {
            let (begin, end) = match shown.split_once('…') {
                Some(both) => both,
                None => (shown.as_str(), ""),
            };
            let agrees = if shown.contains('…') {
                got.starts_with(begin) && got.ends_with(end)
            } else {
                got == begin
            };
            assert!(agrees, "{place}: {got:?} where {shown:?} is shown");
        }
        (Value::Array(shown), Value::Array(got)) => {
            for (at, shown) in shown.iter().enumerate() {
                let place = format!("{place}[{at}]");
                agree(shown, got.get(at).unwrap_or_else(|| panic!("{place} is missing")), &place);
            }
        }
        (Value::Object(shown), Value::Object(got)) => {
            for (name, shown) in shown {
                let place = format!("{place}.{name}");
                agree(shown, got.get(name).unwrap_or_else(|| panic!("{place} is missing")), &place);
            }
        }
        _ => assert_eq!(shown, got, "{place}"),
    }
}

#[test]
fn every_line_of_the_page_works_when_it_is_pasted() {
    let machine = Machine::new();
    let served = machine.start();
    let base = format!("http://{}/v1", served.address);
    let key = machine.key();
    let run = |line: &str, more: &[(&str, &str)]| {
        let output = Command::new("sh")
            .args(["-c", line])
            .env("AGENT_BASE_URL", &base)
            .env("AGENT_API_KEY", &key)
            .env("MODEL", "ollama/echo")
            .envs(more.iter().copied())
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let page = include_str!("../../../../../docs/member-api.md");
    let examples = examples(page);
    assert!(examples.len() >= 9, "{}", examples.len());
    let find = |word: &str| {
        let found = examples.iter().find(|example| example.line.contains(word));
        found.unwrap_or_else(|| panic!("no line with {word}")).line.clone()
    };
    // What later lines need from earlier answers.
    let heads =
        run(&find("/chat/completions").replacen("curl ", "curl -D - -o /dev/null ", 1), &[]);
    let receipt = heads.lines().find_map(|line| line.strip_prefix("x-receipt-id: ")).unwrap();
    let mut page = String::new();
    agent_test_support::wait::eventually("the documents are found", || {
        let found: Value = serde_json::from_str(&run(&find("/search"), &[])).unwrap();
        page = found["results"][0]["url"].as_str().unwrap_or_default().to_owned();
        !page.is_empty()
    });
    let more = [("RECEIPT", receipt.trim()), ("PAGE", &page)];
    for Example { line, answer } in &examples {
        let printed = run(line, &more);
        match answer {
            Some(shown) => {
                let got = serde_json::from_str(&printed)
                    .unwrap_or_else(|error| panic!("{error}: {line}{printed}"));
                agree(shown, &got, &format!("{line}{printed}\nanswer"));
            }
            None => {
                assert!(!printed.is_empty() && !printed.contains("\"error\""), "{line}{printed}")
            }
        }
    }
}
