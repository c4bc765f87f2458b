//! Heuristics for prompt injection in tool descriptions.
//!
//! A match is a reason to warn, not a proof.

/// The suspicious phrases of a description; empty for ordinary ones.
pub fn injection_warnings(description: &str) -> Vec<&'static str> {
    let lower = description.to_lowercase();
    let words = lower.split_whitespace().collect::<Vec<_>>().join(" ");
    let any = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    let rules: [(&str, bool); 10] = [
        ("it tells the model to ignore earlier instructions", overrides(&words)),
        ("it gives the model a new role", any(&["you are now a", "you are now the"])),
        ("it gives the model a new task", any(&["new task:", "your new task"])),
        ("it impersonates the system", lower.lines().any(speaks_as_system)),
        (
            "it contains chat role tags",
            any(&[
                "<system>", "</system>", "<assistant>", "</assistant>", "<user>", "</user>",
                "<|im_start|>", "<|im_end|>", "[inst]", "[/inst]",
            ]),
        ),
        (
            "it asks the model to hide something from the user",
            any(&[
                "do not tell", "don't tell", "never tell the user", "do not mention this",
                "do not inform the user", "without telling the user", "do not reveal",
            ]),
        ),
        ("it contains a shell command that fetches from the network", lower.lines().any(fetches)),
        (
            "it decodes base64",
            any(&["base64 -d", "base64 --decode", "base64 decode", "b64decode", "atob("]),
        ),
        ("it evaluates code", calls(&words, "exec(") || calls(&words, "eval(")),
        (
            "it imports modules with system access",
            any(&[
                "import os", "import subprocess", "import socket", "import shutil", "__import__",
                "child_process",
            ]),
        ),
    ];
    rules.into_iter().filter_map(|(meaning, found)| found.then_some(meaning)).collect()
}

/// Matches "ignore", then "previous" or a synonym, then "instructions" or a synonym, each within
/// four words.
fn overrides(words: &str) -> bool {
    const NEAR: usize = 4;
    let words: Vec<&str> = words.split(' ').collect();
    let near = |from: usize, wanted: &[&str]| {
        (from..words.len().min(from + NEAR))
            .find(|&at| wanted.iter().any(|one| words[at].contains(one)))
    };
    words.iter().enumerate().any(|(at, word)| {
        ["ignore", "disregard", "forget"].iter().any(|verb| word.ends_with(verb))
            && near(at + 1, &["previous", "prior", "above", "earlier", "all"])
                .and_then(|at| near(at + 1, &["instruction", "prompt", "rules", "directions"]))
                .is_some()
    })
}

fn speaks_as_system(line: &str) -> bool {
    line.match_indices("system:").any(|(at, _)| {
        let before = line[..at].trim_end();
        before.is_empty()
            || before.ends_with(['.', '!', '?', ';', ':', '"', '\'', '`', '>', ')', '*', '#'])
    })
}

fn fetches(line: &str) -> bool {
    ["curl ", "wget "]
        .iter()
        .any(|program| line.split_once(program).is_some_and(|(_, rest)| rest.contains("http")))
}

fn calls(text: &str, call: &str) -> bool {
    text.match_indices(call).any(|(at, _)| {
        !text[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
    })
}

#[cfg(test)]
mod tests;
