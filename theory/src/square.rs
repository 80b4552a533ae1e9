//! Transition matrices over any number type, and the rates at which they converge: spectrum, minorisation, mixing time.

use faer::linalg::solvers::EvdError;
use faer::{Mat, Side};
use mcsa_core::{Error, same_length};

use crate::number::{Number, dot, total};

/// Transition matrix on finitely many atoms, `K(z, y)` in row `z`, over any [`Number`].
///
/// ```
/// use mcsa_theory::{Number, Rational, Square};
/// let half = || Rational::ratio(1, 2);
/// let flip = Square::from_fn(2, |_, _| half());
/// assert_eq!(flip.apply(&[half(), half()]), [half(), half()]);
/// assert_eq!(flip.power(3), flip);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Square<T> {
    rows: Vec<Vec<T>>,
}

impl<T: Number> Square<T> {
    /// A matrix from its entries as a function of row and column.
    pub fn from_fn(n: usize, mut entry: impl FnMut(usize, usize) -> T) -> Self {
        Self { rows: (0..n).map(|z| (0..n).map(|y| entry(z, y)).collect()).collect() }
    }

    /// A transition matrix from its off-diagonal entries; the remaining probability of a row is on the diagonal.
    pub fn staying(n: usize, mut moves: impl FnMut(usize, usize) -> T) -> Self {
        let mut square = Self::from_fn(n, |z, y| if z == y { T::zero() } else { moves(z, y) });
        for z in 0..n {
            square.rows[z][z] = T::one() - total(square.rows[z].iter().cloned());
        }
        square
    }

    /// The identity matrix: a chain that never moves.
    pub fn identity(n: usize) -> Self {
        Self::from_fn(n, |z, y| if z == y { T::one() } else { T::zero() })
    }

    /// The number of atoms.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there is no atom.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Distribution of the next state from atom `z`.
    pub fn row(&self, z: usize) -> &[T] {
        &self.rows[z]
    }

    /// All rows.
    pub fn rows(&self) -> &[Vec<T>] {
        &self.rows
    }

    /// `K f`: the mean of `f` after a step, from each start.
    pub fn apply(&self, f: &[T]) -> Vec<T> {
        self.rows.iter().map(|row| dot(row, f)).collect()
    }

    /// `eta K`: the distribution after a step from the distribution `eta`.
    pub fn push(&self, eta: &[T]) -> Vec<T> {
        (0..self.len())
            .map(|y| total(eta.iter().zip(&self.rows).map(|(eta, row)| eta.clone() * &row[y])))
            .collect()
    }

    /// Matrix product: this step, followed by `other`.
    pub fn then(&self, other: &Self) -> Self {
        Self { rows: self.rows.iter().map(|row| other.push(row)).collect() }
    }

    /// Matrix power: `n` steps.
    pub fn power(&self, n: usize) -> Self {
        (0..n).fold(Self::identity(self.len()), |power, _| power.then(self))
    }

    /// The entries as doubles.
    pub fn to_f64(&self) -> Vec<Vec<f64>> {
        self.rows.iter().map(|row| row.iter().map(Number::to_f64).collect()).collect()
    }
}

/// Total variation distance of two distributions on common atoms, `1/2 sum_y |a_y - b_y|`.
///
/// # Panics
/// If the lengths differ.
pub fn total_variation<T: Number>(a: &[T], b: &[T]) -> T {
    assert_eq!(a.len(), b.len(), "two distributions on the same atoms");
    total(a.iter().zip(b).map(|(a, b)| (a.clone() - b).abs())) * T::ratio(1, 2)
}

/// Spectrum and minorisation constants of a transition matrix with invariant distribution `target`.
///
/// Computed on the states with positive target probability. For independent Metropolis-Hastings the second
/// eigenvalue is exactly `1 - 1/w*`, and the minorisation exactly `1/w*` (Liu 1996; Mengersen and Tweedie 1996).
///
/// ```
/// use mcsa_testing::closed;
/// use mcsa_theory::Spectrum;
/// let (p, q) = ([0.5, 0.5], [0.25, 0.75]);
/// let spectrum = Spectrum::new(&closed::imh(&p, &q), &p).unwrap();
/// assert!((spectrum.second() - 0.5).abs() < 1e-12);
/// assert!((spectrum.minorisation - 0.5).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// Moduli of the eigenvalues, in descending order; the first is 1.
    pub moduli: Vec<f64>,
    /// True if the matrix is reversible, so that the eigenvalues are real.
    pub reversible: bool,
    /// The largest `epsilon` with `K(z, .) >= epsilon pi` for every z: the total variation distance falls at least as
    /// `(1 - epsilon)^n`.
    pub minorisation: f64,
    /// The largest `epsilon` with `K(z, .) >= epsilon nu` for every z and some distribution `nu` (Doeblin).
    pub doeblin: f64,
}

fn unsolved(_: EvdError) -> Error {
    Error::invalid("the eigenvalues did not converge")
}

impl Spectrum {
    /// Spectrum of `matrix`, restricted to the states with positive `target`.
    ///
    /// # Errors
    /// If the shapes differ, the matrix leads out of the support, or the eigenvalues do not converge.
    pub fn new(matrix: &Mat<f64>, target: &[f64]) -> Result<Self, Error> {
        same_length("rows of a transition", target.len(), matrix.nrows())?;
        same_length("columns of a transition", target.len(), matrix.ncols())?;
        let support: Vec<usize> = (0..target.len()).filter(|&z| target[z] > 0.0).collect();
        let n = support.len();
        let k = Mat::from_fn(n, n, |i, j| matrix[(support[i], support[j])]);
        let total: f64 = support.iter().map(|&z| target[z]).sum();
        let p: Vec<f64> = support.iter().map(|&z| target[z] / total).collect();
        if (0..n).any(|i| (k.row(i).sum() - 1.0).abs() > 1e-9) {
            return Err(Error::invalid("the transition leads out of the support of its target"));
        }
        let reversible = (0..n).all(|i| (0..i).all(|j| (p[i] * k[(i, j)] - p[j] * k[(j, i)]).abs() < 1e-12));
        let mut moduli: Vec<f64> = if reversible {
            // D^{1/2} K D^{-1/2} is symmetric and has the eigenvalues of K.
            let root = |i: usize, j: usize| (p[i] / p[j]).sqrt();
            let symmetric =
                Mat::from_fn(n, n, |i, j| 0.5 * (root(i, j) * k[(i, j)] + root(j, i) * k[(j, i)]));
            let values = symmetric.self_adjoint_eigenvalues(Side::Lower).map_err(unsolved)?;
            values.into_iter().map(f64::abs).collect()
        } else {
            k.eigenvalues().map_err(unsolved)?.iter().map(|value| value.norm()).collect()
        };
        moduli.sort_by(|a, b| b.total_cmp(a));
        let least = |j: usize| (0..n).map(|i| k[(i, j)]).fold(f64::INFINITY, f64::min);
        Ok(Self {
            moduli,
            reversible,
            minorisation: (0..n).map(|j| least(j) / p[j]).fold(f64::INFINITY, f64::min),
            doeblin: (0..n).map(least).sum(),
        })
    }

    /// Second largest modulus of an eigenvalue, the rate of convergence; 0 for a single state.
    pub fn second(&self) -> f64 {
        self.moduli.get(1).copied().unwrap_or(0.0)
    }
}

/// Total variation distance to the target after `0..=steps` steps from `start`.
///
/// # Panics
/// If the shapes differ.
pub fn decay(matrix: &Mat<f64>, target: &[f64], start: usize, steps: usize) -> Vec<f64> {
    let mut law: Vec<f64> = (0..target.len()).map(|z| f64::from(u8::from(z == start))).collect();
    let mut distances = vec![total_variation(&law, target)];
    for _ in 0..steps {
        law = (0..law.len()).map(|y| (0..law.len()).map(|z| law[z] * matrix[(z, y)]).sum()).collect();
        distances.push(total_variation(&law, target));
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Rational;
    use mcsa_testing::closed;

    #[test]
    fn pushing_a_point_law_is_a_row_and_powers_compose() {
        let r = Rational::ratio;
        let k = Square::staying(3, |z, y| r((z + 2 * y) as i64, 12));
        let point = [r(0, 1), r(1, 1), r(0, 1)];
        assert_eq!(k.push(&point), k.row(1));
        assert_eq!(k.power(3), k.then(&k).then(&k));
        assert_ne!(k.power(3), k.power(2));
        let f = [r(1, 1), r(-2, 1), r(5, 7)];
        assert_eq!(k.power(2).apply(&f), k.apply(&k.apply(&f)));
        assert_eq!(total_variation(&point, &[r(1, 2), r(1, 2), r(0, 1)]), r(1, 2));
    }

    #[test]
    fn a_rotation_has_no_gap_and_is_not_reversible() {
        let cycle = Mat::from_fn(3, 3, |z, y| f64::from(u8::from(y == (z + 1) % 3)));
        let spectrum = Spectrum::new(&cycle, &[1.0 / 3.0; 3]).unwrap();
        assert!(!spectrum.reversible && (spectrum.second() - 1.0).abs() < 1e-12);
        assert_eq!((spectrum.minorisation, spectrum.doeblin), (0.0, 0.0));
    }

    /// From the mode, `K^n(z*, .) = (1 - r^n) pi + r^n delta_{z*}` exactly.
    #[test]
    fn decay_from_the_mode_is_geometric() {
        let (p, q) = ([0.2, 0.3, 0.5], [0.1, 0.5, 0.4]);
        let distances = decay(&closed::imh(&p, &q), &p, 0, 12);
        for (n, found) in distances.iter().enumerate() {
            assert!((found - 0.5_f64.powi(n as i32) * 0.8).abs() < 1e-14, "{n}");
        }
    }

    #[test]
    fn a_matrix_that_leaves_the_support_is_an_error() {
        assert!(Spectrum::new(&Mat::from_fn(2, 2, |_, _| 0.5), &[1.0, 0.0]).is_err());
        assert!(Spectrum::new(&Mat::identity(2, 2), &[1.0]).is_err());
    }
}
