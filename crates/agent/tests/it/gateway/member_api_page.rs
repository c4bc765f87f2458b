//! The `curl` lines of docs/member-api.md, pasted against `agent up`, and what they say comes back.

use std::path::Path;
use std::process::Command;

use agent_test_support::wait::eventually;
use serde_json::{Value, json};

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
            last.unwrap().answer = Some(serde_json::from_str(text).unwrap());
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
                assert!(at < got.len(), "{place} is missing");
                agree(shown, &got[at], &place);
            }
        }
        (Value::Object(shown), Value::Object(got)) => {
            for (name, shown) in shown {
                let place = format!("{place}.{name}");
                assert!(got.contains_key(name), "{place} is missing");
                agree(shown, &got[name], &place);
            }
        }
        _ => assert_eq!(shown, got, "{place}"),
    }
}

#[test]
fn every_command_of_the_page_runs() {
    let machine = Machine::new();
    let served = machine.start();
    let folder = tempfile::tempdir().unwrap();
    publish(&machine, folder.path());
    let base = format!("http://{}/v1", served.address);
    let mut variables = vec![
        ("AGENT_BASE_URL", base),
        ("AGENT_API_KEY", machine.key()),
        ("MODEL", "ollama/echo".to_owned()),
    ];
    let run = |line: &str, variables: &[(&str, String)]| {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(folder.path());
        let output = shell.envs(variables.iter().map(|(name, value)| (name, value))).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let examples = examples(include_str!("../../../../../docs/member-api.md"));
    assert!(examples.len() >= 16, "{}", examples.len());
    let answer = |word: &str, variables: &[(&str, String)]| -> Value {
        let found = examples.iter().find(|example| example.line.contains(word));
        let line = &found.unwrap_or_else(|| panic!("no line with {word}")).line;
        let printed = run(line, variables);
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
    };
    // What lines need from the answers to others.
    let mut found = Value::Null;
    eventually("the documents and the voices are found", || {
        let listed = answer("/capabilities", &variables);
        let speech = listed["data"].as_array().unwrap().iter().find(|it| it["id"] == "speech");
        found = json!({"voice": speech.unwrap()["models"][0]["id"],
            "page": answer("/search", &variables)["results"][0]["url"]});
        found["voice"].is_string() && found["page"].is_string()
    });
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    variables.push(("VOICE", text(&found["voice"])));
    variables.push(("PAGE", text(&found["page"])));
    let made = answer("/media/run", &variables);
    variables.push(("ARTIFACT", text(&made["artifacts"][0]["url"])));
    let job = text(&answer("/research/jobs\"", &variables)["id"]);
    variables.push(("RECEIPT", text(&made["id"]).replace("run_", "req_")));
    variables.push(("JOB", job));
    for Example { line, answer } in &examples {
        let printed = run(line, &variables);
        let Some(shown) = answer else {
            let is_good = !printed.is_empty() && !printed.contains("\"error\": ");
            assert!(is_good, "{line}{printed}");
            continue;
        };
        let got = serde_json::from_str(&printed);
        let got = got.unwrap_or_else(|error| panic!("{error}: {line}{printed}"));
        agree(shown, &got, &format!("{line}{printed}\nanswer"));
    }
}

/// Publishes a file, as the operator does.
fn publish(machine: &Machine, folder: &Path) {
    let file = folder.join("agent-linux-x86_64");
    std::fs::write(&file, "a program").unwrap();
    machine.json(&["downloads", "key"]);
    machine.json(&["downloads", "publish", "--version", "1.0.0", file.to_str().unwrap()]);
}
