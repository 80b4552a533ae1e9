//! Charts of the claims of CW, MCMC-SE and SL-DAIS.

use mcsa_core::Seed;

use super::chart::{Chart, Curve, counts, doublings};
use crate::bounds::cw;
use crate::claims::{Adaptive, Atoms, Searchable, Setting};
use crate::dais::{LinearDais, Normal, Quadratic};
use crate::{Instance, Parts, dot, total_variation};

pub(super) fn charts() -> Vec<Chart> {
    vec![ratio(), adapted(), gap(), weighted(), pairs(), surrogate()]
}

fn ratio() -> Chart {
    let at = |label, largest: f64| {
        Curve::of(label, counts(1, 20), move |n| {
            let n = n as usize;
            cw::sequential_bias(1.0, largest, n, 1) / cw::sequential_bias_as_printed(1.0, largest, n, 1)
        })
    };
    Chart {
        name: "sequential-ratio",
        claim: "003-T1",
        x: "N",
        y: "bias over printed bound",
        sight: "The bias from the mode over its printed bound, as p(z*) vanishes: above 1 for every N >= 2, without limit.",
        curves: vec![
            at("w* = 1.5", 1.5),
            at("w* = 2", 2.0),
            at("w* = 5", 5.0),
            at("w* = 20", 20.0),
            at("w* = 100", 100.0),
        ],
    }
}

fn adapted() -> Chart {
    let case = Adaptive::new(&[0.5, 0.5], &[vec![0.5, 0.5], vec![0.75, 0.25]], 1, 0);
    let step = case.transition();
    let far = |t: f64| total_variation(step.power(t as usize).row(0), &[0.5, 0.5]);
    Chart {
        name: "adapted",
        claim: "003-T2-ADAPTED",
        x: "t",
        y: "distance",
        sight: "With a guide that follows the chain the distance tends to 1/6, whatever the rates.",
        curves: vec![
            Curve::of("exact", counts(1, 20), far),
            Curve::of("printed", counts(1, 20), |t| cw::parallel_bias(1.0, 2.0, t as usize)),
            Curve::of("limit", counts(1, 20), |_| 1.0 / 6.0),
        ],
    }
}

/// Random problems on two atoms, one fresh candidate.
fn gap() -> Chart {
    let setting = Setting::atoms(&[2])[0];
    let mut points = [Vec::new(), Vec::new()];
    for k in 0..400 {
        let problem = Atoms::draw(&setting, &mut Seed::new(1).named("jensen gap").stream(0, k)).problem;
        let mean = dot(problem.pi(), problem.w());
        let h = problem.w().iter().map(|w| (mean - w) / ((mean + 1.0) * (w + 1.0))).collect::<Vec<_>>();
        let gap = dot(problem.pi(), &h);
        if gap > 1e-9 {
            let variance = problem.with_statistic(problem.w()).variance();
            points[0].push((cw::jensen_gap_as_printed(problem.kl(), problem.largest_weight()), gap));
            points[1].push((cw::jensen_gap(mean, variance, 1), gap));
        }
    }
    let [printed, corrected] = points;
    Chart {
        name: "jensen-gap",
        claim: "003-T4-GAP",
        x: "bound",
        y: "gap",
        sight: "A point above the diagonal refutes its bound: many do for the printed one, none for the corrected one.",
        curves: vec![
            Curve { label: "printed", points: printed },
            Curve { label: "corrected", points: corrected },
        ],
    }
}

/// Three atoms, the retained one with weight 900, the others with weights 1/2 and 3/2.
fn weighted() -> Chart {
    let (p, q) = (9e-7, 1e-9);
    let heavy = Instance::new(&[p, 0.25, 0.75 - p], &[q, 0.5, 0.5 - q], &[0.5, 1.0, 0.9]);
    let heavy = heavy.expect("a guide that reaches all atoms");
    let product: Vec<f64> = heavy.w().iter().zip(heavy.s()).map(|(w, s)| w * (s - 0.5)).collect();
    let mean = dot(heavy.q(), &product);
    let spread = dot(heavy.q(), &product.iter().map(|x| (x - mean).powi(2)).collect::<Vec<_>>());
    let exact = |n: f64| heavy.cis(n as usize + 1).weighted_variances[0];
    let printed = |n: f64| {
        let rejection = heavy.cis(n as usize + 1).rejections[0];
        cw::weighted_variance_as_printed(rejection, heavy.snis(n as usize).variance)
    };
    Chart {
        name: "weighted-variance",
        claim: "003-EQ13",
        x: "N",
        y: "variance",
        sight: "Growth like N is right; the size is set by how far the values are from that of the retained point.",
        curves: vec![
            Curve::of("exact", doublings(0, 6), exact),
            Curve::of("printed", doublings(0, 6), printed),
            Curve::of("corrected", doublings(0, 6), |n| cw::weighted_variance(900.0, n as usize, spread)),
        ],
    }
}

fn pairs() -> Chart {
    let problem =
        Instance::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0]).expect("a guide that reaches both atoms");
    let kernel = problem.imh();
    let exact = |n: f64| problem.sequential_stationary(&kernel, n as usize).sum();
    // The covariances given the start, averaged over the start.
    let printed = |n: f64| {
        let given = problem.sequential(&kernel, n as usize).variances;
        let covariances: Vec<f64> = given.iter().map(|parts: &Parts<f64>| parts.covariance).collect();
        problem.variance() / n + dot(problem.pi(), &covariances)
    };
    Chart {
        name: "pairs",
        claim: "000-EQ10",
        x: "N",
        y: "variance of the average",
        sight: "Without the covariances of conditional means the variance comes out too small.",
        curves: vec![Curve::of("exact", counts(1, 30), exact), Curve::of("printed", counts(1, 30), printed)],
    }
}

fn surrogate() -> Chart {
    let prior = Normal::scalar(0.0, 1.0).expect("a standard normal distribution");
    let (likelihood, wrong) = (Quadratic::scalar(2.0, 3.0), Quadratic::scalar(2.6, 3.8));
    let posterior = |likelihood: &Quadratic| prior.posterior(likelihood).expect("positive curvature").0;
    let (right, limit) = (posterior(&likelihood), posterior(&wrong).divergence(&posterior(&likelihood)));
    let gap = |surrogate: &Quadratic, steps: f64| {
        LinearDais::from_prior(&prior, surrogate, steps as usize, steps.powf(-0.25)).gap(&right)
    };
    Chart {
        name: "surrogate",
        claim: "004-P3",
        x: "K",
        y: "gap",
        sight: "More steps bring the gap down to the divergence of the surrogate's posterior, and no further.",
        curves: vec![
            Curve::of("surrogate", doublings(2, 16), |k| gap(&wrong, k)),
            Curve::of("exact likelihood", doublings(2, 16), |k| gap(&likelihood, k)),
            Curve::of("limit", doublings(2, 16), |_| limit),
        ],
    }
}
