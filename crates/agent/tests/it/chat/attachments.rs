//! Images whose paths a person types or pastes.

use std::fs;

use agent_test_support::upstream::Step;

use super::Fixture;

pub(crate) const IMAGE: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\
    \0\0\0\nIDATx\x9cch\0\0\0\x82\0\x81w\xcdr\xb6\0\0\0\0IEND\xaeB`\x82";

#[test]
fn typed_file_paths_are_attached_and_saved() {
    let fixture = Fixture::new();
    let image = fixture.agent.work().join("my shot.png");
    fs::write(&image, IMAGE).unwrap();
    fixture.script(vec![Step::Echo]);
    let mut screen = fixture.person(&[]);
    let said = screen.says(&format!("What is '{}'?", image.display()));
    assert!(said.contains("I saw 1 image") && said.contains("attached "), "{said}");
    let history = screen.says("/history");
    assert!(history.contains("[image/png, "), "{history}");
    screen.types("\x04");
    assert_eq!(screen.finish().0, 0);
    // The image is part of the conversation that is resumed.
    fixture.script(vec![Step::Echo]);
    let run = fixture.piped(&["--resume"], "And now?\n");
    assert_eq!(run.stdout, "I saw 1 image\n", "{run:?}");
}

#[test]
fn file_paths_in_piped_text_are_not_attached() {
    let fixture = Fixture::new();
    let image = fixture.agent.work().join("shot.png");
    fs::write(&image, IMAGE).unwrap();
    fixture.script(vec![Step::Echo]);
    let message = format!("What is {}?\n", image.display());
    let run = fixture.piped(&[], &message);
    assert_eq!(run.stdout, message, "{run:?}");
}
