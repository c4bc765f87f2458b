//! Tests of `preview`.

use super::*;

fn of(variables: &[(&str, &str)]) -> Option<Protocol> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Protocol::of(&variables.iter().map(own).collect())
}

#[test]
fn image_protocol_is_detected_from_the_environment() {
    assert_eq!(of(&[("KITTY_WINDOW_ID", "1")]), Some(Protocol::Kitty));
    assert_eq!(of(&[("TERM", "xterm-kitty")]), Some(Protocol::Kitty));
    assert_eq!(of(&[("TERM_PROGRAM", "iTerm.app")]), Some(Protocol::Iterm));
    assert_eq!(of(&[("TERM_PROGRAM", "WezTerm")]), Some(Protocol::Iterm));
    for other in [&[("TERM", "xterm-256color")][..], &[], &[("KITTY_WINDOW_ID", "")]] {
        assert_eq!(of(other), None);
    }
    assert_eq!(of(&[("KITTY_WINDOW_ID", "1"), ("TMUX", "/tmp/x")]), None);
}

#[test]
fn images_are_sent_in_chunks_of_kitty_size() {
    let sequence = Protocol::Kitty.sequence(&[7; 7000]);
    let text = String::from_utf8(sequence).unwrap();
    let pieces: Vec<&str> = text.split("\x1b\\").collect();
    assert_eq!(pieces.len(), 4, "three pieces and a line end");
    assert!(pieces[0].starts_with("\x1b_Ga=T,f=100,r=12,q=2,m=1;"));
    assert!(pieces[1].starts_with("\x1b_Gm=1;") && pieces[2].starts_with("\x1b_Gm=0;"));
    let joined: String = pieces[..3].iter().map(|piece| piece.split_once(';').unwrap().1).collect();
    assert_eq!(STANDARD.decode(joined).unwrap(), [7; 7000]);
    let one = String::from_utf8(Protocol::Iterm.sequence(b"abc")).unwrap();
    assert!(one.starts_with("\x1b]1337;File=inline=1;size=3;") && one.ends_with(":YWJj\x07\n"));
}
