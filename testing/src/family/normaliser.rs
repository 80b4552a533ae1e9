//! Law of the normalising constant, by bridge sampling against a reference density that is close to the family's and computed without
//! its normaliser.

use faer::linalg::solvers::DenseSolveCore;
use faer::{Mat, MatRef, Side};
use mcsa_core::numeric::scalar::ln_gamma;
use mcsa_core::{Columns, ColumnsMut, Family, Stream};

use super::case::spread;
use super::{Case, Failure};
use crate::law::{ACCEPTED, DETECTED, Power, near, unit};

/// Error of the log normaliser that the law tries to detect with probability 0.9.
const SOUGHT: f64 = 1e-3;
const ROUNDING: f64 = 1e-9;
const BATCH: usize = 1024;
const PILOT: usize = 512;
/// Least effective number of terms of a mean for the law to use it.
const TERMS: f64 = 200.0;

/// `int q = 1`, in any dimension, by bridge sampling (Bennett 1976; Meng and Wong 1996) between draws of the family and of a
/// normalised reference density `r`:
///
/// ```text
/// int q = E_r[ q / (q + r) ] / E_q[ r / (q + r) ].
/// ```
///
/// `r` has the shape of `q` along lines, or along rays from the mode, and a normaliser computed on a line. For independent
/// coordinates, Gaussians and multivariate t it equals `q` up to interpolation, and the estimate has almost no variance. Elsewhere
/// draws are added until an error of 1e-3 is detected with probability 0.9, or an eighth of [`Case::draws`] is taken; the returned
/// power states the size that is detected. False alarm 6e-7. If the two densities hardly overlap, the law holds without a test
/// (infinite power size). In one and two dimensions [`density_integrates_to_one`](super::density_integrates_to_one) computes the
/// integral to 1e-9, and this law is skipped unless that law is left out.
pub fn density_is_normalised(case: &Case<dyn Family + '_>) -> Result<Option<Power>, Failure> {
    const LAW: &str = "density_is_normalised";
    let dim = case.family.dim();
    if (dim == 1 || dim == 2) && case.left_out.reason("density_integrates_to_one").is_none() {
        return Ok(None);
    }
    let power = |size, effort: String| Ok(Some(Power::new("the log normaliser of log q", size, effort)));
    let mut stream = case.stream("normaliser");
    let (z, log_q) = case.draw(PILOT, &mut stream);
    let mut pilot_stream = case.stream("pilot of the normaliser");
    let reference = Reference::nearest(case, z.as_ref(), |reference| {
        let mut bridge = Bridge::default();
        bridge.add(case, reference, (z.as_ref(), &log_q), &mut pilot_stream);
        bridge.error()
    });
    let Some(reference) = reference else {
        return power(f64::INFINITY, "no reference density is near".into());
    };
    let mut bridge = Bridge::default();
    loop {
        let (z, log_q) = case.draw(BATCH, &mut stream);
        bridge.add(case, &reference, (z.as_ref(), &log_q), &mut stream);
        let (count, error) = (bridge.of_r.count, bridge.error());
        let is_enough = count >= 2048.0 && DETECTED * error <= SOUGHT || count >= (case.draws / 8) as f64;
        if !is_enough && !error.is_nan() {
            continue;
        }
        let draws = format!("{count} draws of each density");
        if bridge.of_r.terms().min(bridge.of_q.terms()) < TERMS {
            return power(f64::INFINITY, draws);
        }
        let found = bridge.of_r.mean().ln() - bridge.of_q.mean().ln();
        near(LAW, || format!("log normaliser, {draws}"), found, 0.0, ACCEPTED * error + ROUNDING)?;
        return power((DETECTED * error).max(ROUNDING), draws);
    }
}

/// Bridge sampling estimate: the two means whose ratio is the integral of `q`.
#[derive(Default)]
struct Bridge {
    of_r: Mean,
    of_q: Mean,
}

impl Bridge {
    /// Adds draws of the family, and as many draws of the reference.
    fn add(
        &mut self,
        case: &Case<dyn Family + '_>,
        reference: &Reference,
        (z, log_q): (MatRef<'_, f64>, &[f64]),
        stream: &mut Stream,
    ) {
        for (j, log_q) in log_q.iter().enumerate() {
            self.of_q.add(1.0 / (1.0 + (log_q - reference.log_density(z.column(j))).exp()));
        }
        let mut z = Mat::zeros(z.nrows(), z.ncols());
        (0..z.ncols()).for_each(|j| reference.draw_into(stream, z.as_mut().column_mut(j)));
        for (j, log_q) in case.log_probs(&case.params, z.as_ref()).iter().enumerate() {
            self.of_r.add(1.0 / (1.0 + (reference.log_density(z.as_ref().column(j)) - log_q).exp()));
        }
    }

    /// Standard error of the logarithm of the ratio.
    fn error(&self) -> f64 {
        self.of_r.relative_error().hypot(self.of_q.relative_error())
    }
}

/// Sums of numbers and of their squares.
#[derive(Clone, Default)]
pub(super) struct Mean {
    pub(super) count: f64,
    sum: f64,
    squares: f64,
}

impl Mean {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    pub(super) fn mean(&self) -> f64 {
        self.sum / self.count
    }

    pub(super) fn variance(&self) -> f64 {
        self.squares / self.count - self.mean() * self.mean()
    }

    /// Effective number of terms, `(sum x)^2 / sum x^2`.
    fn terms(&self) -> f64 {
        self.sum * self.sum / self.squares
    }

    /// Standard error of the mean of nonnegative numbers, relative to it.
    fn relative_error(&self) -> f64 {
        (1.0 / self.terms() - 1.0 / self.count).max(0.0).sqrt()
    }
}

/// Nodes of a line: spacing `1/32` on the axis of the map, up to 5 on either side.
const NODES: i32 = 160;
const STEP: f64 = 1.0 / 32.0;
/// Step of differences, as a fraction of an interquartile range.
const DIFFERENCE: f64 = 0.01;
/// Number of slices that are averaged for a margin.
const SLICES: usize = 8;
/// Largest dimension in which margins are averaged.
const MARGINS: usize = 16;
/// Error below which a candidate is accepted.
const NEAR: f64 = 1e-3;
/// Largest dimension in which a Hessian is formed.
const LARGEST: usize = 64;

/// Normalised density around `centre`, in coordinates `y = C^T (z - centre)`: a product of densities on lines, or a function of
/// `|y|` alone. The shapes are interpolated from slices of the family's density; the normalisers are computed in this module.
struct Reference {
    centre: Vec<f64>,
    /// Lower triangular factor of a precision matrix `C C^T`.
    c: Mat<f64>,
    is_diagonal: bool,
    /// `ln det C`, minus the logarithm of the sphere's area if the shape is elliptical.
    constant: f64,
    shape: Shape,
}

enum Shape {
    Product(Vec<Line>),
    Elliptical(Line),
}

impl Reference {
    /// The candidate with the least `error`, from draws `z` of the family. Candidates are a product along the axes (exact for
    /// independent coordinates), a product and an elliptical density around the mode (exact for Gaussians and t), and both with the
    /// mean and covariance of the draws, where the product takes averages of slices through draws as its margins.
    fn nearest(
        case: &Case<dyn Family + '_>,
        z: MatRef<'_, f64>,
        mut error: impl FnMut(&Self) -> f64,
    ) -> Option<Self> {
        let (centre, widths): (Vec<f64>, Vec<f64>) =
            (0..z.nrows()).map(|i| spread((0..z.ncols()).map(|j| z[(i, j)]).collect())).unzip();
        let axes = Mat::from_fn(z.nrows(), z.nrows(), |i, k| if i == k { 1.0 / widths[i] } else { 0.0 });
        let mut best: Option<(f64, Self)> = None;
        let mut offer = |candidate: Option<Self>| {
            if let Some(candidate) = candidate {
                let error = error(&candidate);
                if best.as_ref().is_none_or(|(least, _)| error < *least) {
                    best = Some((error, candidate));
                }
            }
            best.as_ref().is_some_and(|(least, _)| *least < NEAR)
        };
        let is_near = offer(Self::product(case, centre.clone(), axes, z, 0));
        if is_near || z.nrows() == 0 || z.nrows() > LARGEST {
            return best.map(|best| best.1);
        }
        if let Some((mode, c)) = mode(case, centre, &widths) {
            if offer(Self::elliptical(case, mode.clone(), c.clone(), z)) {
                return best.map(|best| best.1);
            }
            offer(Self::product(case, mode, c, z, 0));
        }
        if let Some((mean, c)) = cloud(z) {
            offer(Self::elliptical(case, mean.clone(), c.clone(), z));
            if z.nrows() <= MARGINS {
                offer(Self::product(case, mean, c, z, SLICES.min(z.ncols())));
            }
        }
        best.map(|best| best.1)
    }

    /// Product of densities on lines. Slices go through the centre if `slices` is zero, else through the first draws, and are
    /// averaged.
    fn product(
        case: &Case<dyn Family + '_>,
        centre: Vec<f64>,
        c: Mat<f64>,
        z: MatRef<'_, f64>,
        slices: usize,
    ) -> Option<Self> {
        let mut this = Self::around(centre, c, Shape::Product(vec![]));
        let whitened: Vec<Vec<f64>> = (0..z.ncols()).map(|j| this.whiten(z.column(j))).collect();
        let line = |i: usize| {
            let along = |t: f64| (std::f64::consts::FRAC_PI_2 * t.sinh()).sinh();
            let nodes = nodes(whitened.iter().map(|y| y[i]).collect(), along);
            let mut direction = vec![0.0; z.nrows()];
            direction[i] = 1.0;
            let slice = |from: &[f64], offset: f64| {
                let at: Vec<f64> = nodes.iter().map(|node| node - offset).collect();
                Line::new(nodes.clone(), this.slice(case, from, &direction, &at))
            };
            if slices == 0 {
                return slice(&this.centre, 0.0);
            }
            let all: Option<Vec<Line>> = (0..slices).map(|j| slice(z.column(j), whitened[j][i])).collect();
            Line::average(&all?)
        };
        let lines: Option<Vec<Line>> = (0..z.nrows()).map(line).collect();
        this.shape = Shape::Product(lines?);
        Some(this)
    }

    /// Elliptical density. On the axis of `ln |y|` its shape is `|y|^d` times the geometric mean of the density over four random
    /// directions and their opposites.
    fn elliptical(
        case: &Case<dyn Family + '_>,
        centre: Vec<f64>,
        c: Mat<f64>,
        z: MatRef<'_, f64>,
    ) -> Option<Self> {
        let mut this = Self::around(centre, c, Shape::Product(vec![]));
        let nodes = nodes((0..z.ncols()).map(|j| norm(&this.whiten(z.column(j))).ln()).collect(), f64::sinh);
        let mut logs: Vec<f64> = nodes.iter().map(|s| s * z.nrows() as f64).collect();
        let mut stream = case.stream("directions of the reference");
        for _ in 0..4 {
            let direction = unit(z.nrows(), &mut stream);
            for sign in [1.0, -1.0] {
                let radii: Vec<f64> = nodes.iter().map(|s| sign * s.exp()).collect();
                let log_q = this.slice(case, &this.centre, &direction, &radii);
                logs.iter_mut().zip(log_q).for_each(|(log, log_q)| *log += log_q / 8.0);
            }
        }
        this.shape = Shape::Elliptical(Line::new(nodes, logs)?);
        let half = 0.5 * z.nrows() as f64;
        this.constant -= std::f64::consts::LN_2 + half * std::f64::consts::PI.ln() - ln_gamma(half);
        Some(this)
    }

    fn around(centre: Vec<f64>, c: Mat<f64>, shape: Shape) -> Self {
        let is_diagonal = (0..c.nrows()).all(|i| (0..i).all(|k| c[(i, k)] == 0.0));
        let constant = (0..c.nrows()).map(|i| c[(i, i)].ln()).sum();
        Self { centre, c, is_diagonal, constant, shape }
    }

    /// `log q(from + t C^-T direction)` at each `t`.
    fn slice(&self, case: &Case<dyn Family + '_>, from: &[f64], direction: &[f64], at: &[f64]) -> Vec<f64> {
        let step = self.unwhiten(direction);
        let z = Mat::from_fn(step.len(), at.len(), |i, k| from[i] + at[k] * step[i]);
        case.log_probs(&case.params, z.as_ref())
    }

    /// `C^T (z - centre)`.
    fn whiten(&self, z: &[f64]) -> Vec<f64> {
        let x: Vec<f64> = z.iter().zip(&self.centre).map(|(z, centre)| z - centre).collect();
        let last = |k: usize| if self.is_diagonal { k + 1 } else { x.len() };
        (0..x.len()).map(|k| (k..last(k)).map(|i| self.c[(i, k)] * x[i]).sum()).collect()
    }

    /// `C^-T y`.
    fn unwhiten(&self, y: &[f64]) -> Vec<f64> {
        let mut x = y.to_vec();
        for k in (0..x.len()).rev() {
            if !self.is_diagonal {
                x[k] -= (k + 1..x.len()).map(|i| self.c[(i, k)] * x[i]).sum::<f64>();
            }
            x[k] /= self.c[(k, k)];
        }
        x
    }

    fn log_density(&self, z: &[f64]) -> f64 {
        let y = self.whiten(z);
        let log_r: f64 = match &self.shape {
            Shape::Product(lines) => lines.iter().zip(&y).map(|(line, &y)| line.log_density(y)).sum(),
            Shape::Elliptical(line) => {
                let s = norm(&y).ln();
                line.log_density(s) - y.len() as f64 * s
            }
        };
        log_r + self.constant
    }

    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        let y: Vec<f64> = match &self.shape {
            Shape::Product(lines) => lines.iter().map(|line| line.quantile(stream.uniform())).collect(),
            Shape::Elliptical(line) => {
                let radius = line.quantile(stream.uniform()).exp();
                unit(z.len(), stream).iter().map(|u| radius * u).collect()
            }
        };
        let moves = self.unwhiten(&y);
        z.iter_mut().zip(&self.centre).zip(moves).for_each(|((z, centre), step)| *z = centre + step);
    }
}

/// Nodes around the median of values, in units of their spread.
fn nodes(values: Vec<f64>, along: impl Fn(f64) -> f64) -> Vec<f64> {
    let (median, width) = spread(values);
    (-NODES..=NODES).map(|k| median + width * along(f64::from(k) * STEP)).collect()
}

fn norm(y: &[f64]) -> f64 {
    y.iter().map(|y| y * y).sum::<f64>().sqrt()
}

/// Mode by Newton's method on differences, from a first guess, and `C` with `C C^T` the negative Hessian of the log density there.
fn mode(case: &Case<dyn Family + '_>, guess: Vec<f64>, widths: &[f64]) -> Option<(Vec<f64>, Mat<f64>)> {
    let dim = guess.len();
    let mut mode = guess;
    for _ in 0..6 {
        let mut at = Vec::new();
        for i in 0..dim {
            at.extend([(i, 1.0, i, 0.0), (i, -1.0, i, 0.0)]);
            (0..i)
                .for_each(|k| at.extend([1.0, -1.0].iter().flat_map(|&a| [(i, a, k, 1.0), (i, a, k, -1.0)])));
        }
        let mut z = Mat::from_fn(dim, at.len() + 1, |i, _| mode[i]);
        for (j, &(i, a, k, b)) in at.iter().enumerate() {
            z[(i, j)] += DIFFERENCE * a * widths[i];
            z[(k, j)] += DIFFERENCE * b * widths[k];
        }
        let log_q = case.log_probs(&case.params, z.as_ref());
        let (mut gradient, mut precision, mut j) = (vec![0.0; dim], Mat::<f64>::zeros(dim, dim), 0);
        // In units of the widths.
        for i in 0..dim {
            gradient[i] = (log_q[j] - log_q[j + 1]) / (2.0 * DIFFERENCE);
            precision[(i, i)] = (2.0 * log_q[at.len()] - log_q[j] - log_q[j + 1]) / (DIFFERENCE * DIFFERENCE);
            j += 2;
            for k in 0..i {
                let twist = log_q[j] - log_q[j + 1] - log_q[j + 2] + log_q[j + 3];
                precision[(i, k)] = -twist / (4.0 * DIFFERENCE * DIFFERENCE);
                precision[(k, i)] = precision[(i, k)];
                j += 4;
            }
        }
        let factor = precision.llt(Side::Lower).ok()?;
        let covariance = factor.inverse();
        let step = |i: usize| (0..dim).map(|k| covariance[(i, k)] * gradient[k]).sum::<f64>();
        let steps: Vec<f64> = (0..dim).map(step).collect();
        if steps.iter().all(|step| step.abs() < 1e-6) {
            let c = Mat::from_fn(dim, dim, |i, k| factor.L()[(i, k)] / widths[i]);
            return Some((mode, c));
        }
        mode.iter_mut().zip(&steps).zip(widths).for_each(|((mode, step), width)| *mode += step * width);
    }
    None
}

/// Mean of draws, and `C` with `C C^T` the inverse of their covariance.
fn cloud(z: MatRef<'_, f64>) -> Option<(Vec<f64>, Mat<f64>)> {
    let n = z.ncols() as f64;
    let mean: Vec<f64> = (0..z.nrows()).map(|i| (0..z.ncols()).map(|j| z[(i, j)]).sum::<f64>() / n).collect();
    let shifted = Mat::from_fn(z.nrows(), z.ncols(), |i, j| (z[(i, j)] - mean[i]) / n.sqrt());
    let precision = (&shifted * shifted.transpose()).llt(Side::Lower).ok()?.inverse();
    Some((mean, precision.llt(Side::Lower).ok()?.L().to_owned()))
}

/// Normalised density whose logarithm is linear between nodes, and `-inf` outside them.
struct Line {
    nodes: Vec<f64>,
    logs: Vec<f64>,
    below: Vec<f64>,
}

impl Line {
    /// Density proportional to `exp(logs)` at ascending `nodes`. `None` if the mass is zero or infinite.
    fn new(nodes: Vec<f64>, mut logs: Vec<f64>) -> Option<Self> {
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !top.is_finite() {
            return None;
        }
        for log in &mut logs {
            *log = if log.is_nan() { f64::NEG_INFINITY } else { *log - top };
        }
        let mut below = vec![0.0; nodes.len()];
        for k in 1..nodes.len() {
            below[k] = below[k - 1] + mass(nodes[k] - nodes[k - 1], logs[k - 1], logs[k]);
        }
        let total = below[nodes.len() - 1];
        if !(total > 0.0 && total.is_finite()) {
            return None;
        }
        below.iter_mut().for_each(|below| *below /= total);
        logs.iter_mut().for_each(|log| *log -= total.ln());
        Some(Self { nodes, logs, below })
    }

    /// Mean of densities with the same nodes.
    fn average(lines: &[Self]) -> Option<Self> {
        let nodes = lines.first()?.nodes.clone();
        let mean = |k: usize| lines.iter().map(|line| line.logs[k].exp()).sum::<f64>().ln();
        let logs = (0..nodes.len()).map(mean).collect();
        Self::new(nodes, logs)
    }

    fn log_density(&self, x: f64) -> f64 {
        let k = self.nodes.partition_point(|&node| node <= x);
        if k == 0 || k == self.nodes.len() || self.below[k] == self.below[k - 1] {
            return f64::NEG_INFINITY;
        }
        let share = (x - self.nodes[k - 1]) / (self.nodes[k] - self.nodes[k - 1]);
        self.logs[k - 1] + share * (self.logs[k] - self.logs[k - 1])
    }

    /// Quantile function: the point below which the mass is `u`.
    fn quantile(&self, u: f64) -> f64 {
        let k = self.below.partition_point(|&below| below <= u).clamp(1, self.nodes.len() - 1);
        let rest = (u - self.below[k - 1]) / (self.below[k] - self.below[k - 1]);
        let slope = self.logs[k] - self.logs[k - 1];
        let share = if slope.abs() < 1e-9 {
            rest
        } else if slope > 0.0 {
            1.0 + (rest + (1.0 - rest) * (-slope).exp()).ln() / slope
        } else {
            (rest * slope.exp_m1()).ln_1p() / slope
        };
        self.nodes[k - 1] + share.clamp(0.0, 1.0) * (self.nodes[k] - self.nodes[k - 1])
    }
}

/// Integral of a log-linear function between two nodes; 0 if its logarithm is `-inf` at a node.
fn mass(width: f64, left: f64, right: f64) -> f64 {
    let (low, high) = (left.min(right), left.max(right));
    if low == f64::NEG_INFINITY {
        return 0.0;
    }
    let slope = high - low;
    width * high.exp() * if slope < 1e-9 { 1.0 } else { -(-slope).exp_m1() / slope }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(left: f64, right: f64) -> Line {
        let nodes: Vec<f64> = (0..=64).map(|k| f64::from(k) / 64.0).collect();
        let logs = nodes.iter().map(|x| left + x * (right - left)).collect();
        Line::new(nodes, logs).expect("some mass")
    }

    /// An exponential density is exact; quantiles invert the distribution function; a gap in the support has no mass.
    #[test]
    fn exponentials_are_exact() {
        let line = Line::new(vec![0.0, 0.5, 40.0], vec![3.0, 2.0, -77.0]).expect("some mass");
        for u in [0.01, 0.5, 0.9, 0.999_999] {
            let x = line.quantile(u);
            assert!((x + (1.0 - u).ln() / 2.0).abs() < 1e-9 * x, "{u}: {x}");
            assert!((line.log_density(x) - (2.0_f64.ln() - 2.0 * x)).abs() < 1e-12);
        }
        assert_eq!(line.log_density(-1.0), f64::NEG_INFINITY);
        let gap =
            Line::new(vec![0.0, 1.0, 2.0, 3.0], vec![0.0, 0.0, f64::NEG_INFINITY, 0.0]).expect("some mass");
        assert!(
            (gap.log_density(0.5), gap.log_density(1.5), gap.quantile(0.25))
                == (0.0, f64::NEG_INFINITY, 0.25)
        );
        let mean = Line::average(&[line_of(0.0, 0.0), line_of(0.0, 2.0)]).expect("some mass");
        assert!(
            (mean.log_density(0.0) - (0.5 * (1.0 + 2.0 / 2.0_f64.exp_m1())).ln()).abs() < 1e-3,
            "nodes are averaged"
        );
        assert!(Line::new(vec![0.0, 1.0], vec![f64::NEG_INFINITY; 2]).is_none());
    }
}
