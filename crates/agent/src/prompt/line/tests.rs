//! Tests of `line`.

use super::*;

/// What is read of these bytes, and what is shown meanwhile.
fn typed(bytes: &[u8]) -> (Option<LineInput>, String) {
    let (mut editor, mut shown) = (Editor::new(&["skip", "cancel", "s"]), String::new());
    for byte in bytes {
        let typed = editor.take(*byte);
        shown.push_str(&editor.redraw());
        if typed.is_some() {
            return (typed, shown);
        }
    }
    (None, shown)
}

fn line(bytes: &[u8]) -> String {
    match typed(bytes).0 {
        Some(LineInput::Line(line)) => line,
        other => format!("{other:?}"),
    }
}

#[test]
fn a_line_ends_with_newline_or_carriage_return() {
    assert_eq!(line(b"skip\n"), "skip");
    assert_eq!(line(b"skip\r"), "skip");
    assert_eq!(line(b"\n"), "");
    assert_eq!(typed(b"skip").0, None);
}

#[test]
fn typed_characters_can_be_erased() {
    assert_eq!(line(b"skop\x7f\x7fip\n"), "skip");
    assert_eq!(line(b"\x7f\x08abc\x15x\n"), "x");
    assert_eq!(typed(b"sk\x7f").1, "s\x08 \x08sk\x08 \x08\x08 \x08s");
}

#[test]
fn end_of_input_is_recognised_only_on_an_empty_line() {
    assert_eq!(typed(b"\x04").0, Some(LineInput::Ended));
    assert_eq!(line(b"a\x04b\n"), "ab");
}

#[test]
fn escape_sequences_are_ignored() {
    assert_eq!(line(b"a\x1b[A\x1b[1;5C\x1bOPb\x07\n"), "ab");
    // As terminals mark what is pasted.
    assert_eq!(line(b"\x1b[200~http://x\x1b[201~\n"), "http://x");
}

#[test]
fn pasted_code_is_not_echoed() {
    let pasted = b"http://127.0.0.1:27890/callback?code=topsecret&state=x\n";
    let (read, shown) = typed(pasted);
    for piece in ["http", "127", "code", "topsecret", "state"] {
        assert!(!shown.contains(piece), "{piece}: {shown}");
    }
    assert!(shown.ends_with("(54 characters)"), "{shown}");
    // Whole pieces are shown at once.
    let mut editor = Editor::new(&["skip", "cancel", "s"]);
    assert!(b"topsecret".iter().all(|byte| editor.take(*byte).is_none()));
    assert_eq!((editor.redraw(), editor.redraw()), ("(9 characters)".into(), String::new()));
    assert!(
        matches!(read, Some(LineInput::Line(line)) if line.ends_with("code=topsecret&state=x"))
    );
}

#[test]
fn without_keywords_only_the_input_length_is_shown() {
    let mut editor = Editor::new(&[]);
    let shown =
        |editor: &mut Editor, byte| editor.take(byte).map_or(editor.redraw(), |_| "?".into());
    assert_eq!(shown(&mut editor, b's'), "(1 character)");
    assert!(shown(&mut editor, 0x7f).ends_with("\x08 \x08"));
}

#[test]
fn lines_may_exceed_the_terminal_limit_but_are_bounded() {
    let long = |length: usize| {
        let mut editor = Editor::new(&["skip", "cancel", "s"]);
        assert!((0..length).all(|_| editor.take(b'x').is_none()));
        match editor.take(b'\n') {
            Some(LineInput::Line(line)) => line.len(),
            _ => 0,
        }
    };
    assert_eq!(long(5000), 5000);
    assert_eq!(long(MAX_LINE_BYTES + 5), MAX_LINE_BYTES);
}

#[test]
fn non_ascii_input_is_preserved() {
    assert_eq!(line("grün\n".as_bytes()), "grün");
    assert_eq!(line(b"\xff\n"), "\u{fffd}");
}
