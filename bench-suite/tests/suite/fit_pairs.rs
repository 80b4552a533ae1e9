//! `fit` for every listed pair of model and method, and with unusual settings: a readable result, or a clear error.

use mcsa_bench_suite::catalog::{Method, Target};
use mcsa_bench_suite::interrupt::Interrupt;
use mcsa_bench_suite::metric::metric;
use mcsa_bench_suite::verbs::Exit;
use rayon::prelude::*;
use serde_json::Value;

use crate::process::{self, has_all_numbers, listed};

fn fit(arguments: &[&str]) -> Result<Value, Exit> {
    fit_until(&Interrupt::default(), arguments)
}

/// The report, which can be parsed whether or not the fit succeeded.
fn fit_until(interrupt: &Interrupt, arguments: &[&str]) -> Result<Value, Exit> {
    let (text, done) = process::fit(interrupt, arguments);
    let report = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).expect("JSON") };
    done.map(|()| report)
}

/// Returns true if a number is `null`: numbers that are not finite must be words.
fn has_null_number(report: &Value) -> bool {
    let parts = ["health", "measures", "parameters", "trace"];
    !parts.iter().all(|part| has_all_numbers(&report[part], &[]))
}

/// Returns true if every metric of a row is in the table, without which the row could not be read again.
fn has_known_metrics(report: &Value) -> bool {
    let rows = report["trace"].as_array().expect("a list").iter();
    let mut names = rows.flat_map(|row| row.as_object().expect("a map").keys());
    names.all(|name| ["step", "vectors"].contains(&name.as_str()) || metric(name).is_some())
}

/// Settings that make a model small; its data are those of the listing if there are no smaller ones.
fn small(model: &str) -> &'static [&'static str] {
    match model {
        "neural-regression" => &["--set", "model.hidden=3"],
        "stock-volatility" => &["--set", "model.data=fx_ecb_18"],
        _ => &[],
    }
}

/// Gaussian processes take a second to evaluate at the end: all methods but one make a single step and are interrupted.
fn is_slow(model: &str, method: &str) -> bool {
    ["gp-classification", "robust-gp"].contains(&model) && method != "pmcsa"
}

/// No pair panics, and every supported pair gives a result: 285 pairs, which is why this takes some seconds.
#[test]
fn every_listed_pair_ends_in_a_result_or_a_clear_error() {
    let (models, methods) = (listed("--list-models"), listed("--list-methods"));
    assert_eq!(
        (models.len(), methods.len()),
        (Target::ALL.len(), Method::ALL.len() - Method::ELSEWHERE.len() + 1)
    );
    let pairs: Vec<_> =
        models.iter().flat_map(|model| methods.iter().map(move |method| (model, method))).collect();
    let wrong = |(model, method): &(&String, &String)| {
        let interrupt = Interrupt::default();
        if is_slow(model, method) {
            interrupt.ask();
        }
        let length = if *method == "ep" { "method.sweeps=2" } else { "steps=2" };
        let pair = ["--model", model, "--method", method, "--set", length];
        match fit_until(&interrupt, &[&pair, small(model)].concat()) {
            Ok(report) => {
                let parameters = report["parameters"].as_array().expect("a list");
                // Paths have a bound and predictions, no moments in closed form.
                let has_moments = !parameters.is_empty() || *method == "sl-dais";
                let is_right = !has_null_number(&report) && has_moments && has_known_metrics(&report);
                (!is_right).then(|| format!("{model} by {method}: {report}"))
            }
            Err(Exit::Usage(error)) if *method == "ep" && *model != "probit" => {
                let said = error.to_string();
                (!said.contains("probit")).then_some(said)
            }
            Err(Exit::Usage(error)) if *method == "sl-dais" && !LABELS.contains(&model.as_str()) => {
                let said = error.to_string();
                (!said.contains("has no rows for metrics of the bound")).then_some(said)
            }
            Err(Exit::Interrupted { code: 130, .. }) if is_slow(model, method) => None,
            Err(other) => Some(format!("{model} by {method}: {other:?}")),
        }
    };
    let wrong: Vec<String> = pairs.par_iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Models with rows for annealed paths.
const LABELS: [&str; 3] = ["logistic", "hierarchical-logistic", "probit"];

/// Paths gain on their base, whose bound is that of a path with all steps at zero: such is the end at a rate of 0.03.
#[test]
fn the_command_line_ascends_the_bound_of_annealed_paths() {
    let measured = |model: &str, rate: &str, steps: &str| {
        let fixed = ["--model", model, "--method", "sl-dais", "--set", "model.standardised=true"];
        let report = fit(&[&fixed[..], &["--set", rate, "--set", steps]].concat()).expect("a result");
        ["elbo", "zero_steps"].map(|name| report["measures"][name].as_f64().expect("a number"))
    };
    let of_logistic = |rate: &str| measured("logistic", rate, "steps=4000");
    let ([path, of_path], [base, of_base]) =
        (of_logistic("optimizer.rate=0.003"), of_logistic("optimizer.rate=0.03"));
    assert_eq!([of_path, of_base], [0.0, 4.0]);
    // Each bound has a standard error of 0.05.
    assert!(path > base + 0.2, "{path} {base}");
    let other = |steps: &str| measured("hierarchical-logistic", "optimizer.rate=0.003", steps);
    let ([first, _], [last, of_last]) = (other("steps=1"), other("steps=400"));
    assert_eq!(of_last, 0.0);
    assert!(last > first + 10.0, "{last} {first}");
}

/// Random rows with learned weights guide the paths of any regression of labels; a coreset is for logistic ones.
#[test]
fn surrogates_of_the_logistic_likelihood_are_not_for_others() {
    let probit =
        ["--model", "probit", "--method", "sl-dais", "--set", "model.data=sonar", "--set", "steps=2"];
    assert!(fit(&probit).is_ok());
    let Err(error) = fit(&[&probit[..], &["--set", "family.surrogate=cs-fix"]].concat()) else {
        panic!("a coreset of a probit regression")
    };
    assert!(format!("{error:?}").contains("for logistic regressions with a normal prior"), "{error:?}");
}

#[test]
fn a_fit_makes_at_least_one_step() {
    let at = |steps: &str| fit(&["--model", "correlated-gaussian", "--set", steps]);
    let Err(Exit::Usage(error)) = at("steps=0") else { panic!("a fit of no steps") };
    assert!(error.to_string().ends_with("steps is 0, expected at least 1"), "{error}");
    assert!(at("steps=1").expect("a result")["health"]["evidence_upper"].is_number());
}

/// Expectation propagation gives means and scales, and these are the reported parameters.
#[test]
fn parameters_of_expectation_propagation_are_what_it_found() {
    let report = fit(&["--model", "probit", "--method", "ep"]).expect("a result");
    let number = |value: &Value| value.as_f64().expect("a number");
    for (k, parameter) in report["parameters"].as_array().expect("a list").iter().enumerate() {
        let (mean, sd) = (number(&parameter["mean"]), number(&parameter["sd"]));
        let found = number(&report["vectors"]["means"][k]);
        let scale = number(&report["vectors"]["log_scales"][k]).exp();
        // From 4096 draws: six standard errors, a false alarm in 5e8 runs, and the seed is fixed.
        assert!((mean - found).abs() < 6.0 * scale / 64.0, "{k}: {mean} for {found}");
        assert!((sd / scale - 1.0).abs() < 6.0 / 90.0, "{k}: {sd} for {scale}");
    }
    assert_eq!(report["trace"].as_array().expect("a list").len(), 1);
}

/// A NaN direction ends a fit early, and the report contains the word for NaN.
#[test]
fn numbers_that_are_not_finite_are_words() {
    let report = fit(&["--model", "skew-normal", "--method", "elbo", "--set", "steps=3"]).expect("a result");
    assert_eq!(report["trace"][1]["acceptance"], Value::Null, "what is not told has no name");
    let words = serde_json::to_string(&report).expect("JSON");
    assert!(!words.contains("7ff8"), "no bits among numbers to be read");
}
