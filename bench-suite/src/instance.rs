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
use mcsa_theory::bounds::{cw, mcmc_se, pmcsa, rate};
use mcsa_theory::{Instance, Moments, Number, Parts, Rational, dot, rational, total_variation};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Largest number of transitions, and of entries of a list of numbers.
const LONGEST: usize = 1_000;
/// Largest number of atoms.
const ATOMS: usize = 64;
/// Largest number of vectors of counts that can be summed in doubles within seconds.
const COUNT_VECTORS: usize = 2_000_000;
/// Largest numbers of vectors of counts and of transitions with exact fractions; beyond, doubles are used.
const EXACT_VECTORS: usize = 2_000;
const EXACT_STEPS: usize = 64;

/// A finite problem as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// Target, proposal and score: numbers, or strings such as `"1/3"`.
    pi: Vec<Value>,
    q: Vec<Value>,
    s: Vec<Value>,
    /// Numbers of transitions, averaged states, or chains.
    #[serde(default = "one")]
    n: Vec<usize>,
    /// Numbers of candidates, including the retained point.
    #[serde(default = "two")]
    candidates: Vec<usize>,
}

fn one() -> Vec<usize> {
    vec![1]
}

fn two() -> Vec<usize> {
    vec![2]
}

/// Answers a question, both in JSON. A decimal is read as the exact fraction, not as the nearest double.
///
/// # Errors
/// If the text is not such JSON or `pi` or `q` is not a distribution; the position is named, as in `pi[2]`.
pub fn answer(question: &str) -> Result<String, Error> {
    let question: Question = serde_json::from_str(question)
        .map_err(|error| Error::invalid(format!("no finite problem: {error}")))?;
    let [pi, q, s] = [("pi", &question.pi), ("q", &question.q), ("s", &question.s)];
    let exact = &Instance::new(&fractions(pi)?, &fractions(q)?, &fractions(s)?)?;
    for (key, counts, least) in [("n", &question.n, 1), ("candidates", &question.candidates, 2)] {
        check(key, counts.len(), LONGEST)?;
        if let Some(k) = counts.iter().position(|count| !(least..=LONGEST).contains(count)) {
            let problem = format!("expected a whole number from {least} to {LONGEST}");
            return Err(Error::invalid(format!("{key}[{k}] is {}, {problem}", counts[k])));
        }
    }
    for (k, &candidates) in question.candidates.iter().enumerate() {
        let vectors = exact.count_vectors(candidates);
        if vectors > COUNT_VECTORS {
            return Err(Error::invalid(format!(
                "candidates[{k}] is {candidates}: on {} atoms these are {vectors} vectors of counts, more than the \
                 {COUNT_VECTORS} that can be summed; ask for fewer",
                exact.len()
            )));
        }
    }
    let answer = solved(exact, &question.n, &question.candidates);
    serde_json::to_string_pretty(&answer)
        .map_err(|error| Error::invalid(format!("cannot write the answer: {error}")))
}

/// An error if a list is empty or too long; it is checked before its entries, because parsing a million fractions takes
/// seconds.
fn check(key: &str, entries: usize, most: usize) -> Result<(), Error> {
    match entries {
        0 => Err(Error::invalid(format!("{key} is empty"))),
        entries if entries > most => {
            Err(Error::invalid(format!("{key} has {entries} entries, expected at most {most}")))
        }
        _ => Ok(()),
    }
}

fn fractions((key, values): (&str, &Vec<Value>)) -> Result<Vec<Rational>, Error> {
    check(key, values.len(), ATOMS)?;
    let fraction = |(k, value): (usize, &Value)| {
        let text = match value {
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.clone(),
            Value::Array(_) if key == "s" => {
                let advice = "but scores are scalar here: ask for one coordinate at a time";
                return Err(Error::invalid(format!("s[{k}] is a vector, {advice}")));
            }
            _ => String::new(),
        };
        rational(&text).ok_or_else(|| {
            Error::invalid(format!("{key}[{k}] is {value}, expected a number or a fraction such as \"1/3\""))
        })
    };
    values.iter().enumerate().map(fraction).collect()
}

/// A number with 15 significant digits, which every double keeps; null if it is not finite.
fn double(x: f64) -> Value {
    // Adding 0 turns negative zero into zero.
    let rounded: f64 = format!("{x:.14e}").parse().unwrap_or(x) + 0.0;
    if x.is_finite() { json!(rounded) } else { Value::Null }
}

fn digits<T: Number>(x: &T) -> Value {
    double(x.to_f64())
}

fn each<T: Number>(x: &[T]) -> Value {
    x.iter().map(digits).collect()
}

fn rows<T: Number>(rows: &[Vec<T>]) -> Value {
    rows.iter().map(|row| each(row)).collect()
}

/// Entries by their numbers.
fn by_count(counts: &[usize], entry: impl Fn(usize) -> Value) -> Value {
    counts.iter().map(|&count| (count.to_string(), entry(count))).collect::<Map<_, _>>().into()
}

/// Solves a problem. Rational quantities are exact up to 64 transitions and 2000 vectors of counts, and in doubles beyond.
fn solved(exact: &Instance<Rational>, n: &[usize], candidates: &[usize]) -> Value {
    let doubles = &exact.to_f64();
    let [metropolis, barker] = [exact.imh_rejections(), exact.barker_rejections()];
    let average = |reject: &[Rational]| digits(&dot(exact.pi(), reject));
    json!({
        "w": each(exact.w()),
        "wstar": digits(&exact.largest_weight()),
        "r": digits(&exact.rate()),
        "kl": double(exact.kl()),
        "chi2_pearson": digits(&exact.pearson()),
        "chi2_neyman": exact.neyman().map(|chi2| digits(&chi2)),
        "mu": digits(&exact.mean()),
        "sigma2": digits(&exact.variance()),
        "imh": {
            "transition": rows(exact.imh().rows()),
            "avg_reject": average(&metropolis),
            "reject": each(&metropolis),
            "n": by_count(n, |n| if n > EXACT_STEPS { after(doubles, n) } else { after(exact, n) }),
        },
        "barker": {
            "transition": rows(exact.barker().rows()),
            "avg_reject": average(&barker),
            "reject": each(&barker),
        },
        "cis": by_count(candidates, |candidates| {
            let is_long = exact.count_vectors(candidates) > EXACT_VECTORS;
            if is_long { among(doubles, candidates) } else { among(exact, candidates) }
        }),
        "estimators": by_count(n, |n| if n > EXACT_STEPS { estimators(doubles, n) } else { estimators(exact, n) }),
        "bounds": by_count(n, |n| bounds(doubles, n)),
    })
}

/// Independent Metropolis-Hastings after n transitions.
fn after<T: Number>(instance: &Instance<T>, n: usize) -> Value {
    let power = instance.imh().power(n);
    json!({
        "tv": power.rows().iter().map(|row| digits(&total_variation(row, instance.pi()))).collect::<Value>(),
        "t": instance.w().iter().map(|w| instance.t_n(n, w).map(|t| digits(&t))).collect::<Vec<_>>(),
        "lambda_n": instance.imh_rejections().iter().map(|lambda| digits(&lambda.power(n))).collect::<Value>(),
        "kn_s": each(&power.apply(instance.s())),
    })
}

/// Conditional importance sampling.
fn among<T: Number>(instance: &Instance<T>, candidates: usize) -> Value {
    let (cis, snis) = (instance.cis(candidates), instance.snis(candidates));
    let twice = cis.transition.power(2);
    let far = |rows: &[Vec<T>]| {
        rows.iter().map(|row| digits(&total_variation(row, instance.pi()))).collect::<Value>()
    };
    json!({
        "transition": rows(cis.transition.rows()),
        "reject_index": each(&cis.rejections),
        "avg_reject": digits(&dot(instance.pi(), &cis.rejections)),
        "tv1": far(cis.transition.rows()),
        "tv2": far(twice.rows()),
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

/// Bounds by claim id: as printed and corrected, which are equal if the printed one holds. A bound is one value for all
/// starts, or one for each start atom.
#[derive(Default)]
struct Bounds(Map<String, Value>);

impl Bounds {
    fn add(&mut self, id: &str, printed: impl Into<Bound>, corrected: impl Into<Bound>) {
        let (printed, corrected) = (printed.into().0, corrected.into().0);
        self.0.insert(id.into(), json!({ "printed": printed, "corrected": corrected }));
    }

    /// Adds a bound that holds as printed.
    fn keep(&mut self, id: &str, bound: impl Into<Bound>) {
        let bound = bound.into();
        self.0.insert(id.into(), json!({ "printed": bound.0, "corrected": bound.0 }));
    }
}

struct Bound(Value);

impl From<f64> for Bound {
    fn from(x: f64) -> Self {
        Self(double(x))
    }
}

impl From<Vec<f64>> for Bound {
    fn from(x: Vec<f64>) -> Self {
        Self(each(&x))
    }
}

/// Every bound for `N = n`, or `n` transitions, in the first update (`t = 1`), and with the smallest valid `L`: `2 max |s|`
/// in MCMC-SE and CW, `max |s|` in pMCSA.
fn bounds(instance: &Instance<f64>, n: usize) -> Value {
    let mut table = Bounds::default();
    add_mcmc_se(&mut table, instance, n);
    add_pmcsa(&mut table, instance, n);
    add_cw(&mut table, instance, n);
    table.0.into()
}

fn add_mcmc_se(table: &mut Bounds, instance: &Instance<f64>, n: usize) {
    let (largest, range) = (instance.largest_weight(), 2.0 * instance.largest_score());
    let series = mcmc_se::sequential_bias_series(range, largest, n);
    table.add("000-T1", mcmc_se::sequential_bias_as_printed(range, largest, n), series);
    table.keep("000-T1-EQ29", mcmc_se::sequential_bias(range, largest, n));
    table.keep("000-T2", mcmc_se::parallel_bias(range, largest));
    table.keep("000-T3", mcmc_se::cis_bias(range, largest, n));
    table.keep("000-P1", largest);
    let mean = instance.mean();
    let second = instance.variance() + mean * mean;
    let farthest = instance.s().iter().map(|s| (s - mean).abs()).fold(0.0, f64::max);
    let chi_squared = instance.neyman().unwrap_or(f64::INFINITY);
    let printed = mcmc_se::parallel_bias_by_divergence_as_printed(second, chi_squared, largest);
    let corrected = mcmc_se::parallel_bias_by_divergence(instance.variance(), chi_squared, largest, farthest);
    table.add("000-T4", printed, corrected);
}

fn add_pmcsa(table: &mut Bounds, instance: &Instance<f64>, n: usize) {
    let (largest, norm) = (instance.largest_weight(), instance.largest_score());
    let (mean, chi_squared) = (instance.mean().abs(), instance.pearson());
    table.keep("001-W", largest);
    table.keep("001-L1-UP", rate(largest));
    let each = |bound: &dyn Fn(f64) -> f64| instance.w().iter().map(|&w| bound(w)).collect::<Vec<f64>>();
    table.keep("001-L1-LOW", each(&|w| cw::imh_rejection(w).max(0.0)));
    let printed = each(&|w| pmcsa::accepted_as_printed(w, largest, n));
    table.add("001-L2", printed, each(&|w| pmcsa::accepted(w, largest, n)));
    // The lemma holds for nonnegative functions: here `|s|`.
    let sizes: Vec<f64> = instance.s().iter().map(|s| s.abs()).collect();
    let (target, proposal) = (dot(instance.pi(), &sizes), dot(instance.q(), &sizes));
    let printed = sizes.iter().map(|&size| pmcsa::mean_after_as_printed(proposal, size, largest, n));
    let corrected = sizes.iter().map(|&size| pmcsa::mean_after(target, proposal, size, largest, n));
    table.add("001-L3", printed.collect::<Vec<_>>(), corrected.collect::<Vec<_>>());
    table.keep("001-T-MSC-MIX", mcmc_se::cis_rate(largest, n));
    table.keep("001-T-MSC-VAR", norm * norm);
    let (printed, corrected) =
        (pmcsa::sum_of_rates_as_printed(largest, n), pmcsa::sum_of_rates_closed(largest, n));
    table.add("001-JSA-SUM", printed, corrected);
    let printed = pmcsa::sequential_distance_as_printed(largest, n, 1);
    table.add("001-T-JSA", printed, pmcsa::sequential_path_distance(largest, n, 1));
    table.keep("001-T-pMCSA-MIX", pmcsa::parallel_distance(largest, n, 1));
    let printed = pmcsa::parallel_variance_as_printed(norm, largest, n);
    table.add("001-T-pMCSA-VAR", printed, pmcsa::parallel_variance(norm, n));
    let printed = pmcsa::parallel_second_moment_as_printed(norm, mean, largest, n);
    table.add("001-T-pMCSA-MOMENT", printed, pmcsa::parallel_second_moment(norm, mean, largest, n, 0));
    let moments = instance.sequential(&instance.imh(), n);
    let covariances = || moments.variances.iter().map(|parts| parts.covariance);
    let printed = covariances().map(|c| pmcsa::sequential_second_moment_as_printed(norm, mean, c, n));
    let corrected = covariances().map(|c| pmcsa::sequential_second_moment(norm, mean, c, largest, n, 0));
    table.add("001-T-JSA-MOMENT", printed.collect::<Vec<_>>(), corrected.collect::<Vec<_>>());
    if n > 1 {
        // With a single candidate there is no fresh one, and no bound.
        let printed = pmcsa::rao_blackwellised_error_as_printed(norm, chi_squared, largest, n);
        let corrected = pmcsa::rao_blackwellised_error(norm, chi_squared, largest, n);
        table.add("001-T-MSCRB-MSE", printed, corrected);
        table.keep("001-BIAS-RB", pmcsa::rao_blackwellised_bias(norm, chi_squared, largest, n, 1));
    }
}

/// In CW, N counts fresh candidates of conditional importance sampling.
fn add_cw(table: &mut Bounds, instance: &Instance<f64>, n: usize) {
    let (largest, range, kl) = (instance.largest_weight(), 2.0 * instance.largest_score(), instance.kl());
    let corrected = cw::sequential_bias(range, largest, n, 1);
    table.add("003-T1", cw::sequential_bias_as_printed(range, largest, n, 1), corrected);
    table.keep("003-T2", cw::parallel_bias(range, largest, 1));
    table.add("003-T2-ADAPTED", cw::parallel_bias(1.0, largest, n), rate(largest));
    table.keep("003-P1", largest);
    let each = |bound: &dyn Fn(f64) -> f64| instance.w().iter().map(|&w| bound(w)).collect::<Vec<f64>>();
    table.keep("003-P3", each(&|w| cw::cis_rejection(w, n)));
    table.keep("003-EQ12", each(&|w| 1.0 - cw::cis_rejection(w, n)));
    table.keep("003-P4", each(&cw::imh_rejection));
    let mean = dot(instance.pi(), instance.w());
    table.keep("003-L1", mean);
    let variance = instance.with_statistic(instance.w()).variance();
    let (printed, gap) = (cw::jensen_gap_as_printed(kl, largest), cw::jensen_gap(mean, variance, n));
    table.add("003-T4-GAP", printed, gap);
    table.add("003-T4-MEAN", cw::mean_rejection(kl, n, printed), cw::mean_rejection(kl, n, gap));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        answer(text).unwrap_err().to_string()
    }

    #[test]
    fn fifteen_digits_are_shown() {
        let shown = [0.1 + 0.2, 2.0 / 3.0, -0.0, f64::INFINITY, 1.0 + 1e-13].map(|x| double(x).to_string());
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
        let long = format!("[{}]", vec!["\"x\""; 65].join(","));
        let five = "[0.2,0.2,0.2,0.2,0.2]";
        for (text, expected) in [
            ("{".to_owned(), "no finite problem: EOF"),
            ("[]".to_owned(), "no finite problem: invalid length 0"),
            (
                tables(half, "1", "[0, 1]"),
                "no finite problem: invalid type: integer `1`, expected a sequence at line 1",
            ),
            (tables("[]", half, half), "pi is empty"),
            (r#"{"pi": [1], "q": [1]}"#.to_owned(), "no finite problem: missing field `s`"),
            (
                r#"{"pi": [1], "p": [1]}"#.to_owned(),
                "no finite problem: unknown field `p`, expected one of `pi`",
            ),
            (tables(half, half, r#"[1, "x"]"#), "s[1] is \"x\""),
            (tables(half, half, "[[1], [2]]"), "s[0] is a vector"),
            (tables(half, "[null, 1]", "[1, 2]"), "q[0] is null"),
            (tables(half, half, "[1]"), "s has length 1, expected 2"),
            (tables("[0.5, 0.4]", half, "[1, 2]"), "pi: the sum is 0.9, expected 1"),
            (tables("[1.5, -0.5]", half, "[1, 2]"), "pi[1] is -0.5, expected not negative"),
            (tables(half, "[0, 1]", "[1, 2]"), "q[0] is 0 where pi[0] is 0.5"),
            (tables(&long, half, half), "pi has 65 entries, expected at most 64"),
            (tables(half, half, &long), "s has 65 entries, expected at most 64"),
            (tables(r#"["1e-2147483648", 1]"#, half, "[1, 2]"), "pi[0] is"),
            (counts(r#""n": [1, 0]"#), "n[1] is 0, expected a whole number from 1 to 1000"),
            (counts(r#""n": [1.5]"#), "no finite problem: invalid type: floating point `1.5`"),
            (counts(r#""n": []"#), "n is empty"),
            (counts(r#""candidates": [1]"#), "candidates[0] is 1, expected a whole number from 2"),
            (tables(five, five, "[1,2,3,4,5], \"candidates\": [999]"), "candidates[0] is 999: on 5 atoms"),
        ] {
            let found = refused(&text);
            assert!(found.starts_with(expected), "{text}: {found}");
        }
    }
}
