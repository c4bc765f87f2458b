//! Describes the first difference of two texts.

const MAX_LINES_SHOWN: usize = 3;

/// The number of the first different line, then a few lines of each text; `None` if they are equal.
pub(super) fn first(written: &str, made: &str) -> Option<String> {
    if written == made {
        return None;
    }
    // `split` rather than `lines`: a missing newline at the end is a difference too.
    let written: Vec<&str> = written.split('\n').collect();
    let made: Vec<&str> = made.split('\n').collect();
    let start = written.iter().zip(&made).take_while(|(left, right)| left == right).count();
    let mut text = format!("{}: differs from the code", start + 1);
    for (sign, lines) in [('-', &written), ('+', &made)] {
        for line in lines.iter().skip(start).take(MAX_LINES_SHOWN) {
            text += &format!("\n  {sign} {line}");
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(first("a\nb\n", "a\nb\n"), None);
    }

    #[test]
    fn first_different_lines_are_shown() {
        let difference = first("a\nold\n", "a\nnew\n1\n2\n3\n4\n").unwrap();
        assert_eq!(difference, "2: differs from the code\n  - old\n  - \n  + new\n  + 1\n  + 2");
    }

    #[test]
    fn missing_newline_and_empty_page_are_differences() {
        assert!(first("a", "a\n").unwrap().starts_with("2: "));
        assert!(first("", "a\n").unwrap().starts_with("1: "));
    }
}
