//! Solution of a finite problem, as JSON.

use std::collections::BTreeMap;

use mcsa_core::Error;
use mcsa_theory::{Instance, Moments, Number, Parts, Rational, dot, total_variation};
use serde::Serialize;

use super::bounds::{self, Bounds};
use super::digits::Digits;
use super::question::{COUNT_VECTORS, Question};

type Vector = Vec<Digits>;
type Rows = Vec<Vector>;

/// Solution of a finite problem. Vectors have one entry per start atom, in the given order; null means that a number is
/// infinite or had too many terms to sum.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// Importance weights `pi / q`.
    pub w: Vector,
    /// Largest weight.
    pub wstar: Digits,
    /// `1 - 1 / wstar`.
    pub r: Digits,
    /// `KL(pi || q)`.
    pub kl: Digits,
    /// `sum (pi - q)^2 / q`.
    pub chi2_pearson: Digits,
    /// `sum (pi - q)^2 / pi`.
    pub chi2_neyman: Digits,
    /// `E_pi[s]`.
    pub mu: Digits,
    /// `V_pi[s]`.
    pub sigma2: Digits,
    /// Independent Metropolis-Hastings.
    pub imh: Imh,
    /// Barker's rule.
    pub barker: Barker,
    /// Conditional importance sampling, by the number of candidates including the retained point.
    pub cis: BTreeMap<usize, Cis>,
    /// Score estimators, by each N of `n`.
    pub estimators: BTreeMap<usize, Estimators>,
    /// Bounds of the papers, by each N of `n` and by claim id.
    pub bounds: BTreeMap<usize, BTreeMap<String, Bounds>>,
}

/// Independent Metropolis-Hastings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Imh {
    /// `K(z, y)`, row z.
    pub transition: Rows,
    /// `E_q[1 - min(1, w' / w(z))]`; a proposal equal to the atom counts as accepted.
    pub reject: Vector,
    /// Mean of `reject` under pi.
    pub avg_reject: Digits,
    /// After n transitions.
    pub n: BTreeMap<usize, ImhSteps>,
}

/// Independent Metropolis-Hastings after n transitions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ImhSteps {
    /// `TV(K^n(z, .), pi)`.
    pub tv: Vector,
    /// `T_n(w(z))` of `K^n = T_n(max(w, w(z))) pi + lambda^n delta`.
    pub t: Vector,
    /// `lambda(w(z))^n`.
    pub lambda_n: Vector,
    /// `(K^n s)(z)`.
    pub kn_s: Vector,
}

/// Barker's rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Barker {
    /// `K(z, y)`, row z.
    pub transition: Rows,
    /// Probability that the retained index is kept.
    pub reject: Vector,
    /// Mean of `reject` under pi.
    pub avg_reject: Digits,
}

/// Conditional importance sampling among N candidates, including the retained atom z.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cis {
    /// `K(z, y)`, row z.
    pub transition: Rows,
    /// Probability that the retained index is selected.
    pub reject_index: Vector,
    /// Mean of `reject_index` under pi.
    pub avg_reject: Digits,
    /// `TV(K(z, .), pi)`.
    pub tv1: Vector,
    /// `TV(K^2(z, .), pi)`.
    pub tv2: Vector,
    /// `1 - (N - 1) / (2 wstar + N - 2)`.
    pub rate: Digits,
    /// Mean of the weighted average of all candidates' scores.
    pub rb_mean: Vector,
    /// Variance of the weighted average.
    pub rb_var: Vector,
    /// Variance of the selected candidate's score.
    pub full_var: Vector,
    /// Mean of self-normalised importance sampling with N independent draws of q and no retained point.
    pub snis_mean: Digits,
    /// Variance of self-normalised importance sampling.
    pub snis_var: Digits,
}

/// Score estimators with N states.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimators {
    /// Average of N transitions of one chain from pi.
    pub seq_stationary: StationaryMoments,
    /// Average of N transitions of one chain from atom z.
    pub seq_fixed: SequentialMoments,
    /// Average of N independent chains from atom z, one transition each.
    pub par_fixed: ParallelMoments,
    /// Variance of the average of N independent chains from pi, one transition each.
    pub par_stationary_var: Digits,
    /// Selected one of N candidates, with atom z retained; null if there are too many terms to sum.
    pub single_cis_fixed: Option<CandidateMoments>,
}

/// A variance in two parts: `diag` from single states, `cov` from pairs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StationaryMoments {
    /// `diag + cov`.
    pub var: Digits,
    /// `1/N^2 sum_i V[s_i]`.
    pub diag: Digits,
    /// `2/N^2 sum_{i<j} Cov[s_i, s_j]`.
    pub cov: Digits,
}

/// Moments of an average of one chain, from each atom.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SequentialMoments {
    /// `E[g | z] - mu`, signed.
    pub bias: Vector,
    /// `V[g | z] = diag + cov`.
    pub var: Vector,
    /// `1/N^2 sum_i V[s_i | z]`.
    pub diag: Vector,
    /// `2/N^2 sum_{i<j} Cov[s_i, s_j | z]`.
    pub cov: Vector,
}

/// Moments of an average over chains that start at one atom.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParallelMoments {
    /// `E[g | z] - mu`, signed.
    pub bias: Vector,
    /// `V[g | z]`.
    pub var: Vector,
    /// `E[g^2 | z]`.
    pub second_moment: Vector,
}

/// Moments of a selected candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateMoments {
    /// `E[g | z] - mu`, signed.
    pub bias: Vector,
    /// `V[g | z]`.
    pub var: Vector,
}

/// Largest number of vectors of counts that are summed in exact fractions; beyond, doubles are used.
const EXACT_VECTORS: usize = 2_000;

/// Largest number of transitions for which powers are exact; beyond, doubles are used.
const EXACT_STEPS: usize = 64;

/// Answers a question, both in JSON.
///
/// # Errors
/// If the question is invalid; the position is named.
pub fn answer(question: &str) -> Result<String, Error> {
    let answer = Answer::to(&Question::read(question)?);
    let text = serde_json::to_string_pretty(&answer);
    text.map_err(|error| Error::invalid(format!("cannot write the answer: {error}")))
}

impl Answer {
    /// Solves a problem. Rational quantities are exact up to 64 transitions and 2000 vectors of counts, and in doubles
    /// beyond.
    pub fn to(question: &Question) -> Self {
        let exact = &question.instance;
        let doubles = &exact.to_f64();
        let (kernel, barker) = (exact.imh(), exact.barker());
        let average = |reject: &[Rational]| Digits::of(&dot(exact.pi(), reject));
        let rows = |rows: &[Vec<Rational>]| rows.iter().map(|row| Digits::each(row)).collect();
        let reject = exact.imh_rejections();
        let steps = |&n: &usize| {
            (n, if n > EXACT_STEPS { ImhSteps::after(doubles, n) } else { ImhSteps::after(exact, n) })
        };
        let imh = Imh {
            transition: rows(kernel.rows()),
            avg_reject: average(&reject),
            reject: Digits::each(&reject),
            n: question.n.iter().map(steps).collect(),
        };
        let reject = exact.barker_rejections();
        let barker = Barker {
            transition: rows(barker.rows()),
            avg_reject: average(&reject),
            reject: Digits::each(&reject),
        };
        let cis = question.candidates.iter().map(|&candidates| {
            let long = exact.count_vectors(candidates) > EXACT_VECTORS;
            (candidates, if long { Cis::among(doubles, candidates) } else { Cis::among(exact, candidates) })
        });
        let estimators = question.n.iter().map(|&n| {
            let long = n > EXACT_STEPS;
            (n, if long { Estimators::with(doubles, n) } else { Estimators::with(exact, n) })
        });
        Self {
            w: Digits::each(exact.w()),
            wstar: Digits::of(&exact.largest_weight()),
            r: Digits::of(&exact.rate()),
            kl: Digits(exact.kl()),
            chi2_pearson: Digits::of(&exact.pearson()),
            chi2_neyman: exact.neyman().map_or(Digits(f64::INFINITY), |chi2| Digits::of(&chi2)),
            mu: Digits::of(&exact.mean()),
            sigma2: Digits::of(&exact.variance()),
            imh,
            barker,
            cis: cis.collect(),
            estimators: estimators.collect(),
            bounds: question.n.iter().map(|&n| (n, bounds::of(doubles, n))).collect(),
        }
    }
}

impl ImhSteps {
    fn after<T: Number>(instance: &Instance<T>, n: usize) -> Self {
        let power = instance.imh().power(n);
        let t = |w| instance.t_n(n, w).map_or(Digits(f64::INFINITY), |t| Digits::of(&t));
        Self {
            tv: power.rows().iter().map(|row| Digits::of(&total_variation(row, instance.pi()))).collect(),
            t: instance.w().iter().map(t).collect(),
            lambda_n: instance.imh_rejections().iter().map(|lambda| Digits::of(&lambda.power(n))).collect(),
            kn_s: Digits::each(&power.apply(instance.s())),
        }
    }
}

impl Cis {
    fn among<T: Number>(instance: &Instance<T>, candidates: usize) -> Self {
        let (cis, snis) = (instance.cis(candidates), instance.snis(candidates));
        let twice = cis.transition.power(2);
        let far = |rows: &[Vec<T>]| {
            rows.iter().map(|row| Digits::of(&total_variation(row, instance.pi()))).collect()
        };
        Self {
            transition: cis.transition.rows().iter().map(|row| Digits::each(row)).collect(),
            reject_index: Digits::each(&cis.rejections),
            avg_reject: Digits::of(&dot(instance.pi(), &cis.rejections)),
            tv1: far(cis.transition.rows()),
            tv2: far(twice.rows()),
            rate: Digits::of(&instance.cis_rate(candidates)),
            rb_mean: Digits::each(&cis.means),
            rb_var: Digits::each(&cis.weighted_variances),
            full_var: Digits::each(&cis.selected_variances),
            snis_mean: Digits::of(&snis.mean),
            snis_var: Digits::of(&snis.variance),
        }
    }
}

/// One part of each variance, or the sum of the parts.
fn parts<T: Number>(moments: &Moments<T>, part: impl Fn(&Parts<T>) -> T) -> Vector {
    moments.variances.iter().map(|variance| Digits::of(&part(variance))).collect()
}

impl Estimators {
    fn with<T: Number>(instance: &Instance<T>, n: usize) -> Self {
        let (kernel, mean) = (instance.imh(), instance.mean());
        let stationary = instance.sequential_stationary(&kernel, n);
        let (sequential, parallel) = (instance.sequential(&kernel, n), instance.parallel(&kernel, n));
        let seq_stationary = StationaryMoments {
            var: Digits::of(&stationary.sum()),
            diag: Digits::of(&stationary.diagonal),
            cov: Digits::of(&stationary.covariance),
        };
        let seq_fixed = SequentialMoments {
            bias: Digits::each(&sequential.biases(&mean)),
            var: parts(&sequential, Parts::sum),
            diag: parts(&sequential, |parts| parts.diagonal.clone()),
            cov: parts(&sequential, |parts| parts.covariance.clone()),
        };
        let par_fixed = ParallelMoments {
            bias: Digits::each(&parallel.biases(&mean)),
            var: parts(&parallel, Parts::sum),
            second_moment: Digits::each(&parallel.second_moments()),
        };
        let vectors = instance.count_vectors(n - 1);
        let single_cis_fixed = (vectors <= COUNT_VECTORS).then(|| match vectors > EXACT_VECTORS {
            true => CandidateMoments::among(&instance.to_f64(), n),
            false => CandidateMoments::among(instance, n),
        });
        let par_stationary_var = Digits::of(&(instance.variance() / T::whole(n)));
        Self { seq_stationary, seq_fixed, par_fixed, par_stationary_var, single_cis_fixed }
    }
}

impl CandidateMoments {
    fn among<T: Number>(instance: &Instance<T>, candidates: usize) -> Self {
        let (cis, mean) = (instance.cis(candidates), instance.mean());
        let biases: Vec<T> = cis.means.iter().map(|found| found.clone() - &mean).collect();
        Self { bias: Digits::each(&biases), var: Digits::each(&cis.selected_variances) }
    }
}
