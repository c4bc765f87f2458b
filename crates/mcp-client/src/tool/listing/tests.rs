//! Tests of `listing`.

use super::*;

#[test]
fn invalid_prompts_do_not_affect_valid_ones() {
    let page = prompts_page(
        r#"{"prompts":[{"name":"a","arguments":[{"name":"x","required":true},{"required":true},7]},
                {"title":"nameless"},"text",{"name":"b","description":null}],"nextCursor":"n"}"#,
    )
    .unwrap();
    let names: Vec<&str> = page.items.iter().map(|prompt| prompt.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let x = PromptArgument { name: "x".into(), description: None, required: true };
    assert_eq!(page.items[0].arguments, [x]);
    let set_aside: Vec<&str> = page.quarantined.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(set_aside, ["#2", "#3"]);
    assert_eq!(page.next_cursor.as_deref(), Some("\"n\""));
}

#[test]
fn unnamed_resources_and_templates_use_their_uri() {
    let page = resources_page(
        r#"{"resources":[{"uri":"file:///a","size":3,"mimeType":"text/plain"},{"name":"lost"}]}"#,
    )
    .unwrap();
    assert_eq!(page.items[0].name, "file:///a");
    assert_eq!(page.items[0].size, Some(3));
    assert_eq!(page.quarantined[0].reason, "it has no `uri`");
    let page = templates_page(r#"{"resourceTemplates":[{"uriTemplate":"x://{id}","name":"x"}]}"#);
    assert_eq!(page.unwrap().items[0].name, "x");
}
