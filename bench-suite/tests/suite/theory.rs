//! The verb `theory`, and exact solutions of finite problems as JSON.

use std::io::Write;
use std::process::{Output, Stdio};

use mcsa_bench_suite::instance::answer;
use serde_json::Value;

use crate::process::{program, run, words as text};

fn theory(arguments: &[&str]) -> Output {
    run(&[&["theory"], arguments].concat())
}

#[test]
fn one_claim_is_told_with_all_that_is_known_of_it() {
    let answer = theory(&["--claim", "001-L2"]);
    let told = text(&answer.stdout);
    assert!(answer.status.success(), "{told}");
    for part in ["VIOLATED", "0.75 > 0.5", "instead", "assumes", "1 claim: "] {
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

fn asked(question: &str) -> Output {
    let mut asked = program(&["theory", "--instance", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    asked.stdin.take().unwrap().write_all(question.as_bytes()).unwrap();
    asked.wait_with_output().unwrap()
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
}

fn answered(question: &str) -> Value {
    serde_json::from_str(&answer(question).unwrap()).unwrap()
}

fn near(value: &Value, expected: f64) -> bool {
    let found = value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    (found - expected).abs() <= 1e-14 * expected.abs()
}

const SMALL: &str =
    r#"{"pi": ["1/2", "1/2"], "q": ["1/4", "3/4"], "s": ["1", "-1"], "n": [1, 2, 3], "candidates": [2, 3]}"#;

#[test]
fn every_key_is_there() {
    let answer = answered(SMALL);
    let cis = "avg_reject full_var rate rb_mean rb_var reject_index snis_mean snis_var transition tv1 tv2";
    for (place, expected) in [
        ("", "barker chi2_neyman chi2_pearson cis estimators imh kl mu r sigma2 w wstar"),
        ("/imh", "avg_reject n reject transition"),
        ("/imh/n", "1 2 3"),
        ("/imh/n/2", "kn_s lambda_n t tv"),
        ("/barker", "avg_reject reject transition"),
        ("/cis", "2 3"),
        ("/cis/2", cis),
        ("/estimators/2", "par_fixed par_stationary_var seq_fixed seq_stationary single_cis_fixed"),
        ("/estimators/2/seq_fixed", "bias cov diag var"),
        ("/estimators/2/seq_stationary", "cov diag var"),
        ("/estimators/2/par_fixed", "bias second_moment var"),
        ("/estimators/2/single_cis_fixed", "bias var"),
    ] {
        let found = answer.pointer(place).and_then(Value::as_object).expect("a map");
        assert_eq!(found.keys().cloned().collect::<Vec<_>>().join(" "), expected, "{place}");
    }
}

/// Fractions known from the papers' counterexamples.
#[test]
fn values_are_the_known_fractions() {
    let answer = answered(SMALL);
    assert_eq!((&answer["wstar"], &answer["r"]), (&Value::from(2.0), &Value::from(0.5)));
    assert!(near(&answer["chi2_pearson"], 1.0 / 3.0) && near(&answer["chi2_neyman"], 0.25));
    assert_eq!(answer["imh"]["transition"][0][0], 0.75);
    assert_eq!(answer["imh"]["reject"], serde_json::json!([0.5, 0.0]));
    assert_eq!(answer["imh"]["n"]["2"]["t"][0], 0.75);
    assert_eq!(answer["imh"]["n"]["3"]["tv"][0], 0.0625);
    let two = &answer["estimators"]["2"];
    assert_eq!((&two["seq_stationary"]["var"], &two["seq_stationary"]["cov"]), (&0.75.into(), &0.25.into()));
    assert_eq!(two["seq_fixed"]["bias"][0], 0.375);
    // CIS with one candidate keeps the retained point.
    assert_eq!(answer["estimators"]["1"]["single_cis_fixed"]["var"], serde_json::json!([0.0, 0.0]));
    assert_eq!(answer["cis"]["2"]["transition"], answer["barker"]["transition"]);
    assert!(near(&answer["cis"]["2"]["rate"], 0.75) && near(&answer["cis"]["3"]["rate"], 0.6));
}

/// Counterexample: the fixed-start value is not the stationary one; conversion to doubles is only the last step.
#[test]
fn a_long_chain_in_doubles_meets_a_short_one_in_fractions() {
    let question = |n: usize| {
        format!(
            r#"{{"pi": [0.2, 0.5, 0.3], "q": [0.3, 0.3, 0.4], "s": [1, 0, -2.5], "n": [{n}], "candidates": [9]}}"#
        )
    };
    let (exact, doubles) = (answered(&question(64)), answered(&question(65)));
    let variance = |answer: &Value, n: &str| {
        answer["estimators"][n]["seq_stationary"]["var"].as_f64().unwrap() * n.parse::<f64>().unwrap()
    };
    let (a, b) = (variance(&exact, "64"), variance(&doubles, "65"));
    assert!((a / b - 1.0).abs() < 1e-2 && a != b);
    assert_ne!(
        exact["estimators"]["64"]["seq_fixed"]["var"][0],
        exact["estimators"]["64"]["seq_stationary"]["var"]
    );
}

#[test]
fn what_is_infinite_is_null() {
    let answer = answered(r#"{"pi": [1, 0], "q": ["1/2", "1/2"], "s": [0, 1], "candidates": [2]}"#);
    assert!(answer["chi2_neyman"].is_null());
    assert!(answer["imh"]["n"]["1"]["t"][1].is_null());
    assert_eq!(answer["wstar"], 2.0);
}
