//! A conversation as Markdown.

use task_loop::conversation::{Call, Message};

pub(super) fn markdown(id: &str, model: &str, messages: &[Message]) -> String {
    let mut text = format!("# Conversation {id}\n\nModel: {model}\n");
    for message in messages {
        text.push_str(&match message {
            Message::System { .. } => continue,
            Message::User { text, .. } => format!("\n## You\n\n{}\n", text.trim_end()),
            Message::Assistant { text, calls } => {
                let calls: String = calls.iter().map(call).collect();
                let said = text.trim_end();
                let gap = if said.is_empty() { "" } else { "\n" };
                format!("\n## Agent\n{gap}{said}{gap}{calls}")
            }
            Message::Tool { name, text, .. } => {
                format!("\n### Result of `{name}`\n\n{}", fenced(text, ""))
            }
        });
        for attachment in message.attachments() {
            text.push_str(&format!("\nAttachment: {attachment}\n"));
        }
    }
    text
}

fn call(call: &Call) -> String {
    format!("\nCalls `{}`:\n\n{}", call.name, fenced(&call.arguments, "json"))
}

/// A fenced block, with a fence longer than any in the text.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

#[cfg(test)]
mod tests;
