//! Targets and proposals on finitely many points, and the default proposal of the tests.

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{Columns, Error, ExactDraws, LogDensity, Proposal, Seed, Stream, each_column, same_length};

/// Target on finitely many points of `R^d`, given by a table of log densities.
///
/// ```text
/// p(z) ∝ exp(log_density[k]) if z is atom k, else 0
/// ```
/// A point is an atom if its coordinates are equal to those of the atom; there is no tolerance.
///
/// ```
/// use mcsa_core::LogDensity;
/// let target = mcsa_testing::Finite::on_line(&[1.0, 3.0]).unwrap();
/// assert_eq!(target.probabilities(), [0.25, 0.75]);
/// assert_eq!(target.log_density(&[0.5], &mut []), f64::NEG_INFINITY);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Finite {
    atoms: Mat<f64>,
    log_density: Vec<f64>,
}

impl Finite {
    /// A target with atoms at the columns of `atoms` and one log density each; `-inf` is an atom of probability zero.
    ///
    /// # Errors
    /// If the lengths differ, an atom is listed twice or is not finite, a log density is NaN or `+inf`,
    /// or all are `-inf`.
    pub fn new(atoms: Mat<f64>, log_density: Vec<f64>) -> Result<Self, Error> {
        same_length("log densities of atoms", atoms.ncols(), log_density.len())?;
        if let Some(index) = log_density.iter().position(|l| l.is_nan() || *l == f64::INFINITY) {
            return Err(Error::NotFinite { what: "log density", index, value: log_density[index] });
        }
        if log_density.iter().all(|l| *l == f64::NEG_INFINITY) {
            return Err(Error::invalid("no atom has a positive probability"));
        }
        let finite = Self { atoms, log_density };
        for k in 0..finite.log_density.len() {
            let atom = finite.atoms.as_ref().column(k);
            mcsa_core::all_finite("an atom", atom)?;
            if finite.index_of(atom) != Some(k) {
                return Err(Error::invalid(format!("atom {k} is listed twice")));
            }
        }
        Ok(finite)
    }

    /// A target with atoms at 0, 1, 2, ... on the real line, with these weights.
    ///
    /// # Errors
    /// If a weight is negative, NaN or infinite, or none is positive.
    pub fn on_line(weights: &[f64]) -> Result<Self, Error> {
        if let Some(&value) = weights.iter().find(|w| w.is_nan() || **w < 0.0) {
            return Err(Error::parameter("weight of an atom", value, "not negative"));
        }
        let atoms = Mat::from_fn(1, weights.len(), |_, k| k as f64);
        Self::new(atoms, weights.iter().map(|w| w.ln()).collect())
    }

    /// The atoms, one per column.
    pub fn atoms(&self) -> MatRef<'_, f64> {
        self.atoms.as_ref()
    }

    /// The probabilities, which sum to one.
    pub fn probabilities(&self) -> Vec<f64> {
        normalised(&self.log_density)
    }

    /// Index of the atom equal to `z`, if there is one.
    pub fn index_of(&self, z: &[f64]) -> Option<usize> {
        position(self.atoms.as_ref(), z)
    }
}

/// Index of the column equal to `z`.
pub(crate) fn position(atoms: MatRef<'_, f64>, z: &[f64]) -> Option<usize> {
    (0..atoms.ncols()).find(|&k| atoms.column(k) == z)
}

/// Probabilities from log densities, of which the largest is subtracted first.
pub(crate) fn normalised(log_density: &[f64]) -> Vec<f64> {
    let top = log_density.iter().fold(f64::NEG_INFINITY, |top, &l| top.max(l));
    let weights: Vec<f64> = log_density.iter().map(|l| (l - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

impl LogDensity for Finite {
    fn dim(&self) -> usize {
        self.atoms.nrows()
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.index_of(z).map_or(f64::NEG_INFINITY, |k| self.log_density[k])
    }
}

/// Proposal on finitely many points. It draws by [`Stream::choose`], so that a scripted stream can enumerate its draws.
#[derive(Debug, Clone, PartialEq)]
pub struct FiniteProposal {
    table: Finite,
}

impl FiniteProposal {
    /// A proposal with the distribution `table`; its log densities are normalised.
    pub fn new(table: Finite) -> Self {
        let log_density = table.probabilities().iter().map(|probability| probability.ln()).collect();
        Self { table: Finite { log_density, ..table } }
    }
}

impl Proposal for FiniteProposal {
    fn dim(&self) -> usize {
        self.table.dim()
    }

    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        self.table.log_densities(z, log_q, &mut []);
    }

    fn sample_into(&mut self, lanes: &mut [Stream], z: MatMut<'_, f64>, log_q: &mut [f64]) {
        each_column(lanes, z, |lane, j, atom| {
            let k = lane.choose(&self.table.log_density).expect("some atom is possible");
            atom.copy_from_slice(self.table.atoms.as_ref().column(k));
            log_q[j] = self.table.log_density[k];
        });
    }
}

/// Proposal of independent normals around a target, somewhat wider than the target.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// The mean of each coordinate.
    pub mean: Vec<f64>,
    /// The scale of each coordinate.
    pub scale: Vec<f64>,
}

/// Number of draws from which the proposal is placed; its accuracy matters for no law.
const DRAWS: u64 = 500;

impl Spread {
    /// A proposal with the means of 500 exact draws and their scales times `widening`.
    pub fn around<P: ExactDraws + ?Sized>(target: &P, seed: Seed, widening: f64) -> Self {
        let dim = target.dim();
        let (mut mean, mut square, mut z) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]);
        for draw in 0..DRAWS {
            target.draw_into(&mut seed.stream(draw, 0), &mut z);
            for i in 0..dim {
                mean[i] += z[i] / DRAWS as f64;
                square[i] += z[i] * z[i] / DRAWS as f64;
            }
        }
        let scale = |i: usize| widening * (square[i] - mean[i] * mean[i]).sqrt();
        let scale = (0..dim).map(scale).collect();
        Self { mean, scale }
    }

    fn log_prob(&self, z: &[f64]) -> f64 {
        let each = |i: usize| {
            let standard = (z[i] - self.mean[i]) / self.scale[i];
            -0.5 * (standard * standard + std::f64::consts::TAU.ln()) - self.scale[i].ln()
        };
        (0..z.len()).map(each).sum()
    }
}

impl Proposal for Spread {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        assert_eq!(z.ncols(), log_q.len(), "a density per column");
        for (j, log_q) in log_q.iter_mut().enumerate() {
            *log_q = self.log_prob(z.column(j));
        }
    }

    fn sample_into(&mut self, lanes: &mut [Stream], z: MatMut<'_, f64>, log_q: &mut [f64]) {
        each_column(lanes, z, |lane, j, point| {
            lane.normals_into(point);
            for (x, (mean, scale)) in point.iter_mut().zip(self.mean.iter().zip(&self.scale)) {
                *x = mean + scale * *x;
            }
            log_q[j] = self.log_prob(point);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_tables_are_refused() {
        let refused = |weights: &[f64]| Finite::on_line(weights).is_err();
        assert!(refused(&[]) && refused(&[0.0]) && refused(&[f64::NAN]) && refused(&[-1.0, 2.0]));
        assert!(refused(&[f64::INFINITY, 1.0]));
        let twice = Finite::new(Mat::from_fn(2, 2, |_, _| 1.0), vec![0.0, 0.0]);
        assert_eq!(twice.unwrap_err().to_string(), "atom 1 is listed twice");
    }

    #[test]
    fn a_guide_knows_what_it_draws() {
        let mut proposal = FiniteProposal::new(Finite::on_line(&[2.0, 0.0, 6.0]).unwrap());
        let mut lanes = mcsa_core::Seed::new(1).streams(2, 1);
        let (mut z, mut log_q, mut again) = ([0.0; 8], [0.0; 8], [0.0; 8]);
        proposal.sample_into(&mut lanes, mcsa_core::batch_mut(&mut z, 1, 8), &mut log_q);
        proposal.log_probs(mcsa_core::batch(&z, 1, 8), &mut again);
        assert_eq!(log_q, again);
        assert!(z.iter().all(|&x| x == 0.0 || x == 2.0));
    }
}
