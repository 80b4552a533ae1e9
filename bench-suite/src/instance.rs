//! Exact solution of one finite problem, with input and output in JSON.
//!
//! The input gives a target, a proposal and a scalar score on a few atoms; the answer holds all quantities in the papers'
//! statements, computed in exact fractions and rounded once, at the end, to 15 digits. Its keys are described by
//! `mcsa-bench theory --help`.
//!
//! ```
//! let question = r#"{"pi": ["1/2", "1/2"], "q": [0.25, 0.75], "s": [1, -1], "n": [1, 2], "candidates": [2]}"#;
//! let answer = mcsa_bench_suite::instance::answer(question)?;
//! assert!(answer.contains(r#""wstar": 2.0"#));
//! # Ok::<(), mcsa_core::Error>(())
//! ```

use mcsa_core::Error;
use mcsa_theory::{Instance, Moments, Number, Parts, Rational, dot, rational, total_variation};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Largest number of transitions, and of candidates.
const LONGEST: usize = 1_000;
/// Largest number of atoms.
const ATOMS: usize = 64;
/// Largest number of vectors of counts that can be summed in doubles within seconds.
const COUNT_VECTORS: usize = 2_000_000;
/// Largest numbers of vectors of counts and of transitions with exact fractions; beyond, doubles are used.
const EXACT_VECTORS: usize = 2_000;
const EXACT_STEPS: usize = 64;

/// A number or a string such as `"1/3"`; a decimal is the exact fraction, not the nearest double.
#[derive(Deserialize)]
#[serde(try_from = "Value")]
struct Fraction(Rational);

impl TryFrom<Value> for Fraction {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let fraction = rational(&text).map(Self);
        fraction.ok_or_else(|| format!("{value} is neither a number nor a fraction such as \"1/3\""))
    }
}

/// A finite problem as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// Target, proposal and score.
    pi: Vec<Fraction>,
    q: Vec<Fraction>,
    s: Vec<Fraction>,
    /// Numbers of transitions, averaged states, or chains; one if they are absent.
    n: Option<Vec<usize>>,
    /// Numbers of candidates, including the retained point; two if they are absent.
    candidates: Option<Vec<usize>>,
}

/// Answers a question, both in JSON.
///
/// # Errors
/// If the text is not such JSON or `pi` or `q` is not a distribution; the position is named.
pub fn answer(question: &str) -> Result<String, Error> {
    let Question { pi, q, s, n, candidates } = serde_json::from_str(question)
        .map_err(|error| Error::invalid(format!("no finite problem: {error}")))?;
    if pi.len() > ATOMS {
        return Err(Error::invalid(format!("pi has {} entries, expected at most {ATOMS}", pi.len())));
    }
    let [pi, q, s] = [pi, q, s].map(|list| list.into_iter().map(|Fraction(x)| x).collect::<Vec<_>>());
    let exact = &Instance::new(&pi, &q, &s)?;
    let (n, candidates) = (n.unwrap_or_else(|| vec![1]), candidates.unwrap_or_else(|| vec![2]));
    for (key, counts, least) in [("n", &n, 1), ("candidates", &candidates, 2)] {
        if let Some(k) = counts.iter().position(|count| !(least..=LONGEST).contains(count)) {
            let problem = format!("expected a whole number from {least} to {LONGEST}");
            return Err(Error::invalid(format!("{key}[{k}] is {}, {problem}", counts[k])));
        }
    }
    for (k, &candidates) in candidates.iter().enumerate() {
        let vectors = exact.count_vectors(candidates);
        if vectors > COUNT_VECTORS {
            return Err(Error::invalid(format!(
                "candidates[{k}] is {candidates}: on {} atoms these are {vectors} vectors of counts, more than the \
                 {COUNT_VECTORS} that can be summed; ask for fewer",
                exact.atoms()
            )));
        }
    }
    serde_json::to_string_pretty(&solved(exact, &n, &candidates))
        .map_err(|error| Error::invalid(format!("cannot write the answer: {error}")))
}

/// A number with 15 significant digits, which every double keeps; null if it is not finite.
fn digits<T: Number>(x: &T) -> Value {
    let x = x.to_f64();
    // Adding 0 turns negative zero into zero.
    let rounded: f64 = format!("{x:.14e}").parse().unwrap_or(x) + 0.0;
    if x.is_finite() { json!(rounded) } else { Value::Null }
}

fn each<T: Number>(x: &[T]) -> Value {
    x.iter().map(digits).collect()
}

fn rows<T: Number>(rows: &[Vec<T>]) -> Value {
    rows.iter().map(|row| each(row)).collect()
}

/// Distance of each row from the target.
fn far<T: Number>(instance: &Instance<T>, rows: &[Vec<T>]) -> Value {
    rows.iter().map(|row| digits(&total_variation(row, instance.pi()))).collect()
}

/// Entries by their numbers.
fn by_count(counts: &[usize], entry: impl Fn(usize) -> Value) -> Value {
    counts.iter().map(|&count| (count.to_string(), entry(count))).collect::<Map<_, _>>().into()
}

/// Solves a problem. Rational quantities are exact up to 64 transitions and 2000 vectors of counts, and in doubles beyond.
fn solved(exact: &Instance<Rational>, n: &[usize], candidates: &[usize]) -> Value {
    let doubles = &exact.to_f64();
    let rule = |transition: &[Vec<Rational>], rejections: &[Rational]| {
        json!({
            "transition": rows(transition),
            "avg_reject": digits(&dot(exact.pi(), rejections)),
            "reject": each(rejections),
        })
    };
    let mut metropolis = rule(exact.imh().rows(), &exact.imh_rejections());
    metropolis["n"] = by_count(n, |n| if n > EXACT_STEPS { after(doubles, n) } else { after(exact, n) });
    json!({
        "w": each(exact.w()),
        "wstar": digits(&exact.largest_weight()),
        "r": digits(&exact.rate()),
        "kl": digits(&exact.kl()),
        "chi2_pearson": digits(&exact.pearson()),
        "chi2_neyman": exact.neyman().map(|chi2| digits(&chi2)),
        "mu": digits(&exact.mean()),
        "sigma2": digits(&exact.variance()),
        "imh": metropolis,
        "barker": rule(exact.barker().rows(), &exact.barker_rejections()),
        "cis": by_count(candidates, |candidates| {
            let is_long = exact.count_vectors(candidates) > EXACT_VECTORS;
            if is_long { among(doubles, candidates) } else { among(exact, candidates) }
        }),
        "estimators": by_count(n, |n| if n > EXACT_STEPS { estimators(doubles, n) } else { estimators(exact, n) }),
    })
}

/// Independent Metropolis-Hastings after n transitions.
fn after<T: Number>(instance: &Instance<T>, n: usize) -> Value {
    let power = instance.imh().power(n);
    json!({
        "tv": far(instance, power.rows()),
        "t": instance.w().iter().map(|w| instance.t_n(n, w).map(|t| digits(&t))).collect::<Vec<_>>(),
        "lambda_n": instance.imh_rejections().iter().map(|lambda| digits(&lambda.power(n))).collect::<Value>(),
        "kn_s": each(&power.apply(instance.s())),
    })
}

/// Conditional importance sampling.
fn among<T: Number>(instance: &Instance<T>, candidates: usize) -> Value {
    let (cis, snis) = (instance.cis(candidates), instance.snis(candidates));
    json!({
        "transition": rows(cis.transition.rows()),
        "reject_index": each(&cis.rejections),
        "avg_reject": digits(&dot(instance.pi(), &cis.rejections)),
        "tv1": far(instance, cis.transition.rows()),
        "tv2": far(instance, cis.transition.power(2).rows()),
        "rate": digits(&instance.cis_rate(candidates)),
        "rb_mean": each(&cis.means),
        "rb_var": each(&cis.weighted_variances),
        "full_var": each(&cis.selected_variances),
        "snis_mean": digits(&snis.mean),
        "snis_var": digits(&snis.variance),
    })
}

/// Score estimators with N states.
fn estimators<T: Number>(instance: &Instance<T>, n: usize) -> Value {
    let (kernel, mean) = (instance.imh(), instance.mean());
    let stationary = instance.sequential_stationary(&kernel, n);
    let (sequential, parallel) = (instance.sequential(&kernel, n), instance.parallel(&kernel, n));
    let part = |moments: &Moments<T>, part: fn(&Parts<T>) -> T| {
        moments.variances.iter().map(|variance| digits(&part(variance))).collect::<Value>()
    };
    let vectors = instance.count_vectors(n - 1);
    let selected = (vectors <= COUNT_VECTORS).then(|| match vectors > EXACT_VECTORS {
        true => selected(&instance.to_f64(), n),
        false => selected(instance, n),
    });
    json!({
        "seq_stationary": {
            "var": digits(&stationary.sum()),
            "diag": digits(&stationary.diagonal),
            "cov": digits(&stationary.covariance),
        },
        "seq_fixed": {
            "bias": each(&sequential.biases(&mean)),
            "var": part(&sequential, Parts::sum),
            "diag": part(&sequential, |parts| parts.diagonal.clone()),
            "cov": part(&sequential, |parts| parts.covariance.clone()),
        },
        "par_fixed": {
            "bias": each(&parallel.biases(&mean)),
            "var": part(&parallel, Parts::sum),
            "second_moment": each(&parallel.second_moments()),
        },
        "par_stationary_var": digits(&(instance.variance() / T::whole(n))),
        "single_cis_fixed": selected,
    })
}

/// One of N candidates.
fn selected<T: Number>(instance: &Instance<T>, candidates: usize) -> Value {
    let (cis, mean) = (instance.cis(candidates), instance.mean());
    let biases: Vec<T> = cis.means.iter().map(|found| found.clone() - &mean).collect();
    json!({ "bias": each(&biases), "var": each(&cis.selected_variances) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifteen_digits_are_shown() {
        let shown = [0.1 + 0.2, 2.0 / 3.0, -0.0, f64::INFINITY, 1.0 + 1e-13].map(|x| digits(&x).to_string());
        assert_eq!(shown, ["0.3", "0.666666666666667", "0.0", "null", "1.0000000000001"]);
    }

    #[test]
    fn numbers_and_fractions_are_read_alike() {
        let a = answer(r#"{"pi": [0.1, "9/10"], "q": ["0.5", 5e-1], "s": [1, "-2"]}"#).unwrap();
        let b = r#"{"pi": ["1/10", 0.9], "q": [0.5, 0.5], "s": ["1", -2], "n": [1], "candidates": [2]}"#;
        assert_eq!(a, answer(b).unwrap());
    }

    #[test]
    fn errors_name_the_place() {
        let tables = |pi: &str, q: &str, s: &str| format!(r#"{{"pi": {pi}, "q": {q}, "s": {s}}}"#);
        let counts = |more: &str| format!(r#"{{"pi": [1], "q": [1], "s": [1], {more}}}"#);
        let half = r#"["1/2", "1/2"]"#;
        let long = format!("[{}]", vec!["0"; 65].join(","));
        let five = "[0.2,0.2,0.2,0.2,0.2]";
        for (text, expected) in [
            ("{".to_owned(), "no finite problem: EOF"),
            (tables(half, "1", "[0, 1]"), "no finite problem: invalid type: integer `1`"),
            (r#"{"pi": [1], "q": [1]}"#.to_owned(), "no finite problem: missing field `s`"),
            (r#"{"pi": [1], "p": [1]}"#.to_owned(), "no finite problem: unknown field `p`, expected one of"),
            (tables(half, half, r#"[1, "x"]"#), "no finite problem: \"x\" is neither a number"),
            (tables(half, half, "[[1], [2]]"), "no finite problem: [1] is neither a number"),
            (tables(half, "[null, 1]", "[1, 2]"), "no finite problem: null is neither a number"),
            (tables(r#"["1e-2147483648", 1]"#, half, "[1, 2]"), "no finite problem: \"1e-2147483648\" is"),
            (tables("[]", half, half), "pi: no atoms"),
            (tables(half, half, "[1]"), "s has length 1, expected 2"),
            (tables("[0.5, 0.4]", half, "[1, 2]"), "pi: the sum is 0.9, expected 1"),
            (tables("[1.5, -0.5]", half, "[1, 2]"), "pi[1] is -0.5, expected not negative"),
            (tables(half, "[0, 1]", "[1, 2]"), "q[0] is 0 where pi[0] is 0.5"),
            (tables(&long, half, half), "pi has 65 entries, expected at most 64"),
            (counts(r#""n": [1, 0]"#), "n[1] is 0, expected a whole number from 1 to 1000"),
            (counts(r#""n": [1.5]"#), "no finite problem: invalid type: floating point `1.5`"),
            (counts(r#""candidates": [1]"#), "candidates[0] is 1, expected a whole number from 2"),
            (tables(five, five, "[1,2,3,4,5], \"candidates\": [999]"), "candidates[0] is 999: on 5 atoms"),
        ] {
            let found = answer(&text).unwrap_err().to_string();
            assert!(found.starts_with(expected), "{text}: {found}");
        }
    }
}
