//! Transition matrices over any number type, and the rates at which they converge.

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
    pub fn atoms(&self) -> usize {
        self.rows.len()
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
        (0..self.atoms())
            .map(|y| total(eta.iter().zip(&self.rows).map(|(eta, row)| eta.clone() * &row[y])))
            .collect()
    }

    /// Matrix product: this step, followed by `other`.
    pub fn then(&self, other: &Self) -> Self {
        Self { rows: self.rows.iter().map(|row| other.push(row)).collect() }
    }

    /// Matrix power: `n` steps.
    pub fn power(&self, n: usize) -> Self {
        (0..n).fold(Self::identity(self.atoms()), |power, _| power.then(self))
    }
}

/// Total variation distance of two distributions on common atoms, `1/2 sum_y |a_y - b_y|`.
pub fn total_variation<T: Number>(a: &[T], b: &[T]) -> T {
    assert_eq!(a.len(), b.len(), "two distributions on the same atoms");
    total(a.iter().zip(b).map(|(a, b)| (a.clone() - b).abs())) * T::ratio(1, 2)
}

impl Square<f64> {
    /// Moduli of the eigenvalues in descending order, for a chain that is reversible with respect to `target`, on the atoms with
    /// positive `target`. The second is the chain's rate of convergence, exactly `1 - 1/w*` for independent Metropolis-Hastings
    /// (Liu 1996).
    ///
    /// # Errors
    /// If the lengths differ, the chain leads out of the support or is not reversible, or the eigenvalues do not converge.
    pub fn spectrum(&self, target: &[f64]) -> Result<Vec<f64>, Error> {
        same_length("the target of a transition", self.atoms(), target.len())?;
        let support: Vec<usize> = (0..target.len()).filter(|&z| target[z] > 0.0).collect();
        let n = support.len();
        let k = Mat::from_fn(n, n, |i, j| self.rows[support[i]][support[j]]);
        let total: f64 = support.iter().map(|&z| target[z]).sum();
        let p: Vec<f64> = support.iter().map(|&z| target[z] / total).collect();
        if (0..n).any(|i| (k.row(i).sum() - 1.0).abs() > 1e-9) {
            return Err(Error::invalid("the transition leads out of the support of its target"));
        }
        if (0..n).any(|i| (0..i).any(|j| !((p[i] * k[(i, j)] - p[j] * k[(j, i)]).abs() < 1e-12))) {
            return Err(Error::invalid("the transition is not reversible"));
        }
        // D^{1/2} K D^{-1/2} is symmetric and has the eigenvalues of K.
        let root = |i: usize, j: usize| (p[i] / p[j]).sqrt();
        let symmetric = Mat::from_fn(n, n, |i, j| 0.5 * (root(i, j) * k[(i, j)] + root(j, i) * k[(j, i)]));
        let values = symmetric.self_adjoint_eigenvalues(Side::Lower);
        let values = values.map_err(|_| Error::invalid("the eigenvalues did not converge"))?;
        let mut moduli: Vec<f64> = values.into_iter().map(f64::abs).collect();
        moduli.sort_by(|a, b| b.total_cmp(a));
        Ok(moduli)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Rational;

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
    fn a_rotation_or_a_way_out_of_the_support_has_no_spectrum() {
        let cycle = Square::from_fn(3, |z, y| f64::from(u8::from(y == (z + 1) % 3)));
        assert!(cycle.spectrum(&[1.0 / 3.0; 3]).is_err() && cycle.power(3).spectrum(&[1.0 / 3.0; 3]).is_ok());
        assert!(Square::from_fn(2, |_, _| 0.5).spectrum(&[1.0, 0.0]).is_err());
        assert!(Square::<f64>::identity(2).spectrum(&[1.0]).is_err());
    }
}
