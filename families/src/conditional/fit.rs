//! Fit of a conditional location-scale family to draws and their scores: inclusive divergence with a Stein control variate.

use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef, Side};
use mcsa_core::{
    Columns, Error, Family, Parametric, finite_matrix, positive, same_length, square_fits_in_memory,
};
use mcsa_numeric as numeric;
use rayon::prelude::*;

use super::basis::{basis, unit_factors};
use super::triangle::{self, Unit};
use super::{Conditional, ConditionalMap, Degree, Parts, features_into, saturate};
use crate::Normal;

/// Gain of held-out mean log q, in nats, from which on a part belongs to q.
const GAIN: f64 = 0.05;
/// Largest dimension in which all parts are tried.
const SMALL: usize = 60;
/// Alternations of location and scale; steps of Newton's method in each; halvings of a step.
const ROUNDS: usize = 4;
const NEWTON: usize = 25;
const HALVINGS: usize = 30;
/// Step below which Newton's method ends. Without saturation the error is then of the order of its square.
const STEP: f64 = 1e-4;
/// Longest step of a log scale or its slopes.
const LONGEST: f64 = 3.0;
/// Ridge of normal equations with a unit diagonal.
const RIDGE: f64 = 1e-11;
/// Damping of the step in c, which has no curvature where nothing saturates.
const DAMPING: f64 = 1e-4;
/// `E ln |e|` of a standard normal: `-(gamma + ln 2) / 2`, gamma Euler's constant.
const MEAN_LOG: f64 = -0.635_181_422_730_739_1;
/// Least draws in each half of the chains.
const FEWEST: usize = 8;

/// A [`Conditional`] family fitted to draws.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionalFit {
    /// The map at the fitted parameters, with its family.
    pub map: ConditionalMap,
    /// True if the equations have the Stein control variate.
    pub stein: bool,
    /// Mean log q of each half of the chains under the fit to the other half, in nats.
    pub held_out: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum Basis {
    #[default]
    Diagonal,
    Cholesky,
    Joint,
}

/// Choices of the fit, made one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Choices {
    stein: bool,
    basis: Basis,
    parts: Parts,
}

/// Fits a [`Conditional`] family to draws of chains (columns) and to `gradients`, the gradients of log p there. `chain` is the
/// number of the chain of each draw.
///
/// With `r` the residual and `g` the score of a child in the basis V, `E_p[d log q] = 0` plus terms of mean zero under p,
/// since `E[g | z_D] = 0` and `E[r g + 1 | z_D] = 0`:
///
/// ```text
/// location:  mean( (r exp(-2 s) + m g) f ) = 0                  f: phi, exp(2 s), exp(2 s - l)
/// scale:     mean( (r^2 exp(-2 s) - k) ds ) = 0,  k = (1 - m) - m r g
///            the stationary point of  mean( r^2 exp(-2 s)/2 + s k ),  convex in a, b without saturation
/// ```
/// `m = 0` is maximum likelihood. `m = 1` has no noise where p is conditionally Gaussian in this basis, because then
/// `r exp(-2 s) + g = 0` at each draw. So a funnel is learnt from draws that have never been in its neck.
///
/// Location (weighted least squares) and scale (Gauss-Newton) alternate. Parts are tried in a fixed order. A part is kept if it
/// raises the mean log q of left-out draws by 0.05 nats, where each half of the chains is left out once. The order is: m = 1, V
/// the Cholesky factor, saturation with shrinkage, V by joint diagonalisation, shrinkage, drift, a linear mean, a quadratic mean,
/// m = 1 again. Above 60 dimensions it is: m = 1, the linear mean, the Cholesky factor, saturation with shrinkage, m = 1 again.
/// Drivers have the mean and the covariance of the draws.
///
/// # Errors
/// If shapes differ, a number is not finite, a driver is not a coordinate, a coordinate does not move, the drivers' covariance is not
/// positive definite, or half of the chains has fewer than 8 draws.
pub fn fit_conditional(
    draws: MatRef<'_, f64>,
    gradients: MatRef<'_, f64>,
    chain: &[usize],
    drivers: &[usize],
) -> Result<ConditionalFit, Error> {
    let refuse = |error: Error| error.within("fit_conditional");
    let cloud = Cloud::new(draws, gradients, drivers).map_err(refuse)?;
    same_length("chain", draws.ncols(), chain.len()).map_err(refuse)?;
    let mut names = chain.to_vec();
    names.sort_unstable();
    names.dedup();
    let middle = names.get(names.len() / 2).copied().unwrap_or(0);
    let (first, second): (Vec<_>, Vec<_>) = (0..chain.len()).partition(|&j| chain[j] < middle);
    if first.len().min(second.len()) < FEWEST {
        let reason =
            format!("half of the chains has {} draws, expected {FEWEST}", first.len().min(second.len()));
        return Err(refuse(Error::invalid(reason)));
    }
    let judge = |choices: Choices| -> Result<f64, Error> {
        let of = |train: &[usize], test: &[usize]| {
            cloud.fit(train, choices).map(|map| cloud.sum_log_q(&map, test))
        };
        Ok((of(&first, &second)? + of(&second, &first)?) / chain.len() as f64)
    };
    let mut chosen = Choices::default();
    let mut held_out = judge(chosen).unwrap_or(f64::NEG_INFINITY);
    for option in options(draws.nrows()) {
        let mut trial = chosen;
        option(&mut trial);
        let has_rank = trial.basis == Basis::Diagonal || cloud.children.len() < first.len().min(second.len());
        if trial == chosen || !has_rank {
            continue;
        }
        let found = judge(trial).unwrap_or(f64::NEG_INFINITY);
        if found > held_out + GAIN || held_out.is_nan() {
            (chosen, held_out) = (trial, found);
        }
    }
    let all: Vec<usize> = (0..chain.len()).collect();
    let map = cloud.fit(&all, chosen).map_err(refuse)?;
    Ok(ConditionalFit { map, stein: chosen.stein, held_out })
}

/// What is tried in this dimension, in this order.
fn options(dim: usize) -> &'static [fn(&mut Choices)] {
    const STEIN: fn(&mut Choices) = |choices| choices.stein = true;
    const CHOLESKY: fn(&mut Choices) = |choices| choices.basis = Basis::Cholesky;
    const LINEAR: fn(&mut Choices) = |choices| choices.parts.degree = Degree::Linear;
    const SATURATING: fn(&mut Choices) = |choices| {
        (choices.parts.saturating, choices.parts.shrinking) = (true, true);
    };
    match dim <= SMALL {
        true => &[
            STEIN,
            CHOLESKY,
            SATURATING,
            |choices| choices.basis = Basis::Joint,
            |choices| choices.parts.shrinking = true,
            |choices| choices.parts.drifting = true,
            LINEAR,
            |choices| choices.parts.degree = Degree::Quadratic,
            // Once more: in a basis that does not fit, it explodes.
            STEIN,
        ],
        false => &[STEIN, LINEAR, CHOLESKY, SATURATING, STEIN],
    }
}

/// Draws with their gradients, and units.
struct Cloud<'a> {
    draws: MatRef<'a, f64>,
    gradients: MatRef<'a, f64>,
    drivers: &'a [usize],
    children: Vec<usize>,
    /// Mean and standard deviation of each driver.
    centre: Vec<f64>,
    scale: Vec<f64>,
    /// `sqrt(sd z / sd g)` of each child.
    units: Vec<f64>,
}

impl<'a> Cloud<'a> {
    fn new(draws: MatRef<'a, f64>, gradients: MatRef<'a, f64>, drivers: &'a [usize]) -> Result<Self, Error> {
        same_length("rows of the gradients", draws.nrows(), gradients.nrows())?;
        same_length("columns of the gradients", draws.ncols(), gradients.ncols())?;
        finite_matrix("draws", draws)?;
        finite_matrix("gradients", gradients)?;
        let spread = |matrix: MatRef<'_, f64>, i: usize| {
            let (row, count) = (matrix.row(i), matrix.ncols() as f64);
            let mean = row.iter().sum::<f64>() / count;
            (mean, (row.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / count).sqrt())
        };
        let moves = |i: usize| {
            let (mean, sd) = spread(draws, i);
            positive("standard deviation of draws", sd)
                .map_err(|error| error.within(format!("coordinate {i}")))?;
            Ok::<_, Error>((mean, sd))
        };
        let unit = |&i: &usize| {
            let (sd, steep) = (moves(i)?.1, spread(gradients, i).1);
            Ok::<_, Error>(if steep > 0.0 { (sd / steep).sqrt() } else { sd })
        };
        // The family checks the drivers.
        let units = vec![1.0; drivers.len()];
        let family = Conditional::new(draws.nrows(), drivers, units.clone(), units, Parts::default())?;
        let drivers_moved = drivers.iter().map(|&driver| moves(driver)).collect::<Result<Vec<_>, _>>()?;
        let (centre, scale) = drivers_moved.into_iter().unzip();
        let units = family.children.iter().map(unit).collect::<Result<_, _>>()?;
        Ok(Self { draws, gradients, drivers, children: family.children, centre, scale, units })
    }

    /// Sum of log q over some draws.
    fn sum_log_q(&self, map: &ConditionalMap, columns: &[usize]) -> f64 {
        let z = Mat::from_fn(self.draws.nrows(), columns.len(), |i, j| self.draws[(i, columns[j])]);
        let (mut log_q, mut work) = (vec![0.0; columns.len()], vec![0.0; map.family.work_len(1)]);
        map.family.log_probs(&map.params, z.as_ref(), &mut log_q, &mut work);
        log_q.iter().sum()
    }

    /// The fit to some draws.
    fn fit(&self, columns: &[usize], choices: Choices) -> Result<ConditionalMap, Error> {
        let (count, dim) = (columns.len(), self.children.len());
        let parts = Parts { dense: choices.basis != Basis::Diagonal, ..choices.parts };
        let (centre, scale) = (self.centre.clone(), self.scale.clone());
        let mut family = Conditional::new(self.draws.nrows(), self.drivers, centre, scale, parts)?;
        let z = Mat::from_fn(self.drivers.len(), count, |k, j| self.draws[(self.drivers[k], columns[j])]);
        // 1 and the drivers in their units.
        let linear = Mat::from_fn(count, 1 + self.drivers.len(), |j, k| match k.checked_sub(1) {
            None => 1.0,
            Some(k) => (z[(k, j)] - self.centre[k]) / self.scale[k],
        });
        let x = linear.subcols(1, self.drivers.len());
        let (mut phi, mut row) = (Mat::zeros(count, family.num_features()), vec![0.0; family.num_features()]);
        for j in 0..count {
            features_into(&x.row(j).iter().copied().collect::<Vec<_>>(), &mut row);
            row.iter().enumerate().for_each(|(k, value)| phi[(j, k)] = *value);
        }
        let child =
            |matrix: MatRef<'_, f64>| Mat::from_fn(count, dim, |j, i| matrix[(self.children[i], columns[j])]);
        let (mut y, mut g) = (child(self.draws), child(self.gradients));
        let fitted = |y: &Mat<f64>, g: &Mat<f64>| -> Result<Vec<Child>, Error> {
            let setting = Setting { x: linear.as_ref(), phi: phi.as_ref(), choices };
            let child = |i: usize| setting.child(y.col_as_slice(i), g.col_as_slice(i)).ok_or_else(hopeless);
            (0..dim).into_par_iter().map(child).collect()
        };
        let (mut lower, mut upper) = (vec![], vec![]);
        if parts.dense {
            square_fits_in_memory("children", dim)?;
            let rough = fitted(&y, &g)?;
            let common = |j: usize| (rough.iter().map(|child| child.logs[j]).sum::<f64>() / dim as f64).exp();
            let common: Vec<f64> = (0..count).map(common).collect();
            let residuals =
                Mat::from_fn(count, dim, |j, i| rough[i].residuals[j] / (self.units[i] * common[j]));
            let scores = Mat::from_fn(count, dim, |j, i| g[(j, i)] * self.units[i] * common[j]);
            let drivers = (choices.basis == Basis::Joint).then_some(x);
            let v = basis(residuals.as_ref(), scores.as_ref(), drivers).ok_or_else(hopeless)?;
            let order;
            (order, lower, upper) = unit_factors(v, &self.units);
            family.children = order.iter().map(|&i| self.children[i]).collect();
            for j in 0..count {
                let gather = |matrix: &Mat<f64>| order.iter().map(|&i| matrix[(j, i)]).collect::<Vec<_>>();
                let (mut row, mut slope) = (gather(&y), gather(&g));
                Unit(&lower).solve(&mut row);
                Unit(&upper).solve_transposed(&mut row);
                Unit(&lower).multiply_transposed(&mut slope);
                Unit(&upper).multiply(&mut slope);
                for i in 0..dim {
                    (y[(j, i)], g[(j, i)]) = (row[i], slope[i]);
                }
            }
        }
        let children = fitted(&y, &g)?;
        let [mean, rho, factor] = gaussian(z.as_ref())?;
        let all = |value: &dyn Fn(&Child) -> f64| children.iter().map(value).collect::<Vec<_>>();
        let width = 1 + self.drivers.len();
        let mut params = [mean, rho, factor].concat();
        (0..width).for_each(|k| params.extend(all(&|child| child.theta[k])));
        for k in 0..phi.ncols() {
            let mut column = all(&|child| child.location[k]);
            Unit(&upper).multiply_transposed(&mut column);
            Unit(&lower).multiply(&mut column);
            params.extend(column);
        }
        params.extend([lower, upper].concat());
        let (kappa, h) = (phi.ncols(), phi.ncols() + usize::from(parts.shrinking));
        params.extend(parts.saturating.then(|| all(&|child| child.theta[width])).into_iter().flatten());
        params.extend(parts.shrinking.then(|| all(&|child| child.location[kappa])).into_iter().flatten());
        params.extend(parts.drifting.then(|| all(&|child| child.location[h])).into_iter().flatten());
        ConditionalMap::new(family, params)
    }
}

fn hopeless() -> Error {
    Error::invalid("no finite scale or covariance of the children: the draws have too few distinct points")
}

/// Mean, logarithms of the diagonal, and unit triangle of the Gaussian with the moments of the columns of `z`.
fn gaussian(z: MatRef<'_, f64>) -> Result<[Vec<f64>; 3], Error> {
    let (dim, count) = (z.nrows(), z.ncols() as f64);
    let mean: Vec<f64> = (0..dim).map(|k| z.row(k).iter().sum::<f64>() / count).collect();
    let away = Mat::from_fn(dim, z.ncols(), |k, j| (z[(k, j)] - mean[k]) / count.sqrt());
    let normal = Normal::new(mean, (&away * away.transpose()).as_ref())
        .map_err(|error| error.within("covariance of the drivers"))?;
    let factor = normal.factor();
    let rho = (0..dim).map(|k| factor[(k, k)].ln()).collect();
    let triangle = triangle::from_fn(dim, |i, j| factor[(i, j)] / factor[(j, j)]);
    Ok([normal.mean().to_vec(), rho, triangle])
}

/// What all children share: 1 and the drivers, features phi (draws are rows), and choices.
struct Setting<'a> {
    x: MatRef<'a, f64>,
    phi: MatRef<'a, f64>,
    choices: Choices,
}

/// Fit of one child.
struct Child {
    /// `a, b`, and `c` if scales saturate.
    theta: Vec<f64>,
    /// Coefficients of phi, then `kappa` and `h` as far as they exist.
    location: Vec<f64>,
    /// `s` of each draw.
    logs: Vec<f64>,
    residuals: Vec<f64>,
}

/// Scales of a child at all draws.
#[derive(Default)]
struct Scales {
    /// `l`, and `s`.
    levels: Vec<f64>,
    logs: Vec<f64>,
    /// `exp(-2 s)`.
    precisions: Vec<f64>,
    /// `ds/dl`.
    rates: Vec<f64>,
}

impl Setting<'_> {
    /// Location and scale of a child with values `y` and scores `g`; `None` if no numbers are finite.
    fn child(&self, y: &[f64], g: &[f64]) -> Option<Child> {
        let mut child =
            Child { theta: self.first_scale(g)?, location: vec![], logs: vec![], residuals: y.to_vec() };
        for saturates in [false, true].into_iter().take(1 + usize::from(self.choices.parts.saturating)) {
            if saturates {
                let mut logs = child.logs.clone();
                logs.sort_by(f64::total_cmp);
                child.theta.push(logs[logs.len() * 9 / 10] + 0.3);
            }
            for _ in 0..ROUNDS {
                self.locate(&mut child, y, g)?;
                self.rescale(&mut child, g)?;
            }
        }
        self.locate(&mut child, y, g)?;
        Some(child)
    }

    /// Scales of all draws.
    fn scales_into(&self, theta: &[f64], at: &mut Scales) {
        let Scales { levels, logs, precisions, rates } = at;
        for all in [&mut *levels, &mut *logs, &mut *precisions, &mut *rates] {
            all.resize(self.x.nrows(), 0.0);
        }
        levels.fill(0.0);
        for (k, theta) in theta[..self.x.ncols()].iter().enumerate() {
            levels.iter_mut().zip(self.x.column(k)).for_each(|(l, x)| *l += theta * x);
        }
        let ceiling = theta.get(self.x.ncols()).map(|&c| move |_| c);
        saturate(levels, ceiling, logs, rates, precisions);
        precisions.iter_mut().zip(&*logs).for_each(|(precision, s)| *precision = -2.0 * s);
        numeric::exp(precisions);
    }

    /// Least squares of `-ln |g| = l - ln |e|` on x: does not depend on the location.
    fn first_scale(&self, g: &[f64]) -> Option<Vec<f64>> {
        let least = 1e-8 * (g.iter().map(|g| g * g).sum::<f64>() / g.len() as f64).sqrt();
        let logs: Vec<f64> = g.iter().map(|g| -g.abs().max(least).ln()).collect();
        let mut theta = Equations::new(self.x, &vec![1.0; g.len()], &logs).solve()?;
        theta[0] += MEAN_LOG;
        Some(theta)
    }

    /// Location by weighted least squares, with the log scales and residuals that belong to it.
    fn locate(&self, child: &mut Child, y: &[f64], g: &[f64]) -> Option<()> {
        let (parts, base) = (self.choices.parts, self.phi.ncols());
        let width = base + usize::from(parts.shrinking) + usize::from(parts.drifting);
        let mut at = Scales::default();
        self.scales_into(&child.theta, &mut at);
        let mut features = Mat::zeros(y.len(), width);
        features.subcols_mut(0, base).copy_from(self.phi);
        if parts.shrinking {
            (0..y.len()).for_each(|j| features[(j, base)] = at.precisions[j].recip());
        }
        if parts.drifting {
            (0..y.len()).for_each(|j| features[(j, width - 1)] = (-at.levels[j]).exp() / at.precisions[j]);
        }
        // Weight exp(-2 s) at the value y + m g exp(2 s).
        let m = f64::from(u8::from(self.choices.stein));
        let pulls: Vec<f64> = (0..y.len()).map(|j| at.precisions[j] * y[j] + m * g[j]).collect();
        child.location = Equations::new(features.as_ref(), &at.precisions, &pulls).solve()?;
        child.residuals.copy_from_slice(y);
        for (k, theta) in child.location.iter().enumerate() {
            child.residuals.iter_mut().zip(features.col_as_slice(k)).for_each(|(r, f)| *r -= theta * f);
        }
        child.logs = at.logs;
        Some(())
    }

    /// Log scales by Gauss-Newton with backtracking; without saturation this is Newton's method on a convex function.
    ///
    /// Slopes have a ridge of `4/n` times `mean((r^2 exp(-2 s) - k)^2) / 2`: the noise of the equation in units of that of maximum
    /// likelihood at a Gaussian. Where the control variate leaves no noise, nothing is shrunk.
    fn rescale(&self, child: &mut Child, g: &[f64]) -> Option<()> {
        let (count, width, slopes) = (g.len(), child.theta.len(), self.x.ncols() - 1);
        let squares: Vec<f64> = child.residuals.iter().map(|r| r * r).collect();
        let targets: Vec<f64> = match self.choices.stein {
            true => child.residuals.iter().zip(g).map(|(r, g)| -r * g).collect(),
            false => vec![1.0; count],
        };
        let form = |at: &Scales, j: usize| squares[j] * at.precisions[j];
        let (mut at, mut moved_to) = (Scales::default(), Scales::default());
        self.scales_into(&child.theta, &mut at);
        let noise = (0..count).map(|j| (form(&at, j) - targets[j]).powi(2)).sum::<f64>();
        let ridge = 4.0 * (0.5 * noise / count as f64).min(1.0);
        let objective = |theta: &[f64], at: &Scales| {
            let of = |j: usize| 0.5 * form(at, j) + at.logs[j] * targets[j];
            let penalty = theta[1..=slopes].iter().map(|slope| 0.5 * ridge * slope * slope).sum::<f64>();
            (0..count).map(of).sum::<f64>() + penalty
        };
        let mut value = objective(&child.theta, &at);
        if !value.is_finite() {
            return None;
        }
        let (mut weights, mut pulls, mut rows) = (targets.clone(), targets.clone(), Mat::zeros(count, width));
        for _ in 0..NEWTON {
            for j in 0..count {
                let form = form(&at, j);
                (weights[j], pulls[j]) = (2.0 * form, form - targets[j]);
            }
            for k in 0..width {
                let rates = rows.col_as_slice_mut(k).iter_mut().zip(&at.rates);
                match k <= slopes {
                    true => rates.zip(self.x.column(k)).for_each(|((entry, rate), x)| *entry = rate * x),
                    false => rates.for_each(|(entry, rate)| *entry = 1.0 - rate),
                }
            }
            let mut equations = Equations::new(rows.as_ref(), &weights, &pulls);
            for k in 1..width {
                let is_slope = k <= slopes;
                equations.gram[(k, k)] += if is_slope { ridge } else { DAMPING * count as f64 };
                equations.right[k] -= if is_slope { ridge * child.theta[k] } else { 0.0 };
            }
            let mut step = equations.solve()?;
            let longest = step.iter().fold(0.0, |longest: f64, part| longest.max(part.abs()));
            step.iter_mut().for_each(|part| *part *= (LONGEST / longest).min(1.0));
            let mut moved = child.theta.clone();
            let mut length = 1.0;
            let better = (0..HALVINGS).find_map(|_| {
                moved.iter_mut().zip(&child.theta).zip(&step).for_each(|((m, t), s)| *m = t + length * s);
                length *= 0.5;
                self.scales_into(&moved, &mut moved_to);
                let found = objective(&moved, &moved_to);
                (found <= value + 1e-14 * value.abs()).then_some(found)
            });
            let Some(found) = better else { break };
            value = found;
            child.theta.copy_from_slice(&moved);
            std::mem::swap(&mut at, &mut moved_to);
            if longest < STEP {
                break;
            }
        }
        Some(())
    }
}

/// Normal equations of a weighted least-squares problem.
struct Equations {
    gram: Mat<f64>,
    right: Vec<f64>,
}

impl Equations {
    /// `gram = F^T diag(weights) F` on and below the diagonal, `right = F^T pulls`; features F, an observation per row.
    fn new(features: MatRef<'_, f64>, weights: &[f64], pulls: &[f64]) -> Self {
        let (count, width) = (features.nrows(), features.ncols());
        let (mut gram, mut weighted) = (Mat::zeros(width, width), vec![0.0; count]);
        for k in 0..width {
            weighted.iter_mut().zip(weights).zip(features.column(k)).for_each(|((x, w), f)| *x = w * f);
            (k..width).for_each(|l| gram[(l, k)] = numeric::dot(&weighted, features.column(l)));
        }
        Self { gram, right: (0..width).map(|k| numeric::dot(features.column(k), pulls)).collect() }
    }

    /// The solution with a small ridge in units of the diagonal, which decides between columns that are multiples of each other.
    fn solve(&self) -> Option<Vec<f64>> {
        let width = self.right.len();
        let unit = |k: usize| if self.gram[(k, k)] > 0.0 { self.gram[(k, k)].sqrt().recip() } else { 0.0 };
        let units: Vec<f64> = (0..width).map(unit).collect();
        let scaled = Mat::from_fn(width, width, |i, k| match i == k {
            true => 1.0 + RIDGE,
            false => self.gram[(i.max(k), i.min(k))] * units[i] * units[k],
        });
        let right = Mat::from_fn(width, 1, |k, _| self.right[k] * units[k]);
        let solved = scaled.llt(Side::Lower).ok()?.solve(&right);
        let solution: Vec<f64> = (0..width).map(|k| solved[(k, 0)] * units[k]).collect();
        solution.iter().all(|number| number.is_finite()).then_some(solution)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::{ExactDraws, Gradient, Seed};
    use mcsa_models::{Banana, Funnel};
    use mcsa_numeric::HALF_LOG_TAU;

    /// Exact draws of a target that `keep` accepts, their scores, and chains of equal lengths.
    fn draws<P: ExactDraws + Gradient>(
        target: &P,
        count: usize,
        keep: impl Fn(&[f64]) -> bool,
    ) -> (Mat<f64>, Mat<f64>, Vec<usize>) {
        let (mut z, mut gradients) = (Mat::zeros(target.dim(), count), Mat::zeros(target.dim(), count));
        let (mut stream, mut work) = (Seed::new(5).stream(0, 0), vec![0.0; target.work_len(1)]);
        for j in 0..count {
            let point = z.col_as_slice_mut(j);
            target.draw_into(&mut stream, point);
            while !keep(point) {
                target.draw_into(&mut stream, point);
            }
            target.gradient_into(point, gradients.col_as_slice_mut(j), &mut work);
        }
        (z, gradients, (0..count).map(|j| j * 8 / count).collect())
    }

    /// Largest error of the conditional part in Neal's funnel: `l = z_0 / 2`, location 0.
    fn funnel_error(map: &ConditionalMap) -> f64 {
        let (q, children) = (map.family(), map.family().children.len());
        let at = q.split(map.params());
        let errors = (0..children).flat_map(|i| {
            let slope = at.slope[i] / q.scale[0];
            [slope - 0.5, at.level[i] - slope * q.centre[0], at.location[i]]
        });
        errors.fold(0.0, |worst, error| worst.max(error.abs()))
    }

    /// Mean log q at the draws that are fitted, with the first coordinate as driver.
    fn mean_log_q(z: &Mat<f64>, gradients: &Mat<f64>, choices: Choices) -> f64 {
        let cloud = Cloud::new(z.as_ref(), gradients.as_ref(), &[0]).unwrap();
        let all: Vec<usize> = (0..z.ncols()).collect();
        cloud.sum_log_q(&cloud.fit(&all, choices).unwrap(), &all) / z.ncols() as f64
    }

    #[test]
    fn a_funnel_is_learnt_exactly_from_draws_outside_its_neck() {
        let (z, gradients, chain) = draws(&Funnel::new(10, 3.0).unwrap(), 300, |z| z[0] > 0.0);
        let fit = fit_conditional(z.as_ref(), gradients.as_ref(), &chain, &[0]).unwrap();
        assert!(fit.stein && fit.map.family().parts() == Parts::default(), "{:?}", fit.map.family());
        assert!(funnel_error(&fit.map) < 1e-6, "{}", funnel_error(&fit.map));
        // Counterexample: maximum likelihood has the noise of 300 draws.
        let cloud = Cloud::new(z.as_ref(), gradients.as_ref(), &[0]).unwrap();
        let plain = cloud.fit(&(0..300).collect::<Vec<_>>(), Choices::default()).unwrap();
        assert!(funnel_error(&plain) > 0.01, "{}", funnel_error(&plain));
    }

    #[test]
    fn a_banana_has_a_quadratic_mean() {
        let (z, gradients, chain) = draws(&Banana::new(2.0, 1.0).unwrap(), 200, |_| true);
        let fit =
            |drivers: &[usize]| fit_conditional(z.as_ref(), gradients.as_ref(), &chain, drivers).unwrap();
        let right = fit(&[0]);
        assert_eq!(right.map.family().parts(), Parts { degree: Degree::Quadratic, ..Parts::default() });
        let at = right.map.family().split(right.map.params());
        let bend = at.location[2] / right.map.family().scale[0].powi(2);
        assert!((bend - 1.0).abs() < 0.01 && at.level[0].abs() < 0.15, "{bend} {}", at.level[0]);
        // Counterexample: with the other coordinate as driver the mean has no such form.
        assert!(right.held_out > fit(&[1]).held_out + 0.5);
    }

    /// A normal hierarchy: `y_i ~ N(theta_i, error_i^2)`, `theta_i ~ N(mean, exp(2 u))`, so that `exp(-2 s) = error^-2 + exp(-2 u)`.
    #[test]
    fn a_normal_hierarchy_is_in_the_family() {
        let (data, error, mean, count) = ([2.0, -1.0, 0.5], [1.0, 0.5, 2.0], 0.3, 400);
        let mut stream = Seed::new(9).stream(0, 0);
        let (mut z, mut gradients) = (Mat::zeros(4, count), Mat::zeros(4, count));
        // Mean and precision of a child, given the driver.
        let given = |i: usize, u: f64| {
            let (own, prior) = (f64::powi(error[i], -2), (-2.0 * u).exp());
            ((data[i] * own + mean * prior) / (own + prior), own + prior)
        };
        for j in 0..count {
            z[(0, j)] = stream.normal();
            for i in 0..3 {
                let (centre, precision) = given(i, z[(0, j)]);
                z[(1 + i, j)] = centre + stream.normal() / precision.sqrt();
                gradients[(1 + i, j)] = -precision * (z[(1 + i, j)] - centre);
            }
        }
        let chain: Vec<usize> = (0..count).map(|j| j % 4).collect();
        let fit = fit_conditional(z.as_ref(), gradients.as_ref(), &chain, &[0]).unwrap();
        let parts = fit.map.family().parts();
        assert!(parts.saturating && parts.shrinking, "{parts:?}");
        // Log density of the hierarchy itself, of which the held-out one falls short by the errors of the parameters.
        let normal = |x: f64, log_sd: f64| -0.5 * (x / log_sd.exp()).powi(2) - log_sd - HALF_LOG_TAU;
        let exact = |j: usize| {
            let child = |i: usize| {
                let (centre, precision) = given(i, z[(0, j)]);
                normal(z[(1 + i, j)] - centre, -0.5 * precision.ln())
            };
            normal(z[(0, j)], 0.0) + (0..3).map(child).sum::<f64>()
        };
        let exact = (0..count).map(exact).sum::<f64>() / count as f64;
        assert!((exact - fit.held_out).abs() < 0.1, "{exact} {}", fit.held_out);
        // Counterexample: a Gaussian in place of the hierarchy.
        assert!(mean_log_q(&z, &gradients, Choices::default()) < exact - 0.1);
        // Counterexample: scores of the wrong sign are not those of these draws, and the control variate is left out.
        let wrong = Mat::from_fn(4, count, |i, j| -gradients[(i, j)]);
        assert!(!fit_conditional(z.as_ref(), wrong.as_ref(), &chain, &[0]).unwrap().stein);
    }

    #[test]
    fn two_covariances_find_their_basis_and_bad_input_its_error() {
        // (z_1, z_2) = V t with log scales of t that rise and fall with the driver.
        let (v, count) = ([[1.0, 0.9], [0.2, 1.0]], 400);
        let inverse = [[1.0, -0.9], [-0.2, 1.0]].map(|row: [f64; 2]| row.map(|entry| entry / 0.82));
        let mut stream = Seed::new(2).stream(0, 0);
        let (mut z, mut gradients) = (Mat::zeros(3, count), Mat::zeros(3, count));
        for j in 0..count {
            let x = stream.normal();
            z[(0, j)] = x;
            for (k, slope) in [0.8, -0.8].into_iter().enumerate() {
                let e = stream.normal();
                for i in 0..2 {
                    z[(1 + i, j)] += v[i][k] * (slope * x).exp() * e;
                    gradients[(1 + i, j)] -= inverse[k][i] * (-slope * x).exp() * e;
                }
            }
        }
        let chain: Vec<usize> = (0..count).map(|j| j % 4).collect();
        let fit = fit_conditional(z.as_ref(), gradients.as_ref(), &chain, &[0]).unwrap();
        let (family, at) = (fit.map.family(), fit.map.family().split(fit.map.params()));
        assert!(family.parts().dense, "{family:?}");
        let slopes = [at.slope[0] / family.scale[0], at.slope[1] / family.scale[0]];
        assert!((slopes[0] * slopes[1] + 0.64).abs() < 0.05, "{slopes:?}");
        // Counterexample: no basis of V alone has these slopes.
        let cholesky = Choices { basis: Basis::Cholesky, ..Choices::default() };
        assert!(mean_log_q(&z, &gradients, cholesky) < fit.held_out - 0.05);
        let error = |chain: &[usize], drivers: &[usize]| {
            fit_conditional(z.as_ref(), gradients.as_ref(), chain, drivers).unwrap_err().to_string()
        };
        assert!(error(&chain, &[3]).contains("Conditional: driver 3 of 3"));
        assert!(error(&[0; 400], &[0]).contains("half of the chains has 0 draws"));
        assert!(error(&chain[1..], &[0]).contains("chain has length 399"));
    }
}
