//! The list of skills in the system prompt: one line each.

use task_loop::untrusted::is_unsafe;

use super::catalogue::Skill;
use super::tool::NAME;

const MAX_BYTES: usize = 16 * 1024;
/// Lengths of a description to try, longest first, until the list fits.
const DESCRIPTION_CHARS: [usize; 4] = [300, 120, 40, 0];

/// The list; `None` if there are no skills.
pub(crate) fn text(skills: &[Skill]) -> Option<String> {
    if skills.is_empty() {
        return None;
    }
    Some(format!(
        "A skill contains instructions for one kind of task. If one matches the person's request, \
         load it with `{NAME}` before you start, and follow it as if the person had written it. \
         Available skills:\n{}",
        lines(skills)
    ))
}

fn lines(skills: &[Skill]) -> String {
    let mut listed = Vec::new();
    for most in DESCRIPTION_CHARS {
        listed = skills.iter().map(|skill| line(skill, most)).collect();
        if listed.iter().map(String::len).sum::<usize>() <= MAX_BYTES {
            return listed.concat().trim_end().to_owned();
        }
    }
    let mut text = String::new();
    let mut told = 0;
    for line in &listed {
        if text.len() + line.len() > MAX_BYTES {
            break;
        }
        text.push_str(line);
        told += 1;
    }
    format!("{text}({} more are not listed; load one if the person names it)", skills.len() - told)
}

fn line(skill: &Skill, most: usize) -> String {
    let about = one_line(&skill.description, most);
    let name = skill.name();
    if about.is_empty() { format!("- {name}\n") } else { format!("- {name}: {about}\n") }
}

/// A text on one line, without control characters, with at most this many characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().filter(|letter| !is_unsafe(*letter)).collect();
    if line.chars().count() <= most {
        return line;
    }
    let Some(room) = most.checked_sub(1) else { return String::new() };
    let cut: String = line.chars().take(room).collect();
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests;
