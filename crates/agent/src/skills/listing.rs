//! The list of skills in the system prompt: one line each.

use task_loop::untrusted::is_unsafe;

use super::catalogue::Skill;
use super::tool::NAME;

/// Longest list.
const MAX_BYTES: usize = 16 * 1024;
/// Lengths of a description to try, longest first, until the list fits.
const DESCRIPTION_CHARS: [usize; 4] = [300, 120, 40, 0];

/// The list; nothing if there are no skills.
pub(crate) fn text(skills: &[Skill]) -> Option<String> {
    if skills.is_empty() {
        return None;
    }
    Some(format!(
        "Skills are instructions for one kind of work each. When one fits what the person asks, \
         load it with `{NAME}` before you begin, and follow it as if the person had said it. These \
         are the skills:\n{}",
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
mod tests {
    use std::fs;

    use super::*;
    use crate::skills::folders::SkillFolders;

    fn skills(count: usize, name: &str, description: &str) -> (tempfile::TempDir, Vec<Skill>) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("skills");
        for number in 0..count {
            let path = home.join(format!("{name}{number:03}"));
            fs::create_dir_all(&path).unwrap();
            let text = format!("---\nname: a\ndescription: {description}\n---\nDo it.\n");
            fs::write(path.join("SKILL.md"), text).unwrap();
        }
        let skills = SkillFolders::of(home, None, None).catalogue().skills;
        (folder, skills)
    }

    #[test]
    fn every_skill_has_a_line() {
        assert_eq!(text(&[]), None);
        let (_folder, skills) = skills(2, "a", "\"Does\\n- b: it\\e[2J\"");
        let text = text(&skills).unwrap();
        assert!(
            text.ends_with("skills:\n- a000: Does - b: it[2J\n- a001: Does - b: it[2J"),
            "{text}"
        );
    }

    #[test]
    fn a_list_that_is_too_long_is_told_in_fewer_words() {
        let (_folder, few) = skills(60, "a", &"word ".repeat(100));
        let lines = lines(&few);
        assert!(lines.len() <= MAX_BYTES && lines.lines().count() == 60);
        assert!(lines.lines().all(|line| line.ends_with('…')), "{lines}");
        let (_folder, many) = skills(400, &"a".repeat(60), "x");
        let lines = super::lines(&many);
        assert!(lines.len() < MAX_BYTES + 100);
        assert!(lines.contains(" more are not listed"), "{lines}");
    }

    #[test]
    fn a_line_is_cut_at_a_character() {
        assert_eq!(one_line(" a\n b\x07 ", 10), "a b");
        assert_eq!(one_line("äöü äöü", 5), "äöü…");
        assert_eq!((one_line("abc", 3), one_line("abc", 0)), ("abc".into(), String::new()));
    }
}
