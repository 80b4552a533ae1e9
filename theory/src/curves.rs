//! Data of charts on the papers' claims, computed exactly at each call. Symbols of their texts are in italics, `*n*`, with
//! indices, `*T*_{n}`, and exponents.
//!
//! ```
//! use mcsa_theory::curves;
//! let chart = &curves::all()[0];
//! assert_eq!((chart.claim, chart.curves.len()), ("001-L2", 3));
//! ```

use mcsa_core::Seed;

use crate::bounds::{cw, pmcsa};
use crate::claims::cw::spread;
use crate::claims::{Adaptive, Atoms, Searchable, Setting};
use crate::dais::{LinearDais, Normal, Quadratic};
use crate::{dot, total_variation};

/// All twelve charts.
pub fn all() -> Vec<Chart> {
    let [even, same, heavy] = [[0.25, 0.75], [0.5, 0.5], [0.005, 0.995]]
        .map(|guide| Atoms::new(&[0.5, 0.5], &guide, &[1.0, -1.0]).problem);
    let (kernel, heavy_kernel) = (even.imh(), heavy.imh());
    let error = |n: usize| {
        let cis = same.cis(n);
        cis.weighted_variances[0] + cis.means[0] * cis.means[0]
    };
    // Distance of JSA's two states of update `k` from independent copies of the target and from a stationary path.
    let far = |k: usize, stationary: bool| {
        let first = kernel.power(2 * (k - 1) + 1);
        let (mut law, mut other) = (Vec::new(), Vec::new());
        for z in 0..2 {
            for y in 0..2 {
                law.push(first.row(0)[z] * kernel.row(z)[y]);
                other.push(0.5 * if stationary { kernel.row(z)[y] } else { 0.5 });
            }
        }
        total_variation(&law, &other)
    };
    let diagonal = |n: usize| {
        let moments = heavy.sequential(&heavy_kernel, n);
        moments.variances.iter().map(|parts| parts.diagonal).fold(0.0, f64::max)
    };
    let ratio = |w_star: f64, n: usize| {
        cw::sequential_bias(1.0, w_star, n, 1) / cw::sequential_bias_as_printed(1.0, w_star, n, 1)
    };
    let follower = |steps| Adaptive::new(&[0.5, 0.5], &[vec![0.5, 0.5], vec![0.75, 0.25]], steps, 0);
    // The covariances given the start, averaged over the start.
    let given = |n: usize| {
        let given = even.sequential(&kernel, n).variances;
        let covariances: Vec<f64> = given.iter().map(|parts| parts.covariance).collect();
        even.variance() / n as f64 + dot(even.pi(), &covariances)
    };
    vec![
        chart(
            ["accepted", "001-L2"],
            ["*n*", "*T*_{n}(*w*\\*)"],
            "What *n* steps accept tends to 1, the printed bound to 0. At the largest weight the corrected one is attained.",
            1..=50,
            [
                ("exact", &|n| even.t_n(n, &2.0).expect("finite above weight zero")),
                ("printed", &|n| pmcsa::accepted_as_printed(2.0, 2.0, n)),
                ("corrected", &|n| pmcsa::accepted(2.0, 2.0, n)),
            ],
        ),
        chart(
            ["mean-after", "001-L3"],
            ["*n*", "E[1] after *n* steps"],
            "A constant stays what it is; the printed bound falls below it from the third step on.",
            1..=50,
            [
                ("exact", &|n| kernel.power(n).apply(&[1.0, 1.0])[0]),
                ("printed", &|n| pmcsa::mean_after_as_printed(1.0, 1.0, 2.0, n)),
                ("corrected", &|n| pmcsa::mean_after(1.0, 1.0, 1.0, 2.0, n)),
            ],
        ),
        chart(
            ["weighted", "001-T-MSCRB-MSE"],
            ["*N*", "Mean squared error"],
            "Where the guide is the target the error is 1/*N*, the printed bound 16/*N*^{2}.",
            doublings(1, 8),
            [
                ("exact", &error),
                ("printed", &|n| pmcsa::rao_blackwellised_error_as_printed(1.0, 0.0, 1.0, n)),
                ("corrected", &|n| pmcsa::rao_blackwellised_error(1.0, 0.0, 1.0, n)),
            ],
        ),
        chart(
            ["path", "001-T-JSA"],
            ["Update *k*", "Distance"],
            "Successive states of one chain never become independent; they do become a stationary path.",
            1..=12,
            [
                ("to independent copies", &|k| far(k, false)),
                ("printed", &|k| pmcsa::sequential_distance_as_printed(2.0, 2, k)),
                ("to a stationary path", &|k| far(k, true)),
                ("corrected", &|k| pmcsa::sequential_path_distance(2.0, 2, k)),
            ],
        ),
        chart(
            ["diagonal", "001-JSA-VAR-LIMIT"],
            ["*N*", "Variance without covariances"],
            "Single states contribute at most 1/*N*; the constant 1/2 is the bound's, not the estimator's.",
            doublings(0, 8),
            [
                ("exact, worst start", &diagonal),
                ("1/*N*", &|n| 1.0 / n as f64),
                ("printed", &|n| 0.5 + 1.5 / n as f64),
            ],
        ),
        chart(
            ["second-moment", "001-T-pMCSA-MOMENT"],
            ["*N*", "Second moment, all chains at *z*\\*"],
            "Given where the chains are, more of them do not take the bias away.",
            doublings(0, 10),
            [
                ("exact", &|n| even.parallel(&kernel, n).second_moments()[0]),
                ("printed", &|n| pmcsa::parallel_second_moment_as_printed(1.0, 0.0, 2.0, n)),
                ("corrected", &|n| pmcsa::parallel_second_moment(1.0, 0.0, 2.0, n, 0)),
            ],
        ),
        chart(
            ["sequential-ratio", "003-T1"],
            ["*N*", "Bias over printed bound"],
            "The bias from the mode over its printed bound, as *p*(*z*\\*) vanishes: above 1 for every *N* >= 2, without limit.",
            1..=20,
            [
                ("*w*\\* = 1.5", &|n| ratio(1.5, n)),
                ("*w*\\* = 2", &|n| ratio(2.0, n)),
                ("*w*\\* = 5", &|n| ratio(5.0, n)),
                ("*w*\\* = 20", &|n| ratio(20.0, n)),
                ("*w*\\* = 100", &|n| ratio(100.0, n)),
            ],
        ),
        chart(
            ["adapted", "003-T2-ADAPTED"],
            ["*t*", "Distance"],
            "With a guide that follows the chain the distance tends to 1/6, whatever the rates.",
            1..=20,
            [
                ("exact", &|t| follower(t).distance()),
                ("printed", &|t| cw::parallel_bias(1.0, 2.0, t)),
                ("limit", &|_| 1.0 / 6.0),
            ],
        ),
        gap(),
        weighted(),
        chart(
            ["pairs", "000-EQ10"],
            ["*N*", "Variance of the average"],
            "Without the covariances of conditional means the variance comes out too small.",
            1..=30,
            [("exact", &|n| even.sequential_stationary(&kernel, n).sum()), ("printed", &given)],
        ),
        surrogate(),
    ]
}

/// A labelled curve or set of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Label in the legend.
    pub label: &'static str,
    /// Points `(x, y)`.
    pub points: Vec<(f64, f64)>,
}

/// The curves of one figure, with axis labels and caption.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Name of the chart, used for files.
    pub name: &'static str,
    /// Name of the claim that the chart illustrates.
    pub claim: &'static str,
    /// Label of the abscissa.
    pub x: &'static str,
    /// Label of the ordinate.
    pub y: &'static str,
    /// Sentence of the caption on what the chart shows.
    pub sight: &'static str,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// The powers of two `2^from..=2^to`.
fn doublings(from: u32, to: u32) -> impl Iterator<Item = usize> + Clone {
    (from..=to).map(|k| 1 << k)
}

/// Chart of functions of a number, with their labels.
fn chart<const N: usize>(
    [name, claim]: [&'static str; 2],
    [x, y]: [&'static str; 2],
    sight: &'static str,
    at: impl Iterator<Item = usize> + Clone,
    curves: [(&'static str, &dyn Fn(usize) -> f64); N],
) -> Chart {
    let curve = |(label, f): (&'static str, &dyn Fn(usize) -> f64)| Curve {
        label,
        points: at.clone().map(|n| (n as f64, f(n))).collect(),
    };
    Chart { name, claim, x, y, sight, curves: curves.map(curve).into() }
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
        x: "Bound",
        y: "Gap",
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
    let heavy = Atoms::new(&[p, 0.25, 0.75 - p], &[q, 0.5, 0.5 - q], &[0.5, 1.0, 0.9]).problem;
    let spread = spread(&heavy, 0.5);
    let printed =
        |n: usize| cw::weighted_variance_as_printed(heavy.cis(n + 1).rejections[0], heavy.snis(n).variance);
    chart(
        ["weighted-variance", "003-EQ13"],
        ["*N*", "Variance"],
        "Growth like *N* is right; the size is set by how far the values are from that of the retained point.",
        doublings(0, 6),
        [
            ("exact", &|n| heavy.cis(n + 1).weighted_variances[0]),
            ("printed", &printed),
            ("corrected", &|n| cw::weighted_variance(900.0, n, spread)),
        ],
    )
}

fn surrogate() -> Chart {
    let prior = Normal::scalar(0.0, 1.0).expect("a standard normal distribution");
    let (likelihood, wrong) = (Quadratic::scalar(2.0, 3.0), Quadratic::scalar(2.6, 3.8));
    let posterior = |likelihood: &Quadratic| prior.posterior(likelihood).expect("positive curvature").0;
    let (right, limit) = (posterior(&likelihood), posterior(&wrong).divergence(&posterior(&likelihood)));
    let gap = |surrogate: &Quadratic, steps: usize| {
        LinearDais::from_prior(&prior, surrogate, steps, (steps as f64).powf(-0.25)).gap(&right)
    };
    chart(
        ["surrogate", "004-P3"],
        ["*K*", "Gap"],
        "More steps bring the gap down to the divergence of the surrogate's posterior, and no further.",
        doublings(2, 16),
        [
            ("surrogate", &|k| gap(&wrong, k)),
            ("exact likelihood", &|k| gap(&likelihood, k)),
            ("limit", &|_| limit),
        ],
    )
}
