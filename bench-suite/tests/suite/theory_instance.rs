//! The verb `theory --instance`, run as a program.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn asked(question: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_mcsa-bench"))
        .args(["theory", "--instance", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    program.stdin.take().unwrap().write_all(question.as_bytes()).unwrap();
    program.wait_with_output().unwrap()
}

#[test]
fn a_question_is_answered_in_json() {
    let answer =
        asked(r#"{"pi": ["1/2", "1/2"], "q": ["1/4", "3/4"], "s": [1, -1], "n": [2], "candidates": [2]}"#);
    assert!(answer.status.success() && answer.stderr.is_empty());
    let answer: serde_json::Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(answer["estimators"]["2"]["seq_stationary"]["var"], 0.75);
}

#[test]
fn a_question_that_is_not_understood_is_code_two() {
    let refused = asked(r#"{"pi": ["1/2", "1/3"], "q": ["1/4", "3/4"], "s": [1, -1]}"#);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.starts_with("mcsa-bench: -: pi: the sum is 0.83333"), "{said}");
    let mut program = Command::new(env!("CARGO_BIN_EXE_mcsa-bench"));
    let absent = program.args(["theory", "--instance", "no-such.json"]).output().unwrap();
    assert_eq!(absent.status.code(), Some(2));
    assert!(String::from_utf8(absent.stderr).unwrap().contains("no-such.json: cannot be read"));
}
