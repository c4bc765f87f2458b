//! Tests of `problem`.

use super::*;

#[test]
fn problems_are_in_file_order() {
    let at = |line| Problem::warning(Position { line, column: 1 }, "x");
    let lines: Vec<_> = in_order(vec![at(3), at(1), at(2)]).iter().map(|p| p.line).collect();
    assert_eq!(lines, [1, 2, 3]);
}

#[test]
fn beyond_the_limit_errors_are_kept_and_others_counted() {
    let mut many: Vec<_> = (0..MAX_PROBLEMS + 9)
        .map(|line| Problem::warning(Position { line, column: 1 }, "x"))
        .collect();
    many.push(Problem::error(Position { line: 9000, column: 1 }, "bad"));
    let kept = in_order(many);
    assert_eq!(kept.len(), MAX_PROBLEMS);
    assert!(kept.iter().any(|problem| problem.message == "bad"));
    assert_eq!(kept[MAX_PROBLEMS - 1].message, "11 more problems not shown");
}

#[test]
fn a_problem_is_formatted_on_one_line() {
    let problem = Problem::error(Position { line: 3, column: 9 }, "found a list")
        .of("github", "tools.include[2]")
        .hint("write a name");
    assert_eq!(problem.to_string(), "3:9: github: tools.include[2]: found a list (write a name)");
    assert_eq!(Problem::error(Position::default(), "bad").to_string(), "bad");
}
