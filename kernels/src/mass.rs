//! Diagonal mass matrices.

use mcsa_core::{Error, Stream, same_length};
use serde::{Deserialize, Serialize};

/// Diagonal mass matrix M of Hamiltonian dynamics; a larger mass slows its coordinate down.
///
/// ```text
/// p ~ N(0, M),   kinetic energy p^T M^-1 p / 2,   velocity M^-1 p,   M = diag(masses)
/// ```
///
/// The best diagonal mass is the inverse of the marginal variances (Neal 2011, section 4.1; Betancourt 2017, section 4.2):
/// then one step size suits all coordinates. The unit mass fits every dimension. Serialised as the list of the masses; the
/// empty list is the unit mass.
///
/// ```
/// use mcsa_kernels::Mass;
/// let mass = Mass::diagonal(vec![4.0, 1.0])?;
/// assert_eq!(mass.kinetic(&[2.0, 1.0]), 0.5 * (4.0 / 4.0 + 1.0));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub struct Mass {
    masses: Vec<f64>,
    inverses: Vec<f64>,
    roots: Vec<f64>,
}

impl Mass {
    /// The unit mass, for any dimension.
    pub fn unit() -> Self {
        Self::default()
    }

    /// A mass per coordinate; the empty vector is the unit mass.
    ///
    /// # Errors
    /// If a mass or its inverse is not positive and finite.
    pub fn diagonal(masses: Vec<f64>) -> Result<Self, Error> {
        let inverses: Vec<f64> = masses.iter().map(|m| 1.0 / m).collect();
        for (&mass, &inverse) in masses.iter().zip(&inverses) {
            if !(mass > 0.0 && mass.is_finite() && inverse.is_finite()) {
                return Err(
                    Error::parameter("mass", mass, "positive and finite, as its inverse").within("Mass")
                );
            }
        }
        let roots = masses.iter().map(|m| m.sqrt()).collect();
        Ok(Self { masses, inverses, roots })
    }

    /// The masses; empty for the unit mass.
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// Checks that the mass fits a system of `dim` coordinates.
    ///
    /// # Errors
    /// If the number of masses differs from `dim` and the mass is not the unit mass.
    pub fn check(&self, dim: usize) -> Result<(), Error> {
        if self.masses.is_empty() { Ok(()) } else { same_length("mass", dim, self.masses.len()) }
    }

    /// Draws a momentum from `N(0, M)`.
    pub fn momentum_into(&self, lane: &mut Stream, momentum: &mut [f64]) {
        lane.normals_into(momentum);
        momentum.iter_mut().zip(&self.roots).for_each(|(p, root)| *p *= root);
    }

    /// Kinetic energy `p^T M^-1 p / 2`.
    pub fn kinetic(&self, momentum: &[f64]) -> f64 {
        if self.inverses.is_empty() {
            return 0.5 * momentum.iter().map(|p| p * p).sum::<f64>();
        }
        0.5 * momentum.iter().zip(&self.inverses).map(|(p, inverse)| inverse * p * p).sum::<f64>()
    }

    /// Moves the position: `z += time * M^-1 p`.
    pub fn drift(&self, time: f64, momentum: &[f64], z: &mut [f64]) {
        if self.inverses.is_empty() {
            z.iter_mut().zip(momentum).for_each(|(z, p)| *z += time * p);
        } else {
            z.iter_mut().zip(momentum).zip(&self.inverses).for_each(|((z, p), m)| *z += time * m * p);
        }
    }

    /// Inner product `p^T M^-1 (a + b)` of the velocity at `p` with the displacement `a + b`.
    pub(crate) fn along(&self, p: &[f64], a: &[f64], b: &[f64]) -> f64 {
        let products = p.iter().zip(a).zip(b).map(|((p, a), b)| p * (a + b));
        if self.inverses.is_empty() {
            products.sum()
        } else {
            products.zip(&self.inverses).map(|(product, m)| m * product).sum()
        }
    }

    /// The square roots of the masses; empty for the unit mass.
    pub(crate) fn roots(&self) -> &[f64] {
        &self.roots
    }
}

impl TryFrom<Vec<f64>> for Mass {
    type Error = Error;

    fn try_from(masses: Vec<f64>) -> Result<Self, Error> {
        Self::diagonal(masses)
    }
}

impl From<Mass> for Vec<f64> {
    fn from(mass: Mass) -> Self {
        mass.masses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    #[test]
    fn the_unit_mass_is_a_diagonal_of_ones() {
        let (unit, ones) = (Mass::unit(), Mass::diagonal(vec![1.0; 3]).unwrap());
        let p = [0.3, -1.0, 2.0];
        assert_eq!(unit.kinetic(&p), ones.kinetic(&p));
        let (mut a, mut b) = ([1.0; 3], [1.0; 3]);
        unit.drift(0.1, &p, &mut a);
        ones.drift(0.1, &p, &mut b);
        assert_eq!(a, b);
        unit.momentum_into(&mut Seed::new(1).stream(0, 0), &mut a);
        ones.momentum_into(&mut Seed::new(1).stream(0, 0), &mut b);
        assert_eq!(a, b);
        assert_eq!(unit.along(&p, &a, &b), ones.along(&p, &a, &b));
    }

    #[test]
    fn impossible_masses_are_refused_also_in_a_file() {
        for mass in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-310] {
            assert!(Mass::diagonal(vec![1.0, mass]).is_err(), "{mass}");
        }
        let error = serde_json::from_str::<Mass>("[1.0, -2.0]").unwrap_err().to_string();
        assert_eq!(error, "Mass: mass is -2, expected positive and finite, as its inverse");
        let mass: Mass = serde_json::from_str("[0.1]").unwrap();
        assert_eq!(serde_json::to_string(&mass).unwrap(), "[0.1]");
        assert!(mass.check(1).is_ok() && mass.check(2).is_err() && Mass::unit().check(7).is_ok());
    }
}
