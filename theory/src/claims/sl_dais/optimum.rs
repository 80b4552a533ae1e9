//! Claims on the best chains of four steps for a linear regression: the mass, and a surrogate on a quarter of the data.

use std::fmt;
use std::sync::{Arc, OnceLock};

use faer::{Mat, Side};
use mcsa_core::{Seed, Stream};
use mcsa_optim::deterministic::Lbfgs;

use super::linear::METHOD;
use crate::claims::atoms::tuple;
use crate::claims::{Bound, Claim, SL_DAIS, Searchable, Sides};
use crate::dais::{LinearDais, Normal, Quadratic};

const STEPS: usize = 4;
const DIM: usize = 3;
/// Number of data.
const ROWS: usize = 40;
/// Number of moments `sum_n x_n x_n^T` and `sum_n x_n y_n`.
const MOMENTS: usize = DIM * (DIM + 3) / 2;
/// `eta_max` of the paper.
const LONGEST: f64 = 0.25;

/// Law of the momentum, given the diagonal mass M.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Momentum {
    /// `v ~ N(0, M)`.
    Variance,
    /// `v ~ N(0, M^2)`.
    Deviation,
}

/// Linear regression on 40 data in three correlated dimensions of different scale.
struct Problem {
    covariates: Mat<f64>,
    responses: Vec<f64>,
    prior: Normal,
    posterior: Normal,
}

/// Nonnegative weights, at most as many of them positive as there are `moments` of each row, for which the weighted sums of the
/// moments are those of unit weights (Caratheodory's theorem).
fn caratheodory(moments: &Mat<f64>) -> Option<Vec<f64>> {
    let (rows, few) = moments.shape();
    let mut weights = vec![1.0; rows];
    loop {
        let kept: Vec<usize> = (0..rows).filter(|&n| weights[n] > 0.0).collect();
        if kept.len() <= few {
            return Some(weights);
        }
        // A combination of few + 1 rows that vanishes: the right singular vector of their smallest singular value, zero.
        let kept = &kept[..=few];
        let gram = Mat::from_fn(few + 1, few + 1, |a, b| {
            (0..few).map(|k| moments[(kept[a], k)] * moments[(kept[b], k)]).sum::<f64>()
        });
        let null = gram.self_adjoint_eigen(Side::Lower).ok()?.U().col(0).to_owned();
        // The longest way along it that leaves all weights nonnegative ends where one of them is zero.
        let reach = |a: usize| if null[a] > 0.0 { weights[kept[a]] / null[a] } else { f64::INFINITY };
        let first = (0..=few).min_by(|&a, &b| reach(a).total_cmp(&reach(b)))?;
        let step = reach(first);
        if !step.is_finite() {
            return None;
        }
        for (a, &n) in kept.iter().enumerate() {
            weights[n] -= step * null[a];
        }
        weights[kept[first]] = 0.0;
    }
}

impl Problem {
    fn seeded(seed: u64) -> Option<Self> {
        let stream = &mut Seed::new(seed).named("linear regression").stream(0, 0);
        let mut covariates = Mat::zeros(ROWS, DIM);
        let mut responses = Vec::new();
        for n in 0..ROWS {
            let common = stream.normal();
            for (i, scale) in [0.5, 1.0, 2.0].into_iter().enumerate() {
                covariates[(n, i)] = scale * (0.6 * common + 0.8 * stream.normal());
            }
            responses.push(0.7 * covariates[(n, 0)] - 0.4 * covariates[(n, 2)] + stream.normal());
        }
        let prior = Normal::diagonal(vec![0.0; DIM], &[1.0; DIM]).ok()?;
        let likelihood = Quadratic::regression(&covariates, &responses, &[1.0; ROWS], 1.0);
        let (posterior, _) = prior.posterior(&likelihood).ok()?;
        Some(Self { covariates, responses, prior, posterior })
    }

    /// Weights of the data, at most nine of them positive, that keep their moments.
    fn few(&self) -> Option<Vec<f64>> {
        let moment = |n: usize, k: usize| {
            let (i, j) = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2), (0, 3), (1, 3), (2, 3)][k];
            self.covariates[(n, i)] * if j < DIM { self.covariates[(n, j)] } else { self.responses[n] }
        };
        caratheodory(&Mat::from_fn(ROWS, MOMENTS, moment))
    }

    /// The chain with unconstrained parameters: mean and log deviation of the base, step size, kappa, gamma, log increments of the
    /// temperatures and log mass; the data have these weights in its guide.
    fn chain(&self, momentum: Momentum, point: &[f64], weights: &[f64]) -> Option<LinearDais> {
        let exp = |x: &[f64]| x.iter().map(|x| x.exp()).collect::<Vec<f64>>();
        let (base, rest) = point.split_at(2 * DIM);
        let (schedule, log_mass) = rest.split_at(3 + STEPS);
        let mass = exp(log_mass);
        let increments = exp(&schedule[3..]);
        let total: f64 = increments.iter().sum();
        let mut so_far = 0.0;
        let mut beta = |d: &f64| {
            so_far += d / total;
            so_far
        };
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let deviation = |m: &f64| if momentum == Momentum::Variance { m.sqrt() } else { *m };
        Some(LinearDais {
            prior: self.prior.clone(),
            base: Normal::diagonal(base[..DIM].to_vec(), &exp(&base[DIM..])).ok()?,
            surrogate: Quadratic::regression(&self.covariates, &self.responses, weights, 1.0),
            step_size: LONGEST * sigmoid(schedule[0]),
            kappa: LONGEST * schedule[1],
            longest: LONGEST,
            gamma: sigmoid(schedule[2]),
            betas: increments.iter().map(&mut beta).collect(),
            deviation: mass.iter().map(deviation).collect(),
            mass,
        })
    }

    fn gap(&self, momentum: Momentum, point: &[f64], weights: &[f64]) -> Option<f64> {
        Some(self.chain(momentum, point, weights)?.gap(&self.posterior)).filter(|gap| gap.is_finite())
    }

    /// Start of a climb: effective steps `eta / sqrt(M)` of the size of the posterior's deviations, or a mass of 1.
    fn start(&self, momentum: Momentum, step_size: f64) -> Vec<f64> {
        let precision = self.posterior.precision();
        let mut start = self.posterior.mean().to_vec();
        start.extend((0..DIM).map(|i| -0.5 * precision[(i, i)].ln()));
        start.extend([step_size, 0.0, 0.0]);
        start.extend([0.0; STEPS]);
        let share = if momentum == Momentum::Deviation { 0.0 } else { 1.0 };
        start.extend((0..DIM).map(|i| share * (0.02 * precision[(i, i)]).ln()));
        start
    }

    /// The least gap that L-BFGS finds from a start, and its point.
    fn descend(&self, momentum: Momentum, start: &[f64]) -> Option<(f64, Vec<f64>)> {
        let mut moved = start.to_vec();
        let objective = |point: &[f64], gradient: &mut [f64]| {
            moved.copy_from_slice(point);
            let mut at = |i: usize, by: f64| {
                moved[i] = point[i] + by;
                let gap = self.gap(momentum, &moved, &[1.0; ROWS]).unwrap_or(f64::NAN);
                moved[i] = point[i];
                gap
            };
            for (i, slope) in gradient.iter_mut().enumerate() {
                *slope = (at(i, -1e-5) - at(i, 1e-5)) / 2e-5;
            }
            -self.gap(momentum, point, &[1.0; ROWS]).unwrap_or(f64::NAN)
        };
        let peak = Lbfgs::with(1e-7, 400, 10).ok()?.maximise(objective, start).ok()?;
        Some((-peak.value, peak.point))
    }

    /// The least gap from three starts.
    fn best(&self, momentum: Momentum) -> Option<(f64, Vec<f64>)> {
        let climb = |step_size: f64| self.descend(momentum, &self.start(momentum, step_size));
        [-1.0, 0.0, 1.0].into_iter().filter_map(climb).min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// A problem, the weights of nine of its data, and the best chains.
struct Found {
    problem: Problem,
    few: Vec<f64>,
    /// With `v ~ N(0, M)`.
    variance: (f64, Vec<f64>),
    /// With `v ~ N(0, M^2)`.
    deviation: (f64, Vec<f64>),
}

impl Found {
    fn of(seed: u64) -> Option<Self> {
        let problem = Problem::seeded(seed)?;
        let few = problem.few()?;
        let (variance, deviation) = (problem.best(Momentum::Variance)?, problem.best(Momentum::Deviation)?);
        Some(Self { problem, few, variance, deviation })
    }
}

/// The best chains of one problem, sought when first needed.
type Lazy = Arc<OnceLock<Option<Found>>>;

/// A chain with `v ~ N(0, M^2)` near the best of its kind.
#[derive(Clone)]
struct Near {
    found: Lazy,
    point: Vec<f64>,
}

impl Near {
    fn found(lazy: &Lazy) -> Option<&Found> {
        lazy.get_or_init(|| Found::of(3)).as_ref()
    }
}

impl Searchable for Near {
    type Setting = Lazy;

    /// Normal steps from the best chain, small or large.
    fn draw(found: &Lazy, stream: &mut Stream) -> Self {
        let spread = [0.01, 0.1, 1.0][(3.0 * stream.uniform()) as usize];
        let centre = Self::found(found).map_or(&[][..], |found| &found.deviation.1);
        let point = centre.iter().map(|x| x + spread * stream.normal()).collect();
        Self { found: found.clone(), point }
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
    let formula = "5 min gap with v ~ N(0, M) <= gap of any chain with v ~ N(0, M^2), K = 4";
    let printed = Bound::<Near>::new(formula, vec![Lazy::default()], |case| {
        let found = Near::found(&case.found)?;
        let gap = found.problem.gap(Momentum::Deviation, &case.point, &[1.0; ROWS])?;
        Some(Sides::at_most(5.0 * found.variance.0, gap))
    });
    Claim::new("004-MASS", SL_DAIS, "Section 3, mass matrix", printed.by(METHOD).twin_times(0.4))
        .assuming("one linear regression of 40 data on three covariates of different scale, mean-field base, drift v / M")
        .remark("the best of three climbs stands for the minimum; on other data v ~ N(0, M^2) can have the smaller gap")
}

fn rows() -> Claim {
    fn sides(case: &Near, weights: impl Fn(&Found) -> Vec<f64>) -> Option<Sides> {
        let found = Near::found(&case.found)?;
        let gap = |weights: &[f64]| found.problem.gap(Momentum::Variance, &case.point, weights);
        Some(Sides::equal(gap(&weights(found))?, gap(&[1.0; ROWS])?))
    }
    let formula =
        "gap with a surrogate of d (d + 3) / 2 weighted rows = gap with the likelihood, for any chain";
    let printed =
        Bound::<Near>::new(formula, vec![Lazy::default()], |case| sides(case, |found| found.few.clone()));
    let printed = printed.by(METHOD).twin("ten rows of weight N / 10", |case| {
        sides(case, |_| (0..ROWS).map(|n| if n < 10 { 4.0 } else { 0.0 }).collect())
    });
    Claim::new("004-ROWS", SL_DAIS, "Section 7.1", printed)
        .assuming("a linear regression of 40 data on three covariates, nine rows and weights by Caratheodory's theorem")
        .remark("so the best surrogate of few rows is at least as good as all data at the same number of steps")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_keep_the_moments() {
        let problem = Problem::seeded(3).unwrap();
        let few = problem.few().unwrap();
        assert!(
            few.iter().filter(|weight| **weight > 0.0).count() <= MOMENTS && few.iter().all(|w| *w >= 0.0)
        );
        let of =
            |weights: &[f64]| Quadratic::regression(&problem.covariates, &problem.responses, weights, 1.0);
        let rest = of(&few).minus(&of(&[1.0; ROWS]));
        assert!(rest.slope.iter().all(|x| x.abs() < 1e-10) && rest.curvature.norm_max() < 1e-10);
    }

    /// Any chain is better than its base, and neither law of the momentum is better on all data.
    #[test]
    fn either_momentum_can_have_the_smaller_gap() {
        let gaps = |seed: u64| {
            let Found { problem: Problem { posterior, .. }, variance, deviation, .. } =
                Found::of(seed).unwrap();
            let precision = posterior.precision();
            let scales: Vec<f64> = (0..DIM).map(|i| precision[(i, i)].powf(-0.5)).collect();
            let mean_field = Normal::diagonal(posterior.mean().to_vec(), &scales).unwrap();
            (mean_field.divergence(&posterior), variance.0, deviation.0)
        };
        let (mean_field, by_variance, by_deviation) = gaps(3);
        assert!(5.0 * by_variance < by_deviation && 5.0 * by_deviation < mean_field);
        let (mean_field, by_variance, by_deviation) = gaps(1);
        assert!(1.2 * by_deviation < by_variance && 5.0 * by_variance < mean_field);
    }
}
