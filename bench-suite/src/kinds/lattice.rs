//! Trapezoidal rule for a density in few dimensions, on a lattice around its mode.

use faer::{Mat, MatRef, Side};
use mcsa_core::{Error, Stream, Surrogate};
use mcsa_theory::dais::Normal;

/// Nodes of a lattice with the probabilities of a density and its log normaliser.
///
/// ```text
/// z = m + L u,   u in {-r, .., -0.5, 0, 0.5, .., r}^d,   log Z ~ log sum_u f(z) + log det L + d log 0.5
/// ```
/// with the mode m, `L L^T` the inverse of the negative Hessian there, and r = 20, in three dimensions 10. The rule converges exponentially: on a Gaussian its error
/// is below `1e-21`.
pub(super) struct Lattice {
    pub(super) points: Mat<f64>,
    pub(super) probabilities: Vec<f64>,
    pub(super) log_normaliser: f64,
}

const STEP: f64 = 0.5;
/// Steps on either side of the mode for each dimension; at most 68 921 nodes.
const REACH: [usize; 3] = [40, 40, 20];
/// Nodes that are evaluated at once.
const BATCH: usize = 1_000;
/// Log of the largest density at the border, relative to the largest of all.
const NEGLIGIBLE: f64 = -23.0;

impl Lattice {
    /// Lattice around the mode of a potential with the gradient and Hessian of `surrogate`, for `log_density`.
    ///
    /// # Errors
    /// If the dimension is larger than 3, there is no mode, or the density is not negligible at the border.
    pub(super) fn of<S: Surrogate>(
        surrogate: &S,
        psi: &[f64],
        mut log_density: impl FnMut(MatRef<'_, f64>, &mut [f64]),
    ) -> Result<Self, Error> {
        let d = surrogate.dim();
        let Some(&reach) = d.checked_sub(1).and_then(|place| REACH.get(place)) else {
            return Err(Error::invalid(format!(
                "quadrature in {d} dimensions; expected 1 to {}",
                REACH.len()
            )));
        };
        let (mode, covariance) = laplace(surrogate, psi)?;
        let factor = covariance.llt(Side::Lower);
        let factor = factor.map_err(|_| Error::invalid("a Hessian is not definite"))?.L().to_owned();
        let side = 2 * reach + 1;
        let index = |j: usize, k: usize| j / side.pow(k as u32) % side;
        let place = |j: usize, k: usize| STEP * (index(j, k) as f64 - reach as f64);
        let count = side.pow(d as u32);
        let points = Mat::from_fn(d, count, |i, j| {
            mode[i] + (0..=i).map(|k| factor[(i, k)] * place(j, k)).sum::<f64>()
        });
        let mut logs = vec![0.0; count];
        for (batch, logs) in logs.chunks_mut(BATCH).enumerate() {
            log_density(points.get(.., batch * BATCH..batch * BATCH + logs.len()), logs);
        }
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let is_border = |j: usize| (0..d).any(|k| index(j, k) == 0 || index(j, k) == side - 1);
        if !(0..count).filter(|&j| is_border(j)).all(|j| logs[j] - top < NEGLIGIBLE) {
            return Err(Error::invalid("a density is not negligible at the border of its lattice"));
        }
        let mut probabilities: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
        let total: f64 = probabilities.iter().sum();
        probabilities.iter_mut().for_each(|p| *p /= total);
        let log_volume: f64 = (0..d).map(|k| (STEP * factor[(k, k)]).ln()).sum();
        Ok(Self { points, probabilities, log_normaliser: top + total.ln() + log_volume })
    }

    /// Mean of values at the nodes; nodes without probability do not count.
    pub(super) fn mean(&self, values: &[f64]) -> f64 {
        let terms = self.probabilities.iter().zip(values).filter(|(p, _)| **p > 0.0);
        terms.map(|(p, value)| p * value).sum()
    }

    /// Nodes drawn with their probabilities, by one uniform number for all.
    pub(super) fn draws(&self, count: usize, stream: &mut Stream) -> Mat<f64> {
        let (offset, mut node, mut sum) = (stream.uniform(), 0, self.probabilities[0]);
        let mut drawn = Mat::zeros(self.points.nrows(), count);
        for j in 0..count {
            while sum < (j as f64 + offset) / count as f64 && node + 1 < self.probabilities.len() {
                node += 1;
                sum += self.probabilities[node];
            }
            drawn.col_mut(j).copy_from(self.points.col(node));
        }
        drawn
    }
}

/// Mode by Newton's method, and the inverse of the negative Hessian there.
fn laplace<S: Surrogate>(surrogate: &S, psi: &[f64]) -> Result<(Vec<f64>, Mat<f64>), Error> {
    let d = surrogate.dim();
    let (mut memory, mut tape) = (vec![0.0; surrogate.memory_len()], vec![0.0; surrogate.tape_len()]);
    let (mut work, mut unused) = (vec![0.0; surrogate.work_len()], vec![0.0; surrogate.num_params()]);
    surrogate.prepare(psi, &[], &mut memory);
    let slope = |z: &[f64], tape: &mut [f64], work: &mut [f64]| {
        let mut gradient = vec![0.0; d];
        surrogate.gradient_into(psi, &memory, z, &mut gradient, tape, work);
        gradient
    };
    let size = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
    let mut z = vec![0.0; d];
    for _ in 0..200 {
        let gradient = slope(&z, &mut tape, &mut work);
        let mut precision = Mat::zeros(d, d);
        for k in 0..d {
            let (mut unit, mut product) = (vec![0.0; d], vec![0.0; d]);
            unit[k] = 1.0;
            let along = &mut product;
            surrogate.add_second(psi, &memory, &tape, &z, &unit, -1.0, along, &mut unused, &mut work);
            (0..d).for_each(|i| precision[(i, k)] = product[i]);
        }
        let covariance = Normal::new(vec![0.0; d], precision)?.precision();
        let step: Vec<f64> = (0..d).map(|i| (0..d).map(|k| covariance[(i, k)] * gradient[k]).sum()).collect();
        let decrement: f64 = step.iter().zip(&gradient).map(|(s, g)| s * g).sum();
        if decrement < 1e-16 {
            return Ok((z, covariance));
        }
        // The gradient of a concave density falls along a short enough Newton step.
        let mut share = 1.0;
        loop {
            let moved: Vec<f64> = z.iter().zip(&step).map(|(z, s)| z + share * s).collect();
            let falls = size(&slope(&moved, &mut tape, &mut work)) < size(&gradient);
            share *= 0.5;
            if falls || share < 1e-9 {
                z = moved;
                break;
            }
        }
    }
    Err(Error::invalid("Newton's method found no mode"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::{LogDensity, Seed};
    use mcsa_models::LinearRegression;
    use mcsa_models::surrogate::PosteriorSurrogate;

    /// Evidence, mean and draws of a linear regression in three dimensions; a density that is too wide is refused.
    #[test]
    fn the_rule_is_exact_on_a_gaussian() {
        let x = Mat::from_fn(9, 3, |i, k| ((3 * i + k * k) as f64).sin() + f64::from(u8::from(k == 0)));
        let y: Vec<f64> = (0..9).map(|i| f64::from(i).cos()).collect();
        let model = LinearRegression::new(x.as_ref(), &y, 0.8, 1.3).unwrap();
        let guide = PosteriorSurrogate(&model);
        let work = || vec![0.0; model.work_len(BATCH)];
        let lattice = Lattice::of(&guide, &[], |z, out| model.log_densities(z, out, &mut work())).unwrap();
        assert!((lattice.log_normaliser - model.log_evidence()).abs() < 1e-10);
        let first: Vec<f64> = (0..lattice.points.ncols()).map(|j| lattice.points[(0, j)]).collect();
        assert!((lattice.mean(&first) - model.posterior_mean()[0]).abs() < 1e-10);
        let draws = lattice.draws(4_000, &mut Seed::new(1).stream(0, 0));
        let mean = draws.row(0).iter().sum::<f64>() / 4_000.0;
        assert!((mean - model.posterior_mean()[0]).abs() < 0.05);
        let flat = Lattice::of(&guide, &[], |z, out| {
            model.log_densities(z, out, &mut work());
            out.iter_mut().for_each(|log| *log *= 0.1);
        });
        assert!(flat.is_err());
    }
}
