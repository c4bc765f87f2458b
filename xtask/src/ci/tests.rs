//! Tests of `ci`.

use super::*;

const STEPS: &[Step] = &[Step::Fmt, Step::Tidy, Step::Clippy];

fn outcomes(policy: OnFailure) -> (Vec<&'static str>, Vec<Step>) {
    let mut ran = Vec::new();
    let rows = execute(STEPS, policy, |step| {
        ran.push(step);
        if step == Step::Tidy { Err(Failure::work("untidy")) } else { Ok(()) }
    });
    let words = rows
        .iter()
        .map(|row| match row.outcome {
            Outcome::Passed(_) => "passed",
            Outcome::Failed(_) => "failed",
            Outcome::NotRun => "not run",
        })
        .collect();
    (words, ran)
}

#[test]
fn first_failure_stops_the_run() {
    let (words, ran) = outcomes(OnFailure::Stop);
    assert_eq!(words, ["passed", "failed", "not run"]);
    assert_eq!(ran, [Step::Fmt, Step::Tidy]);
}

#[test]
fn keep_going_runs_every_step() {
    let (words, ran) = outcomes(OnFailure::KeepGoing);
    assert_eq!(words, ["passed", "failed", "passed"]);
    assert_eq!(ran, STEPS);
}

#[test]
fn table_has_step_seconds_and_result() {
    let rows = [
        Row { step: Step::Fmt, outcome: Outcome::Passed(Duration::from_millis(1250)) },
        Row { step: Step::Tidy, outcome: Outcome::Failed(Duration::from_secs(61)) },
        Row { step: Step::Clippy, outcome: Outcome::NotRun },
    ];
    assert_eq!(
        table(&rows),
        "step      seconds  result\n\
             fmt           1.2  ok\n\
             tidy         61.0  FAILED\n\
             clippy          -  not run\n"
    );
}
