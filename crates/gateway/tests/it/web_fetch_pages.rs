//! A collection of pages, each with what must be found in it and what must not.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::site::{Setup, Site, ok};

/// What is expected of one page.
struct Expected {
    name: String,
    kind: String,
    format: String,
    /// Whether it is sent in two bytes a character.
    is_wide: bool,
    lines: Vec<(String, String)>,
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages")
}

fn collection() -> Vec<Expected> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".html").map(str::to_owned))
        .collect();
    names.sort();
    names.into_iter().map(expected).collect()
}

fn expected(name: String) -> Expected {
    let text = std::fs::read_to_string(folder().join(format!("{name}.expect"))).unwrap();
    let mut expected = Expected {
        name,
        kind: "text/html".into(),
        format: "markdown".into(),
        is_wide: false,
        lines: Vec::new(),
    };
    for line in text.lines() {
        let (key, value) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
        match key {
            "type" => value.clone_into(&mut expected.kind),
            "format" => value.clone_into(&mut expected.format),
            "encoding" => expected.is_wide = value == "utf-16",
            _ => expected.lines.push((key.to_owned(), unescaped(value))),
        }
    }
    assert!(!expected.lines.is_empty(), "{} expects nothing", expected.name);
    expected
}

/// `\n` and `\t` as what they stand for, `\\` as one.
fn unescaped(text: &str) -> String {
    text.replace("\\\\", "\u{0}").replace("\\n", "\n").replace("\\t", "\t").replace('\u{0}', "\\")
}

/// A text in two bytes a character, with its mark.
fn wide(bytes: &[u8]) -> Vec<u8> {
    let text = format!("\u{feff}{}", str::from_utf8(bytes).unwrap());
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// What is wrong with a page as it was read.
fn faults(expected: &Expected, page: &Value, port: u16) -> Vec<String> {
    let content = page["content"].as_str().unwrap_or_default();
    let mut faults = Vec::new();
    for (key, value) in &expected.lines {
        let value = value.replace("PORT", &port.to_string());
        let field = |name: &str| page[name].as_str().unwrap_or_default() == value;
        let holds = match key.as_str() {
            "has" => content.contains(&value),
            "not" => !content.contains(&value),
            "order" => {
                let mut rest = content;
                value.split(" || ").all(|part| match rest.split_once(part) {
                    Some((_, after)) => {
                        rest = after;
                        true
                    }
                    None => false,
                })
            }
            "link" => page["links"].as_array().unwrap().iter().any(|link| link["url"] == value),
            "title" => field("title"),
            "byline" => field("byline"),
            "published" => field("published_at"),
            "language" => field("language"),
            other => panic!("{other} is nothing that can be expected"),
        };
        if !holds {
            faults.push(format!("{key}: {value:?}"));
        }
    }
    faults
}

#[test]
fn every_page_of_the_collection_is_extracted_as_expected() {
    let collection = collection();
    assert!(collection.len() >= 60, "{}", collection.len());
    let site = Site::start(|asked, stream| {
        let Some(name) = asked.path.strip_prefix("/page/") else {
            return stream.write_all(&crate::site::plain(404, "no"));
        };
        let bytes = std::fs::read(folder().join(format!("{name}.html"))).unwrap();
        let expected = expected(name.to_owned());
        let bytes = if expected.is_wide { wide(&bytes) } else { bytes };
        stream.write_all(&ok(&expected.kind, &bytes))
    });
    let setup = Setup::new(&site, "");
    let (mut table, mut checks, mut wrong) = (String::new(), 0, 0);
    for expected in &collection {
        // The addresses of the collection are those of pages at the root.
        let url = site.url(&format!("/page/{}", expected.name));
        let answer = setup.ask(&json!({"url": url, "format": expected.format}));
        let page = answer.json();
        let mut text = page.to_string();
        text = text.replace(&site.url("/page/"), &site.url("/"));
        let page: Value = serde_json::from_str(&text).unwrap();
        let faults = if answer.status == 200 {
            faults(expected, &page, site.address.port())
        } else {
            vec![answer.text().to_owned()]
        };
        checks += expected.lines.len();
        wrong += usize::from(!faults.is_empty());
        if !faults.is_empty() {
            let content = page["content"].as_str().unwrap_or_default();
            let _ =
                writeln!(table, "{}: {faults:#?}\n{}\n{content}\n", expected.name, page["title"]);
        }
    }
    let all = collection.len();
    let count = format!("{} of {all} pages as expected, {checks} expectations", all - wrong);
    assert_eq!(wrong, 0, "{count}\n{table}");
    eprintln!("{count}");
}
