//! The verb `theory`, run as a program.

use std::process::Output;

use crate::process::run;

fn theory(arguments: &[&str]) -> Output {
    run(&[&["theory"], arguments].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn an_unknown_claim_is_bad_usage_and_those_near_it_are_named() {
    let answer = theory(&["--claim", "001-T-JSAA"]);
    assert_eq!(answer.status.code(), Some(2));
    let complaint = text(&answer.stderr);
    assert!(complaint.contains("similar value") && complaint.contains("'001-T-JSA'"), "{complaint}");
}

#[test]
fn one_claim_is_told_with_all_that_is_known_of_it() {
    let answer = theory(&["--claim", "001-L2"]);
    let told = text(&answer.stdout);
    assert!(answer.status.success(), "{told}");
    for part in ["VIOLATED", "0.75 > 0.5", "instead", "assumes", "1 claims"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains('\x1b') && !told.contains("theory.html"), "{told}");
}

#[test]
fn json_is_the_same_with_any_number_of_threads() {
    let told = |threads: &str| {
        theory(&["--claim", "000-T2", "--claim", "000-T4", "--json", "--threads", threads]).stdout
    };
    let (one, three) = (told("1"), told("3"));
    assert_eq!(one, three);
    let judgements: serde_json::Value = serde_json::from_slice(&one).expect("JSON");
    assert_eq!(judgements[0]["id"], "000-T2");
    assert_eq!(judgements[0]["printed"]["finding"]["standing"], "tight");
    assert_eq!(judgements[1]["printed"]["finding"]["standing"], "violated");
}
