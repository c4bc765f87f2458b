//! Tests of `chat_record`.

use super::*;

const HEAD: &str = "{\"id\":\"a\",\"created\":\"2026-01-01T00:00:00Z\",\"model\":\"m\"}\n";
const USER: &str = "{\"role\":\"user\",\"text\":\"hi\"}\n";

fn read_text(text: &str) -> Result<ParsedRecord, RecordError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, text).unwrap();
    ParsedRecord::read(&path)
}

#[test]
fn a_truncated_last_line_is_ignored() {
    let whole = format!("{HEAD}{USER}");
    for torn in ["{\"role\":\"assist", "{\"role\":\"user\",\"text\":\"ho\"}", "\u{0}\u{0}\n"] {
        let read = read_text(&format!("{whole}{torn}")).unwrap();
        assert!(read.is_torn, "{torn:?}");
        assert_eq!((read.messages.len(), read.good), (1, whole.len() as u64), "{torn:?}");
    }
    assert!(!read_text(&whole).unwrap().is_torn);
}

#[test]
fn a_damaged_line_in_the_middle_is_reported_with_its_number() {
    let error = read_text(&format!("{HEAD}nonsense\n{USER}")).unwrap_err();
    assert!(error.to_string().contains("a.jsonl:2: invalid line"), "{error}");
    assert!(read_text("").is_err());
    assert!(read_text("{}\n").is_err());
}

#[test]
fn models_and_costs_are_accumulated() {
    let text = format!(
        "{HEAD}{USER}{{\"spent\":{{\"model_calls\":2,\"charge_micros\":5}}}}\n{{\"model\":\"n\"}}\n\
             {{\"spent\":{{\"model_calls\":1}}}}\n"
    );
    let read = read_text(&text).unwrap();
    assert_eq!((read.spent.model_calls, read.spent.charge_micros), (3, 5));
    assert_eq!((&*read.model, &*read.head.model), ("n", "m"));
}

#[test]
fn a_summary_within_a_turn_keeps_its_question() {
    let round = "{\"role\":\"assistant\",\"text\":\"a\"}\n";
    let text = |kept| format!("{HEAD}{USER}{round}{round}{{\"summary\":\"s\",\"kept\":{kept}}}\n");
    let messages = read_text(&text(1)).unwrap().messages;
    assert_eq!(messages[..2], [Message::summary("s"), Message::user("hi")]);
    assert_eq!(messages.len(), 3);
    // A finished turn is summarised with its question.
    assert_eq!(read_text(&text(0)).unwrap().messages, [Message::summary("s")]);
}
