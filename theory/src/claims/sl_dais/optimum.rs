//! Claims on the best chains of four steps for a linear regression: the mass, and a surrogate on a quarter of the data.

use std::fmt;
use std::sync::{Arc, OnceLock};

use faer::Mat;
use mcsa_core::{Seed, Stream};
use mcsa_optim::deterministic::Lbfgs;

use super::METHOD;
use crate::claims::atoms::tuple;
use crate::claims::{Bound, Claim, SL_DAIS, Searchable, Sides};
use crate::dais::{LinearDais, Normal, Quadratic};

const STEPS: usize = 4;
const DIM: usize = 3;
const ROWS: usize = 10;
/// `eta_max` of the paper.
const LONGEST: f64 = 0.25;

/// Chain of four steps with a mean-field base, by the law of its momentum and its guide.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// `v ~ N(0, M)`, guided by all data.
    Variance,
    /// `v ~ N(0, M^2)`, guided by all data.
    Deviation,
    /// `v ~ N(0, M)`, guided by ten rows with free weights.
    Surrogate,
}

/// Linear regression on 40 rows in three correlated dimensions of different scale.
struct Problem {
    covariates: Mat<f64>,
    responses: Vec<f64>,
    prior: Normal,
    posterior: Normal,
}

impl Problem {
    fn new() -> Option<Self> {
        let stream = &mut Seed::new(3).named("linear regression").stream(0, 0);
        let mut covariates = Mat::zeros(40, DIM);
        let mut responses = Vec::new();
        for n in 0..40 {
            let common = stream.normal();
            for (i, scale) in [0.5, 1.0, 2.0].into_iter().enumerate() {
                covariates[(n, i)] = scale * (0.6 * common + 0.8 * stream.normal());
            }
            responses.push(0.7 * covariates[(n, 0)] - 0.4 * covariates[(n, 2)] + stream.normal());
        }
        let prior = Normal::diagonal(vec![0.0; DIM], &[1.0; DIM]).ok()?;
        let likelihood = Quadratic::regression(&covariates, &responses, &[1.0; 40], 1.0);
        let (posterior, _) = prior.posterior(&likelihood).ok()?;
        Some(Self { covariates, responses, prior, posterior })
    }

    /// The chain with unconstrained parameters: mean and log deviation of the base, step size, kappa, gamma, log increments of the
    /// temperatures, log mass and, for a surrogate, the log weights of its rows.
    fn chain(&self, kind: Kind, point: &[f64]) -> Option<LinearDais> {
        let exp = |x: &[f64]| x.iter().map(|x| x.exp()).collect::<Vec<f64>>();
        let (base, rest) = point.split_at(2 * DIM);
        let (schedule, rest) = rest.split_at(3 + STEPS);
        let (log_mass, log_weights) = rest.split_at(DIM);
        let mass = exp(log_mass);
        let increments = exp(&schedule[3..]);
        let total: f64 = increments.iter().sum();
        let mut so_far = 0.0;
        let mut beta = |d: &f64| {
            so_far += d / total;
            so_far
        };
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let mut weights = if kind == Kind::Surrogate { exp(log_weights) } else { vec![1.0; 40] };
        weights.resize(40, 0.0);
        Some(LinearDais {
            prior: self.prior.clone(),
            base: Normal::diagonal(base[..DIM].to_vec(), &exp(&base[DIM..])).ok()?,
            surrogate: Quadratic::regression(&self.covariates, &self.responses, &weights, 1.0),
            step_size: LONGEST * sigmoid(schedule[0]),
            kappa: LONGEST * schedule[1],
            longest: LONGEST,
            gamma: sigmoid(schedule[2]),
            betas: increments.iter().map(&mut beta).collect(),
            deviation: if kind == Kind::Deviation {
                mass.clone()
            } else {
                exp(&log_mass.iter().map(|x| 0.5 * x).collect::<Vec<f64>>())
            },
            mass,
        })
    }

    fn gap(&self, kind: Kind, point: &[f64]) -> Option<f64> {
        Some(self.chain(kind, point)?.gap(&self.posterior)).filter(|gap| gap.is_finite())
    }

    /// The least gap that L-BFGS finds from three starts, and its point.
    fn best(&self, kind: Kind) -> Option<(f64, Vec<f64>)> {
        let descend = |step_size: f64| {
            let precision = self.posterior.precision();
            let mut start = self.posterior.mean().to_vec();
            start.extend((0..DIM).map(|i| -0.5 * precision[(i, i)].ln()));
            start.extend([step_size, 0.0, 0.0]);
            start.extend([0.0; STEPS]);
            // Effective steps eta / sqrt(M) of the size of the posterior's deviations.
            let of_mass = if kind == Kind::Deviation { 0.0 } else { 1.0 };
            start.extend((0..DIM).map(|i| of_mass * (0.02 * precision[(i, i)]).ln()));
            if kind == Kind::Surrogate {
                start.extend([(40.0 / ROWS as f64).ln(); ROWS]);
            }
            let mut moved = start.clone();
            let objective = |point: &[f64], gradient: &mut [f64]| {
                moved.copy_from_slice(point);
                let mut at = |i: usize, by: f64| {
                    moved[i] = point[i] + by;
                    let gap = self.gap(kind, &moved).unwrap_or(f64::NAN);
                    moved[i] = point[i];
                    gap
                };
                for (i, slope) in gradient.iter_mut().enumerate() {
                    *slope = (at(i, -1e-5) - at(i, 1e-5)) / 2e-5;
                }
                -self.gap(kind, point).unwrap_or(f64::NAN)
            };
            let peak = Lbfgs::with(1e-7, 400, 10).ok()?.maximise(objective, &start).ok()?;
            Some((-peak.value, peak.point))
        };
        [-1.0, 0.0, 1.0].into_iter().filter_map(descend).min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// The problem and the best chain of each kind, found when first asked for.
#[derive(Default)]
struct Best(OnceLock<Option<(Problem, [(f64, Vec<f64>); 3])>>);

impl Best {
    fn get(&self) -> Option<&(Problem, [(f64, Vec<f64>); 3])> {
        let find = || {
            let problem = Problem::new()?;
            let best = |kind: Kind| problem.best(kind);
            let all = [best(Kind::Variance)?, best(Kind::Deviation)?, best(Kind::Surrogate)?];
            Some((problem, all))
        };
        self.0.get_or_init(find).as_ref()
    }
}

/// A chain near the best of its kind.
#[derive(Clone)]
struct Near {
    kind: Kind,
    best: Arc<Best>,
    point: Vec<f64>,
}

impl Near {
    /// The gap of the chain, and the least gap found for a kind.
    fn gaps(&self, other: Kind) -> Option<(f64, f64)> {
        let (problem, best) = self.best.get()?;
        Some((problem.gap(self.kind, &self.point)?, best[other as usize].0))
    }
}

impl Searchable for Near {
    type Setting = (Kind, Arc<Best>);

    /// Normal steps from the best chain, small or large.
    fn draw((kind, best): &Self::Setting, stream: &mut Stream) -> Self {
        let spread = [0.01, 0.1, 1.0][(3.0 * stream.uniform()) as usize];
        let centre = best.get().map_or(&[][..], |(_, best)| &best[*kind as usize].1);
        let point = centre.iter().map(|x| x + spread * stream.normal()).collect();
        Self { kind: *kind, best: best.clone(), point }
    }

    fn coordinates(&self) -> Vec<f64> {
        self.point.clone()
    }

    fn at(&self, coordinates: &[f64]) -> Self {
        Self { point: coordinates.to_vec(), ..self.clone() }
    }
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unconstrained parameters {}", tuple(&self.point))
    }
}

pub(super) fn claims() -> Vec<Claim> {
    vec![mass(), rows()]
}

fn mass() -> Claim {
    let formula = "3 min gap with v ~ N(0, M) <= gap of any chain with v ~ N(0, M^2), K = 4";
    let settings = vec![(Kind::Deviation, Arc::default())];
    let printed = Bound::<Near>::new(formula, settings, |case| {
        let (gap, best) = case.gaps(Kind::Variance)?;
        Some(Sides::at_most(3.0 * best, gap))
    });
    Claim::new("004-MASS", SL_DAIS, "Section 3, mass matrix", printed.by(METHOD).twin_times(0.1))
        .assuming("a linear regression on 40 data in three dimensions, mean-field base, drift v / M")
        .remark("the best of three climbs stands for the minimum; numpyro draws v ~ N(0, M^2)")
}

fn rows() -> Claim {
    let formula = "min gap with a surrogate of 10 of 40 rows <= gap of any chain with the likelihood, K = 4";
    let settings = vec![(Kind::Variance, Arc::default())];
    let printed = Bound::<Near>::new(formula, settings, |case| {
        let (gap, best) = case.gaps(Kind::Surrogate)?;
        Some(Sides::at_most(best, gap))
    });
    Claim::new("004-ROWS", SL_DAIS, "Section 7.1", printed.by(METHOD).twin_times(0.1))
        .assuming("a linear regression on 40 data in three dimensions, mean-field base")
        .remark("weights of the surrogate also mend errors of the steps, which the likelihood cannot")
}
