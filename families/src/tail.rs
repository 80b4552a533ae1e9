//! Heavy-tailed component of a defensive mixture: a product of Student t distributions.

use faer::{MatMut, MatRef};
use mcsa_core::{Columns, Error, Proposal, Stream, all_finite, same_length};

use crate::student::{Student, check_dof};
use mcsa_core::each_column;

/// Product of Student t distributions, one per coordinate; with one degree of freedom, a product of Cauchy distributions.
///
/// ```text
/// tail(z) = prod_i t_dof((z_i - location_i) / scale_i) / scale_i
/// ```
/// The tail does not depend on lambda, so it is a [`Proposal`] and no family. Mixed into a proposal by
/// [`Defensive`](crate::Defensive) it bounds the importance weights of every target whose own tails are no
/// heavier, coordinate by coordinate. The product of standard Cauchy distributions is the tail of pMCSA.
///
/// ```
/// use mcsa_core::Proposal;
/// use mcsa_families::Tail;
/// let mut log_q = [0.0];
/// Tail::cauchy(2).log_probs(mcsa_core::one(&[0.0, 0.0]), &mut log_q);
/// assert!((log_q[0] + 2.0 * std::f64::consts::PI.ln()).abs() < 1e-14);
/// ```
#[derive(Debug, Clone)]
pub struct Tail {
    student: Student,
    location: Vec<f64>,
    scale: Vec<f64>,
    log_peak: f64,
}

impl Tail {
    /// Product of `dim` standard Cauchy distributions.
    pub fn cauchy(dim: usize) -> Self {
        Self::standard(dim, 1.0)
    }

    /// Product of `dim` standard Student t distributions with `dof` degrees of freedom.
    ///
    /// # Errors
    /// If `dof` is not finite, or below 0.1, where draws leave the range of a double.
    pub fn student(dim: usize, dof: f64) -> Result<Self, Error> {
        check_dof(dof)?;
        Ok(Self::standard(dim, dof))
    }

    /// The tail moved to `location` and scaled by `scale`, one number each per coordinate.
    ///
    /// # Errors
    /// If a length is not the dimension, a location is not finite, or a scale or its reciprocal is not positive and finite.
    pub fn at(self, location: &[f64], scale: &[f64]) -> Result<Self, Error> {
        let dim = self.location.len();
        same_length("location", dim, location.len())?;
        same_length("scale", dim, scale.len())?;
        all_finite("location", location)?;
        if let Some(&value) = scale.iter().find(|s| !(**s > 0.0 && s.is_finite() && s.recip().is_finite())) {
            return Err(Error::parameter("scale", value, "positive and finite, as its inverse"));
        }
        let log_peak = self.student.log_peak(1) * dim as f64 - scale.iter().map(|s| s.ln()).sum::<f64>();
        Ok(Self { location: location.to_vec(), scale: scale.to_vec(), log_peak, ..self })
    }

    fn standard(dim: usize, dof: f64) -> Self {
        let student = Student::new(dof);
        let log_peak = student.log_peak(1) * dim as f64;
        Self { student, location: vec![0.0; dim], scale: vec![1.0; dim], log_peak }
    }

    fn log_prob(&self, z: &[f64]) -> f64 {
        let residual = |i: usize| (z[i] - self.location[i]) / self.scale[i];
        let fall = self.student.total_fall(z.len(), residual);
        self.log_peak - 0.5 * (self.student.dof + 1.0) * fall
    }
}

impl Proposal for &Tail {
    fn dim(&self) -> usize {
        self.location.len()
    }

    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim(), log_q.len()), "a density per column");
        for (j, log_q) in log_q.iter_mut().enumerate() {
            *log_q = self.log_prob(z.column(j));
        }
    }

    fn sample_into(&mut self, lanes: &mut [Stream], z: MatMut<'_, f64>, log_q: &mut [f64]) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim(), log_q.len()), "a density per column");
        each_column(lanes, z, |lane, j, z| {
            for ((z, m), s) in z.iter_mut().zip(&self.location).zip(&self.scale) {
                *z = m + s * self.student.draw(lane);
            }
            log_q[j] = self.log_prob(z);
        });
    }
}

impl Proposal for Tail {
    fn dim(&self) -> usize {
        self.location.len()
    }

    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        (&*self).log_probs(z, log_q);
    }

    fn sample_into(&mut self, lanes: &mut [Stream], z: MatMut<'_, f64>, log_q: &mut [f64]) {
        (&*self).sample_into(lanes, z, log_q);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;
    use proptest::prelude::*;
    use statrs::distribution::{Continuous, StudentsT};

    proptest! {
        #[test]
        fn the_density_is_a_product_of_those_of_the_books(
            coordinates in prop::collection::vec((-5.0..5.0_f64, 0.1..4.0_f64, -20.0..20.0_f64), 0..5),
            dof in prop_oneof![Just(1.0), 0.3..9.0_f64],
        ) {
            let (m, s): (Vec<f64>, Vec<f64>) = coordinates.iter().map(|c| (c.0, c.1)).unzip();
            let z: Vec<f64> = coordinates.iter().map(|c| c.2).collect();
            let tail = Tail::student(z.len(), dof).unwrap().at(&m, &s).unwrap();
            let book: f64 = coordinates.iter().map(|&(m, s, z)| StudentsT::new(m, s, dof).unwrap().ln_pdf(z)).sum();
            prop_assert!((tail.log_prob(&z) - book).abs() < 1e-11);
        }

        #[test]
        fn a_column_has_the_same_bits_alone_and_in_company(dim in 0..4_usize, lanes in 1..4_usize, per in 1..4_usize) {
            let columns = lanes * per;
            let mut tail = Tail::student(dim, 2.5).unwrap();
            let (mut z, mut log_q, mut told) = (vec![0.0; dim * columns], vec![0.0; columns], vec![0.0; columns]);
            let mut streams = Seed::new(3).streams(lanes, 1);
            tail.sample_into(&mut streams, mcsa_core::batch_mut(&mut z, dim, columns), &mut log_q);
            tail.log_probs(mcsa_core::batch(&z, dim, columns), &mut told);
            prop_assert_eq!(&log_q, &told);
            let mut alone = Seed::new(3).streams(lanes, 1);
            for j in 0..columns {
                let (mut point, mut log_alone) = (vec![0.0; dim], [0.0]);
                let lane = &mut alone[j / per..j / per + 1];
                tail.sample_into(lane, mcsa_core::batch_mut(&mut point, dim, 1), &mut log_alone);
                prop_assert_eq!((&point[..], log_alone[0]), (&z[dim * j..dim * (j + 1)], log_q[j]));
            }
        }
    }

    #[test]
    fn far_out_a_tail_is_finite_and_bad_ones_are_refused() {
        assert!(Tail::cauchy(3).log_prob(&[1e300, -1e200, 0.0]).is_finite());
        assert_eq!(Tail::cauchy(0).log_prob(&[]), 0.0);
        assert!(Tail::student(1, f64::NAN).is_err());
        for (m, s) in [(f64::NAN, 1.0), (0.0, 0.0), (0.0, f64::INFINITY), (0.0, f64::NAN), (0.0, 1e-310)] {
            assert!(Tail::cauchy(1).at(&[m], &[s]).is_err());
        }
        assert!(Tail::cauchy(2).at(&[0.0], &[1.0]).is_err());
    }
}
