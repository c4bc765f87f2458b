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
mod tests;
