//! Charts of the claims of pMCSA.

use super::chart::{Chart, Curve, counts, doublings};
use crate::bounds::pmcsa;
use crate::{Instance, total_variation};

pub(super) fn charts() -> Vec<Chart> {
    vec![accepted(), mean_after(), weighted(), path(), diagonal(), second_moment()]
}

/// Two atoms with `w* = 2`: `p = (1/2, 1/2)`, `q = (1/4, 3/4)`, `s = (1, -1)`.
fn even() -> Instance<f64> {
    two([0.5, 0.5], [0.25, 0.75], [1.0, -1.0])
}

fn two(p: [f64; 2], q: [f64; 2], s: [f64; 2]) -> Instance<f64> {
    Instance::new(&p, &q, &s).expect("a guide that reaches both atoms")
}

fn accepted() -> Chart {
    let problem = even();
    let exact = Curve::of("exact", counts(1, 50), |n| {
        problem.t_n(n as usize, &2.0).expect("finite above weight zero")
    });
    let printed = Curve::of("printed", counts(1, 50), |n| pmcsa::accepted_as_printed(2.0, 2.0, n as usize));
    let corrected = Curve::of("corrected", counts(1, 50), |n| pmcsa::accepted(2.0, 2.0, n as usize));
    Chart {
        name: "accepted",
        claim: "001-L2",
        x: "n",
        y: "T_n(w*)",
        sight: "What n steps accept tends to 1, the printed bound to 0. At the largest weight the corrected one is attained.",
        curves: vec![exact, printed, corrected],
    }
}

fn mean_after() -> Chart {
    let exact = Curve::of("exact", counts(1, 50), |n| even().imh().power(n as usize).apply(&[1.0, 1.0])[0]);
    let printed =
        Curve::of("printed", counts(1, 50), |n| pmcsa::mean_after_as_printed(1.0, 1.0, 2.0, n as usize));
    let corrected =
        Curve::of("corrected", counts(1, 50), |n| pmcsa::mean_after(1.0, 1.0, 1.0, 2.0, n as usize));
    Chart {
        name: "mean-after",
        claim: "001-L3",
        x: "n",
        y: "E[1] after n steps",
        sight: "A constant stays what it is; the printed bound falls below it from the third step on.",
        curves: vec![exact, printed, corrected],
    }
}

fn weighted() -> Chart {
    let same = two([0.5, 0.5], [0.5, 0.5], [1.0, -1.0]);
    let exact = Curve::of("exact", doublings(1, 8), |n| {
        let cis = same.cis(n as usize);
        cis.weighted_variances[0] + cis.means[0] * cis.means[0]
    });
    let printed = |n: f64| pmcsa::rao_blackwellised_error_as_printed(1.0, 0.0, 1.0, n as usize);
    let corrected = |n: f64| pmcsa::rao_blackwellised_error(1.0, 0.0, 1.0, n as usize);
    Chart {
        name: "weighted",
        claim: "001-T-MSCRB-MSE",
        x: "N",
        y: "mean squared error",
        sight: "Where the guide is the target the error is 1/N, the printed bound 16/N^2.",
        curves: vec![
            exact,
            Curve::of("printed", doublings(1, 8), printed),
            Curve::of("corrected", doublings(1, 8), corrected),
        ],
    }
}

/// Distance of JSA's two states of update `k` from independent copies of the target and from a stationary path.
fn path() -> Chart {
    let kernel = even().imh();
    let far = |k: f64, stationary: bool| {
        let first = kernel.power(2 * (k as usize - 1) + 1);
        let (mut law, mut other) = (Vec::new(), Vec::new());
        for z in 0..2 {
            for y in 0..2 {
                law.push(first.row(0)[z] * kernel.row(z)[y]);
                other.push(0.5 * if stationary { kernel.row(z)[y] } else { 0.5 });
            }
        }
        total_variation(&law, &other)
    };
    Chart {
        name: "path",
        claim: "001-T-JSA",
        x: "update k",
        y: "distance",
        sight: "Successive states of one chain never become independent; they do become a stationary path.",
        curves: vec![
            Curve::of("to independent copies", counts(1, 12), |k| far(k, false)),
            Curve::of("printed", counts(1, 12), |k| {
                pmcsa::sequential_distance_as_printed(2.0, 2, k as usize)
            }),
            Curve::of("to a stationary path", counts(1, 12), |k| far(k, true)),
            Curve::of("corrected", counts(1, 12), |k| pmcsa::sequential_path_distance(2.0, 2, k as usize)),
        ],
    }
}

fn diagonal() -> Chart {
    let heavy = two([0.5, 0.5], [0.005, 0.995], [1.0, -1.0]);
    let kernel = heavy.imh();
    let largest = |n: f64| {
        let moments = heavy.sequential(&kernel, n as usize);
        moments.variances.iter().map(|parts| parts.diagonal).fold(0.0, f64::max)
    };
    Chart {
        name: "diagonal",
        claim: "001-JSA-VAR-LIMIT",
        x: "N",
        y: "variance without covariances",
        sight: "Single states contribute at most 1/N; the constant 1/2 is the bound's, not the estimator's.",
        curves: vec![
            Curve::of("exact, worst start", doublings(0, 8), largest),
            Curve::of("1/N", doublings(0, 8), |n| 1.0 / n),
            Curve::of("printed", doublings(0, 8), |n| 0.5 + 1.5 / n),
        ],
    }
}

fn second_moment() -> Chart {
    let problem = even();
    let kernel = problem.imh();
    let exact = |n: f64| problem.parallel(&kernel, n as usize).second_moments()[0];
    let printed = |n: f64| pmcsa::parallel_second_moment_as_printed(1.0, 0.0, 2.0, n as usize);
    let corrected = |n: f64| pmcsa::parallel_second_moment(1.0, 0.0, 2.0, n as usize, 0);
    Chart {
        name: "second-moment",
        claim: "001-T-pMCSA-MOMENT",
        x: "N",
        y: "second moment, all chains at z*",
        sight: "Given where the chains are, more of them do not take the bias away.",
        curves: vec![
            Curve::of("exact", doublings(0, 10), exact),
            Curve::of("printed", doublings(0, 10), printed),
            Curve::of("corrected", doublings(0, 10), corrected),
        ],
    }
}
