//! The replay of annealed paths: worked examples, differences, laws and errors.

#[expect(dead_code, reason = "the program has a main of its own")]
#[path = "../../examples/replay.rs"]
mod program;

use program::{Replay, answer};
use serde_json::{Value, json};

const EXAMPLES: &str = include_str!("../data/annealed_paths.json");

fn examples() -> Vec<Value> {
    let examples: Value = serde_json::from_str(EXAMPLES).unwrap();
    examples.as_array().unwrap().clone()
}

fn replay(question: &Value) -> Replay {
    answer(&question.to_string()).unwrap()
}

fn error_of(question: &Value) -> String {
    answer(&question.to_string()).unwrap_err().to_string()
}

/// Largest difference of two values of one shape, relative to the larger of 1 and the number.
fn distance(a: &Value, b: &Value) -> f64 {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len());
            a.iter().zip(b).map(|(a, b)| distance(a, b)).fold(0.0, f64::max)
        }
        (Value::Object(a), Value::Object(b)) => {
            assert!(a.keys().eq(b.keys()), "{:?} {:?}", a.keys(), b.keys());
            a.values().zip(b.values()).map(|(a, b)| distance(a, b)).fold(0.0, f64::max)
        }
        _ => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() / a.abs().max(b.abs()).max(1e-3)
        }
    }
}

fn far_from_answer(question: &Value, expected: &Value) -> f64 {
    distance(&replay(question).json(), expected)
}

#[test]
fn worked_examples_agree_to_ten_digits() {
    for example in examples() {
        let far = far_from_answer(&example["ask"], &example["answer"]);
        assert!(far < 1e-10, "{far:e} {}", example["ask"]["case"]);
    }
}

/// The failing twin: another law of the momentum is another answer.
#[test]
fn another_momentum_is_another_answer() {
    let mut example = examples().swap_remove(0);
    example["ask"]["case"]["convention"] = json!("numpyro");
    assert!(far_from_answer(&example["ask"], &example["answer"]) > 1e-3);
}

/// Places of all numbers below a value, as JSON pointers.
fn numbers(place: &str, value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(k, value)| numbers(&format!("{place}/{k}"), value, out));
        }
        Value::Object(table) => {
            table.iter().for_each(|(key, value)| numbers(&format!("{place}/{key}"), value, out));
        }
        _ => out.push(place.to_owned()),
    }
}

/// Central differences of the bound for every parameter, against the reverse sweep.
fn gradient_is_a_difference(question: &Value) {
    let grad = replay(question).grad;
    let mut places = vec![];
    numbers("", &question["params"], &mut places);
    for place in places {
        // The factor has no entries above its diagonal.
        if let Some((row, column)) = place.strip_prefix("/L/").and_then(|rest| rest.split_once('/'))
            && row.parse::<usize>().unwrap() < column.parse().unwrap()
        {
            continue;
        }
        let moved = |by: f64| {
            let mut question = question.clone();
            let number = question["params"].pointer_mut(&place).unwrap();
            *number = json!(number.as_f64().unwrap() + by);
            replay(&question).elbo
        };
        let step = 1e-5;
        let difference = (moved(step) - moved(-step)) / (2.0 * step);
        let exact = grad.pointer(&place).unwrap().as_f64().unwrap();
        let far = (difference - exact).abs() / exact.abs().max(1.0);
        assert!(far < 1e-6, "{place}: {exact} against {difference}");
    }
}

#[test]
fn gradients_are_differences() {
    examples().iter().for_each(|example| gradient_is_a_difference(&example["ask"]));
    gradient_is_a_difference(&linear("dais", &json!({})));
    gradient_is_a_difference(&linear("ns", &json!({})));
    gradient_is_a_difference(&linear("sl_rand", &json!({"omega": [2.0, 3.1]})));
    let quadratic = json!({"a": [1.0, -0.5], "B": [[4.0, 0.3], [0.3, 2.5]]});
    gradient_is_a_difference(&linear("sl_quad", &quadratic));
}

/// A linear regression of five rows, whose guide is `algo` with the parameters `more`.
fn linear(algo: &str, more: &Value) -> Value {
    let mut question = json!({
        "problem": {"kind": "linreg", "N": 5, "D": 2, "prior_scale": 1.3, "prior_mean": [0.2, -0.1], "sigma_obs": 0.7,
            "X": [[1.0, 0.3], [-0.4, 1.1], [0.9, -0.8], [0.2, 0.5], [-1.2, 0.1]], "y": [0.8, -0.3, 0.4, 0.1, -1.0]},
        "case": {"algo": algo, "base": "mvn", "convention": "paper", "K": 3, "eta_max": 0.25, "eps0": [0.3, -0.6],
            "nu": [[0.5, 0.2], [-1.1, 0.4], [0.7, -0.9]], "I": [0, 1, 2, 3, 4], "J": [1, 3], "surr_idx": [4, 0]},
        "params": {"mu": [0.3, -0.2], "L": [[0.5, 0.0], [0.1, 0.4]], "eta0": 0.08, "kappa": 0.05, "gamma": 0.7,
            "M": [1.2, 0.8], "beta": [0.3, 0.6, 1.0], "sigma_obs": 0.75}
    });
    for (key, value) in more.as_object().unwrap() {
        question["params"][key] = value.clone();
    }
    question
}

/// A logistic regression of the same rows, with two weights for each of two free covariates.
fn weighted_points(algo: &str, base: &str, convention: &str) -> Value {
    let points = json!([[0.7, -0.2], [-0.5, 0.9]]);
    let mut question = linear(algo, &json!({"omega_pos": [1.4, 0.6], "omega_neg": [0.8, 2.2]}));
    question["problem"] = json!({"kind": "logistic", "N": 5, "D": 2, "prior_scale": 1.3,
        "X": question["problem"]["X"], "y": [1, 0, 1, 1, 0]});
    question["case"]["base"] = json!(base);
    question["case"]["convention"] = json!(convention);
    let params = question["params"].as_object_mut().unwrap();
    params.remove("sigma_obs");
    if base == "mf" {
        params.remove("L");
        params.insert("sigma".into(), json!([0.5, 0.4]));
    }
    if algo == "sl_pm_fix" {
        question["case"]["x_surr"] = points;
    } else {
        params.insert("x_surr".into(), points);
    }
    question
}

#[test]
fn gradients_are_differences_on_weighted_points() {
    for algo in ["sl_pm_fix", "sl_pm_learn"] {
        for base in ["mf", "mvn"] {
            for convention in ["paper", "numpyro"] {
                let question = weighted_points(algo, base, convention);
                gradient_is_a_difference(&question);
                assert_eq!(replay(&question).grad.get("x_surr").is_some(), algo == "sl_pm_learn");
            }
        }
    }
    let [fixed, learned] =
        ["sl_pm_fix", "sl_pm_learn"].map(|algo| replay(&weighted_points(algo, "mf", "paper")));
    assert_eq!((learned.elbo, &learned.z), (fixed.elbo, &fixed.z));
}

#[test]
fn clipped_step_sizes_are_reported() {
    let mut question = linear("dais", &json!({"eta0": 0.01, "kappa": -1.0}));
    let still = replay(&question);
    assert_eq!(still.note().unwrap(), "step sizes: 3 of 3 are zero and 0 the largest; the path stands still");
    assert_eq!(still.grad["eta0"], 0.0);
    question["params"]["kappa"] = json!(0.25);
    assert_eq!(replay(&question).note().unwrap(), "step sizes: 0 of 3 are zero and 1 the largest");
    assert_eq!(replay(&linear("dais", &json!({}))).note(), None);
}

#[test]
fn errors_name_the_place() {
    let changed = |place: &str, value: Value| {
        let mut question = linear("dais", &json!({}));
        *question.pointer_mut(place).unwrap() = value;
        error_of(&question)
    };
    assert!(answer("{").unwrap_err().to_string().starts_with("not a replay: EOF"));
    assert!(error_of(&json!({"problem": {}})).contains("missing field `kind`"));
    assert!(changed("/case/algo", json!("hmc")).contains("unknown variant `hmc`"));
    assert_eq!(changed("/problem/X/2", json!([1.0])), "problem.X[2] has length 1, expected 2");
    assert_eq!(changed("/case/nu", json!([])), "case.nu has 0 rows, expected 3");
    assert_eq!(changed("/case/J", json!([0, 9])), "case.J[1] is 9, expected less than 5");
    assert!(changed("/case/I", json!([0, 9])).starts_with("case.I: row 9"));
    assert_eq!(changed("/case/algo", json!("sl_quad")), "params.a is missing");
    assert_eq!(changed("/case/base", json!("mf")), "params.sigma is missing");
    assert_eq!(changed("/params/beta", json!([1.0])), "params.beta has length 1, expected 3");
    assert!(changed("/params/gamma", json!(1.0)).contains("gamma"));
    assert!(changed("/params/L/1/1", json!(0.0)).contains("diagonal of the factor"));
    assert!(changed("/params/L/0/1", json!(0.1)).contains("zero above the diagonal"));
    let unused = error_of(&linear("dais", &json!({"omega": [1.0]})));
    assert_eq!(unused, "params.omega is not a parameter of this problem and method");
    let mut typo = linear("dais", &json!({"gama": 0.5}));
    assert!(error_of(&typo).contains("unknown field `gama`"));
    typo["params"].as_object_mut().unwrap().remove("gama");
    assert!(answer(&typo.to_string()).is_ok());
}
