//! Tests of `export`.

use super::*;

#[test]
fn a_conversation_is_exported_as_markdown() {
    let text = |text: &str| text.to_owned();
    let asked = Call { id: text("1"), name: text("t"), arguments: text("{\"a\":1}") };
    let messages = [
        Message::System { text: text("secret rules") },
        Message::user("hi"),
        Message::Assistant { text: String::new(), calls: vec![asked] },
        Message::tool(text("1"), text("t"), text("```\nx\n```")),
        Message::Assistant { text: text("*done*"), calls: Vec::new() },
    ];
    let expected = "# Conversation c\n\nModel: m\n\n## You\n\nhi\n\n## Agent\n\nCalls `t`:\n\n\
                        ```json\n{\"a\":1}\n```\n\n### Result of `t`\n\n````\n```\nx\n```\n````\n\n\
                        ## Agent\n\n*done*\n";
    assert_eq!(markdown("c", "m", &messages), expected);
}
