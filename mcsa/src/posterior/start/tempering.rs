//! Tempered importance sampling: a start for targets without a gradient.

use faer::{Mat, Scale};
use mcsa_core::{Error, LogDensity, Parametric, Seed, Stream};
use mcsa_diagnostics::importance_sample_size;
use mcsa_estimators::Draws;
use mcsa_families::{FullRank, MomentMatched};
use mcsa_optim::deterministic::Gaussian;

use crate::posterior::rule::RULE;

/// Gaussian that tempering ends at.
pub(crate) struct Tempered {
    pub(crate) gaussian: Gaussian,
    /// Log evidence of its last draws.
    pub(crate) log_evidence: f64,
    /// The last beta; 1 if tempering came to p itself.
    pub(crate) exponent: f64,
}

impl Tempered {
    /// True if tempering came to p, found more evidence than `log_evidence`, and has a covariance with a factor.
    pub(crate) fn replaces(&self, log_evidence: f64) -> bool {
        self.exponent >= 1.0
            && self.log_evidence > log_evidence + RULE.tempered
            && self.gaussian.factor().is_ok()
    }
}

/// Draws of a rung per dimension, per squared dimension, and at least. The covariance of n effective draws costs about `d^2 / (4 n)` nats, which
/// in many dimensions would leave no rung a share of [`SHARE`].
const DRAWS: (usize, usize, usize) = (40, 2, 400);
/// Rungs that a budget affords if it has so many.
const AFFORDED: u64 = 20;
/// Effective share of the draws that the exponent of a rung leaves.
const SHARE: f64 = 0.25;
/// Draws of the first rung, per coordinate and one more, that are to have a finite density.
const WITHIN: usize = 10;
/// Coordinates of the draws of the first rung from which on there are no more, whatever has a finite density: they are held in memory.
const MOST: usize = 1_000_000;
/// Most coordinates of the draws of any rung: half a GiB, which matters from 1,300 dimensions on.
const HELD: usize = 1 << 26;
/// Most rungs.
const RUNGS: usize = 200;
/// Standard deviation of the first Gaussian.
const WIDTH: f64 = 3.0;

/// Gaussian that is near p: it takes the moments of its own draws with weights `(p/q)^beta`, again and again, until beta is 1.
///
/// The largest beta that leaves a quarter of the draws effective is found by bisection, as in tempered and nonlinear population Monte
/// Carlo (Koblents & Miguez 2015). The first Gaussian is `N(0, 9 I)`.
///
/// If `evaluations` of the target or [`RUNGS`] do not suffice, or the moments of a later rung degenerate, the Gaussian is the last one that
/// was found and its beta is less than 1. It is the first Gaussian, with a beta of 0, if `goes_on` is false during the first rung.
///
/// # Errors
/// If no draw of the first rung has a finite density, or its moments degenerate.
pub(crate) fn tempered<P: LogDensity>(
    target: &P,
    evaluations: u64,
    seed: Seed,
    goes_on: &dyn Fn() -> bool,
) -> Result<Tempered, Error> {
    let dim = target.dim();
    let family = FullRank::new(dim);
    let mut params = family.at(&vec![0.0; dim], (Mat::<f64>::identity(dim, dim) * Scale(WIDTH)).as_ref())?;
    let count = draws_of_rung(dim, evaluations);
    // Log evidence and beta of the rung before.
    let (mut last, mut spent) = (None, 0);
    for rung in 0..RUNGS {
        let lane = seed.named("tempering").stream(0, rung as u64);
        let draws_of = |lane: Stream, count: usize, params: &[f64]| {
            Draws::while_going(target, &family, params, lane, count, goes_on)
        };
        let mut draws = draws_of(lane, count, &params)?;
        let mut more = count;
        // A support that is small against the first Gaussian holds few of its draws.
        while rung == 0
            && goes_on()
            && within(&draws) < WITHIN * (dim + 1)
            && more * dim < MOST
            && AFFORDED * more as u64 <= evaluations
        {
            more *= 10;
            draws = draws_of(seed.named("first").stream(0, more as u64), more, &params)?;
        }
        if !goes_on() {
            break;
        }
        spent += more as u64;
        let ratios = draws.log_ratios();
        let beta = exponent(&ratios);
        let top = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut weights: Vec<f64> = ratios.iter().map(|ratio| (beta * (ratio - top)).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
        let (mut matched, mut work) = (vec![0.0; params.len()], vec![0.0; family.work_len(more)]);
        let gain = if beta < 1.0 { 1.0 } else { 0.9 };
        let points = draws.points.as_ref();
        if !top.is_finite() || !family.match_moments(&params, gain, points, &weights, &mut matched, &mut work)
        {
            if last.is_none() {
                return Err(outside(&draws, more));
            }
            break;
        }
        params = matched;
        last = Some((draws.log_evidence(), beta));
        if beta >= 1.0 || spent + count as u64 > evaluations {
            break;
        }
    }
    let (log_evidence, exponent) = last.unwrap_or((0.0, 0.0));
    let normal = mcsa_families::GaussianFamily::moments(&family, &params)?;
    let gaussian = Gaussian { mean: normal.mean().to_vec(), covariance: normal.covariance() };
    Ok(Tempered { gaussian, log_evidence, exponent })
}

/// Number of draws of a rung. The square of the dimension counts if the budget has [`AFFORDED`] such rungs, and memory has a limit, [`HELD`].
fn draws_of_rung(dim: usize, evaluations: u64) -> usize {
    let square = DRAWS.1 * dim * dim;
    let square = if AFFORDED * square as u64 <= evaluations { square } else { 0 };
    square.max(DRAWS.0 * dim).max(DRAWS.2).min(HELD / dim)
}

/// Number of draws with a finite log density.
fn within(draws: &Draws) -> usize {
    draws.log_p.iter().filter(|log_p| log_p.is_finite()).count()
}

/// The error of a support that the first Gaussian all but misses.
fn outside(draws: &Draws, of: usize) -> Error {
    let faults = match draws.non_finite {
        0 => String::new(),
        faults => format!(" (at {faults} it is NaN or +inf)"),
    };
    Error::invalid(format!(
        "{} of {of} draws of N(0, 9 I) have a finite log density{faults}, too few to begin at: shift and scale the coordinates so that the \
         posterior is near the origin, and map constrained parameters to the whole line",
        within(draws)
    ))
}

/// Largest beta up to 1 at which the weights `exp(beta ratio)` have an effective share of [`SHARE`].
fn exponent(ratios: &[f64]) -> f64 {
    let share = |beta: f64| {
        let tempered: Vec<f64> = ratios.iter().map(|ratio| beta * ratio).collect();
        importance_sample_size(&tempered) / ratios.len() as f64
    };
    if share(1.0) >= SHARE {
        return 1.0;
    }
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if share(middle) >= SHARE { low = middle } else { high = middle }
    }
    low.max(1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::mat;
    use mcsa_core::from_fn;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn tempering_that_ends_early_gives_the_last_gaussian() {
        let at = |centre: f64| {
            let density = from_fn(1, move |z: &[f64]| -0.5 * (z[0] - centre).powi(2));
            tempered(&density, u64::MAX, Seed::new(1), &|| true).expect("a Gaussian")
        };
        // A rung moves the Gaussian by about its standard deviation, 3: 200 of them do not come to 10^6.
        let (far, near) = (at(1e6), at(10.0));
        assert!(far.exponent < 1e-3 && far.gaussian.mean[0] > 100.0, "{} {:?}", far.exponent, far.gaussian);
        assert!(near.exponent == 1.0 && (near.gaussian.mean[0] - 10.0).abs() < 0.3, "{:?}", near.gaussian);
        // A density that is finite for two rungs or none, and for some draws more.
        let finite_for = |rungs: usize, more: usize| {
            let calls = AtomicUsize::new(0);
            let density = from_fn(1, move |z: &[f64]| {
                let is_finite = calls.fetch_add(1, Ordering::Relaxed) < rungs * DRAWS.2 + more;
                if is_finite { -1e6 * z[0] * z[0] } else { f64::NEG_INFINITY }
            });
            tempered(&density, u64::MAX, Seed::new(1), &|| true)
        };
        for more in [0, 1] {
            let later = finite_for(2, more).expect("the second Gaussian");
            assert!(
                later.exponent < 1.0 && later.log_evidence.is_finite() && later.gaussian.factor().is_ok()
            );
            assert!(finite_for(0, more).is_err());
        }
    }

    /// A cube holds 0.2 % of the draws of the first Gaussian in three dimensions, and next to none in twelve.
    #[test]
    fn a_small_support_gets_more_draws_or_an_error_that_says_so() {
        let cube = |dim: usize| {
            let inside = |z: &[f64]| z.iter().all(|z| (0.0..1.0).contains(z));
            let density = from_fn(dim, move |z: &[f64]| if inside(z) { 0.0 } else { f64::NEG_INFINITY });
            tempered(&density, 1_000_000, Seed::new(1), &|| true)
        };
        let found = cube(3).expect("a Gaussian");
        assert!(found.exponent == 1.0 && found.gaussian.mean.iter().all(|mean| (mean - 0.5).abs() < 0.1));
        let error = cube(12).map(drop).expect_err("nothing inside").to_string();
        assert!(error.contains("0 of 480000 draws"), "{error}");
    }

    #[test]
    fn a_rung_has_draws_for_its_covariance_if_the_budget_affords_them() {
        assert_eq!([1, 20, 40].map(|dim| draws_of_rung(dim, 500_000)), [400, 800, 3_200]);
        // Not in a thousand dimensions, where it would be two million, and not with few evaluations.
        assert_eq!([draws_of_rung(1_000, 500_000), draws_of_rung(40, 50_000)], [40_000, 1_600]);
        // Nor 40 per dimension in thousands of dimensions, whose draws would not be held in memory.
        assert_eq!([1_295, 2_519].map(|dim| draws_of_rung(dim, 500_000)), [51_800, 26_641]);
    }

    #[test]
    fn a_tempered_start_replaces_climbs_only_if_it_is_whole_better_and_definite() {
        let at = |log_evidence, exponent, covariance| {
            Tempered { gaussian: Gaussian { mean: vec![0.0; 2], covariance }, log_evidence, exponent }
                .replaces(1.0)
        };
        let (definite, singular) = (mat![[1.0, 0.5], [0.5, 1.0]], mat![[1.0, 1.0], [1.0, 1.0]]);
        assert!(at(4.1, 1.0, definite.clone()));
        for (log_evidence, exponent) in [(3.9, 1.0), (f64::NAN, 1.0), (4.1, 0.99)] {
            assert!(!at(log_evidence, exponent, definite.clone()), "{log_evidence} {exponent}");
        }
        assert!(!at(4.1, 1.0, singular));
        assert!(!at(4.1, 1.0, mat![[1.0, f64::NAN], [f64::NAN, 1.0]]));
    }
}
