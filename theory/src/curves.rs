//! Data of charts on the papers' claims, computed exactly at each call.
//!
//! ```
//! use mcsa_theory::curves;
//! let chart = &curves::all()[0];
//! assert_eq!((chart.claim, chart.curves.len()), ("001-L2", 3));
//! ```

use mcsa_core::Seed;

use crate::bounds::{cw, pmcsa};
use crate::claims::{Adaptive, Atoms, Searchable, Setting, Standing};
use crate::dais::{LinearDais, Normal, Quadratic};
use crate::{Instance, Parts, dot, total_variation};

/// All twelve charts.
pub fn all() -> Vec<Chart> {
    vec![
        accepted(),
        mean_after(),
        averaged(),
        path(),
        diagonal(),
        second_moment(),
        ratio(),
        adapted(),
        gap(),
        weighted(),
        pairs(),
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

impl Curve {
    /// Curve of the function `f` at these abscissae.
    pub fn of(label: &'static str, at: impl IntoIterator<Item = f64>, f: impl Fn(f64) -> f64) -> Self {
        Self { label, points: at.into_iter().map(|x| (x, f(x))).collect() }
    }

    /// The ordinate at `x`, if `x` is one of the abscissae.
    pub fn at(&self, x: f64) -> Option<f64> {
        self.points.iter().find(|point| point.0 == x).map(|point| point.1)
    }
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

impl Chart {
    /// Caption with the claim, its standing and the sentence on what the chart shows.
    pub fn caption(&self, standing: Standing) -> String {
        format!("{} ({standing}). {}", self.claim, self.sight)
    }

    /// The curve with this label.
    pub fn curve(&self, label: &str) -> Option<&Curve> {
        self.curves.iter().find(|curve| curve.label == label)
    }
}

/// Integer abscissae `from..=to`.
fn counts(from: usize, to: usize) -> impl Iterator<Item = f64> {
    (from..=to).map(|n| n as f64)
}

/// Powers of two `2^from..=2^to` as abscissae.
fn doublings(from: u32, to: u32) -> impl Iterator<Item = f64> {
    (from..=to).map(|k| f64::from(1 << k))
}

/// Two atoms with `w* = 2`: `p = (1/2, 1/2)`, `q = (1/4, 3/4)`, `s = (1, -1)`.
fn even() -> Instance<f64> {
    two([0.5, 0.5], [0.25, 0.75], [1.0, -1.0])
}

fn two(p: [f64; 2], q: [f64; 2], s: [f64; 2]) -> Instance<f64> {
    Instance::new(&p, &q, &s).expect("a guide that reaches both atoms")
}

fn accepted() -> Chart {
    let exact = Curve::of("exact", counts(1, 50), |n| {
        even().t_n(n as usize, &2.0).expect("finite above weight zero")
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

fn averaged() -> Chart {
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
        curves: [("w* = 1.5", 1.5), ("w* = 2", 2.0), ("w* = 5", 5.0), ("w* = 20", 20.0), ("w* = 100", 100.0)]
            .map(|(label, largest)| at(label, largest))
            .into(),
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
    let problem = even();
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
