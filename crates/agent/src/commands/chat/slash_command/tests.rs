//! Tests of `slash_command`.

use super::*;

#[test]
fn commands_and_plain_text_are_distinguished() {
    assert_eq!(read("  ").unwrap(), ChatInput::Nothing);
    assert_eq!(read(" hello /x ").unwrap(), ChatInput::Words("hello /x"));
    assert_eq!(read("//etc is a folder").unwrap(), ChatInput::Words("/etc is a folder"));
    assert_eq!(read("/model  a/b ").unwrap(), ChatInput::Command(SlashCommand::Model, "a/b"));
    assert_eq!(read("/exit").unwrap(), ChatInput::Command(SlashCommand::Quit, ""));
    assert_eq!(
        read("/tools read\nfiles").unwrap(),
        ChatInput::Command(SlashCommand::Tools, "read\nfiles")
    );
}

#[test]
fn the_nearest_command_is_suggested() {
    let hint = |typed: &str| read(typed).unwrap_err().hints[0].clone();
    assert_eq!(hint("/modle"), "did you mean `/model`?");
    assert_eq!(hint("/reload"), "did you mean `/reload-mcp`?");
    assert_eq!(hint("/"), "list the commands with `/help`");
    assert_eq!(hint("/zzzzzz"), "list the commands with `/help`");
}
